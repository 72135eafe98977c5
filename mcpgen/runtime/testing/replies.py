"""The former place of `mcpgen.testing.Reply`."""

from mcpgen.testing.mock.replies import Reply

__all__ = ["Reply"]
