"""What tests of a server need: a mock of its API, clients that see every frame, sample values."""

from mcpgen.runtime.testing.mock import MockUpstream, RecordedRequest
from mcpgen.runtime.testing.replies import Reply
from mcpgen.runtime.testing.samples import CannotSampleError, sample

__all__ = ["CannotSampleError", "MockUpstream", "RecordedRequest", "Reply", "sample"]
