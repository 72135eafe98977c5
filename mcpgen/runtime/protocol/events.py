"""Events: what a received message requires of the code that drives the protocol."""

from __future__ import annotations

from mcpgen.runtime.protocol.jsonrpc import JsonObject, RequestId
from mcpgen.runtime.protocol.request import Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias


class RequestCancelled:
    """A request whose handler must stop; it gets no response any more."""

    __slots__ = ("reason", "request")

    def __init__(self, request: Request, reason: str = "") -> None:
        self.request = request
        self.reason = reason


class ClientAnswer:
    """The client's response to a request of the server: `result` or `error`, never both."""

    __slots__ = ("error", "request_id", "result")

    def __init__(
        self,
        request_id: RequestId,
        result: JsonObject | None = None,
        error: JsonObject | None = None,
    ) -> None:
        self.request_id = request_id
        self.result = result
        self.error = error


class SessionOpened:
    """The server answered `initialize`; an HTTP transport creates a session id now."""

    __slots__ = ()


class RootsChanged:
    """The client's roots changed."""

    __slots__ = ()


Event: TypeAlias = "Request | RequestCancelled | ClientAnswer | SessionOpened | RootsChanged"
