"""The former place of `mcpgen.testing.Client`."""

from mcpgen.testing.client.client import LEGACY, MODERN, Client, NoAnswerError, RpcError

__all__ = ["LEGACY", "MODERN", "Client", "NoAnswerError", "RpcError"]
