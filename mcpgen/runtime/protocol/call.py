"""A request that needs a handler: what it asks, and every way to answer it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mcpgen.runtime.protocol.jsonrpc import JsonObject, RequestId
from mcpgen.runtime.protocol.messages import Stream
from mcpgen.runtime.protocol.versions import Revision

if TYPE_CHECKING:
    from mcpgen.runtime.protocol.server import ServerProtocol


class Call:
    """A `tools/call`, `prompts/get`, `resources/read` or `completion/complete` in flight.

    Each method that says something to the client puts it into the protocol's outbox, on the
    stream of this call. Once the call is answered or cancelled they all do nothing: a late
    handler cannot break the protocol.
    """

    __slots__ = (
        "client_capabilities",
        "id",
        "input_responses",
        "is_open",
        "method",
        "params",
        "principal",
        "progress_token",
        "protocol",
        "request_state",
        "revision",
        "stream",
    )

    protocol: ServerProtocol
    id: RequestId
    method: str
    params: JsonObject  # as sent, shape checked for `method`
    revision: Revision
    stream: Stream
    principal: str  # whom the transport authenticated; "" for nobody
    client_capabilities: JsonObject  # of this request (modern) or of its session (legacy)
    progress_token: RequestId | None
    input_responses: JsonObject  # modern: answers to what `require_input` asked
    request_state: str  # modern: as the client sent it back; "" for none. Not to be trusted
    is_open: bool

    def succeed(self, result: Any) -> None:
        """Answer with a `ToolResult`, `PromptResult`, `ResourceResult` or `Completion`."""
        raise NotImplementedError

    def fail(self, error: BaseException) -> None:
        """Answer with the JSON-RPC error that this exception becomes in this revision.

        `ProtocolError`, `UnknownToolError`, `InvalidArgumentsError` (which is a result with
        `isError` where the revision wants that) and `ResourceNotFoundError` say what they are;
        any other exception becomes an internal error that says nothing of it.
        """
        raise NotImplementedError

    def report_progress(
        self, progress: float, total: float | None = None, message: str = ""
    ) -> None:
        """Send a progress notification, if the client wants one and `progress` has grown."""
        raise NotImplementedError

    def log(self, level: str, data: Any, logger: str = "") -> None:
        """Send a log message, if the client asked for this level."""
        raise NotImplementedError

    def ask_client(self, method: str, params: JsonObject) -> RequestId:
        """Send a request to the client (legacy); the answer is a `ClientAnswer` with this id.

        Raises:
            ClientCannotError: the client did not declare what `method` needs.
        """
        raise NotImplementedError

    def require_input(self, requests: Mapping[str, JsonObject], state: str = "") -> None:
        """Answer that input is needed first (modern, `InputRequiredResult`).

        `requests` maps a key to `{"method": ..., "params": ...}`; `state` comes back verbatim.

        Raises:
            ClientCannotError: the client did not declare what one of them needs.
        """
        raise NotImplementedError
