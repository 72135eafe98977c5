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
    """The client's response to a request of the server; `result` is None for an error."""

    __slots__ = ("request_id", "result")

    def __init__(self, request_id: RequestId, result: JsonObject | None) -> None:
        self.request_id = request_id
        self.result = result


Event: TypeAlias = "Request | RequestCancelled | ClientAnswer"
