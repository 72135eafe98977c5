"""The former place of `mcpgen.testing.Served`."""

from mcpgen.testing.suite.hand_written import Served

__all__ = ["Served"]
