"""Why the API gave no answer that a tool can use; every text is safe to show to a model.

A sender does not know which operation it serves, so it raises these without the name; the client
puts "`GET /pets`" in front with `named_for`.
"""

from __future__ import annotations

from typing import Any

from mcpgen.runtime.errors import ToolError
from mcpgen.runtime.upstream.http import HeaderFields


class UpstreamError(ToolError):
    """No usable response came back.

    `request_sent` is False only when it is certain that no byte of the request left, which makes
    even a POST safe to repeat. `is_transient` says whether another attempt may fare better.
    """

    request_sent = True
    is_transient = False

    def named_for(self, operation: str) -> UpstreamError:
        """This error, with the request that it is about in front of its text: "GET /pets/7"."""
        self.args = (f"`{operation}` {self}",)
        return self


class ConnectError(UpstreamError):
    """No connection came about: refused, unreachable, unknown host, or a certificate refused."""

    request_sent = False
    is_transient = True


class DisconnectedError(UpstreamError):
    """The connection broke before the response was complete."""

    is_transient = True


class TimeoutExceededError(UpstreamError):
    """The deadline of the call passed."""


class MalformedResponseError(UpstreamError):
    """What came back is not HTTP, or cannot be decompressed or decoded."""


class ResponseTooLargeError(UpstreamError):
    """The response went over its bound and was cut off."""


class UpstreamStatusError(UpstreamError):
    """The API answered, and said no.

    `problem` is the decoded body when it is a JSON object (often problem+json, RFC 9457), cleaned
    of configured secrets, and `retry_after_seconds` what `Retry-After` asked for.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        problem: dict[str, Any] | None = None,
        retry_after_seconds: float | None = None,
        headers: HeaderFields = (),
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers
        self.problem = problem
        self.retry_after_seconds = retry_after_seconds

    @property
    def retry_after_ms(self) -> int | None:
        """The same wait in milliseconds, rounded up, as it is reported to clients."""
        if self.retry_after_seconds is None:
            return None
        return -int(-self.retry_after_seconds * 1000 // 1)
