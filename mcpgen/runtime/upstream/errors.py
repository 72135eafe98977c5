"""Errors of requests to an API, with texts that are safe to show to a model.

A sender does not know the operation. It raises an error without it, and the client prepends
"`GET /pets`" with `add_operation`.
"""

from __future__ import annotations

from typing import Any

from mcpgen.runtime.errors import ToolError
from mcpgen.runtime.upstream.http.messages import HeaderFields


class UpstreamError(ToolError):
    """There is no usable response.

    `request_sent` is False only if certainly no byte of the request was sent, so that even a POST
    is safe to repeat. `is_transient` states whether another attempt may succeed.
    """

    request_sent = True
    is_transient = False

    def add_operation(self, operation: str) -> UpstreamError:
        """Prepend the operation, such as "GET /pets/7", to the text; return the same error."""
        self.args = (f"`{operation}` {self}",)
        return self


class ConnectError(UpstreamError):
    """No connection: refused, unreachable, unknown host, or an untrusted certificate."""

    request_sent = False
    is_transient = True


class DisconnectedError(UpstreamError):
    """The connection broke before the response was complete."""

    is_transient = True


LOST_BEFORE_HEAD = "lost its connection before the response arrived."
LOST_IN_BODY = "lost its connection in the middle of the response."


class TimeoutExceededError(UpstreamError):
    """The deadline of the call expired."""


class OverloadedError(UpstreamError):
    """Nothing was sent: too many requests are under way, or the API failed too often recently."""

    request_sent = False


class MalformedResponseError(UpstreamError):
    """The response is not HTTP, or cannot be decompressed or decoded."""


class ResponseTooLargeError(UpstreamError):
    """The response exceeded its bound and was cut off."""


class UpstreamStatusError(UpstreamError):
    """The API answered with an error status.

    `problem` is the decoded body if it is a JSON object (often problem+json, RFC 9457), and
    `retry_after_seconds` is the value of `Retry-After`.
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
        """`retry_after_seconds` in milliseconds, rounded up, as it is reported to clients."""
        if self.retry_after_seconds is None:
            return None
        return -int(-self.retry_after_seconds * 1000 // 1)


def make_timeout_error(operation: str, seconds: float, *, has_sent: bool) -> UpstreamError:
    """Return the error of a call that took too long, before or after a request was sent."""
    if has_sent:
        return TimeoutExceededError(
            f"`{operation}` returned no complete answer within {seconds:g} seconds. "
            "The request may still have taken effect."
        )
    # The wait was for earlier calls of this API, or for an access token.
    return OverloadedError(
        f"`{operation}` was not sent: it waited for more than {seconds:g} seconds. "
        "Try again in a moment."
    )
