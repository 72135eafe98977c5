"""What tests of a server need: a mock of its API, clients that see every frame, sample values."""

from mcpgen.runtime.testing.client import LEGACY, MODERN, Client, NoAnswerError, RpcError
from mcpgen.runtime.testing.connections import ConnectionLostError
from mcpgen.runtime.testing.mock import MockUpstream, RecordedRequest
from mcpgen.runtime.testing.replies import Reply
from mcpgen.runtime.testing.samples import CannotSampleError, sample
from mcpgen.runtime.testing.suite import Case, Suite

__all__ = [
    "LEGACY",
    "MODERN",
    "CannotSampleError",
    "Case",
    "Client",
    "ConnectionLostError",
    "MockUpstream",
    "NoAnswerError",
    "RecordedRequest",
    "Reply",
    "RpcError",
    "Suite",
    "sample",
]
