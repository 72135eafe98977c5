"""A request from the client: what it asks, and every way to answer it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from math import isfinite

from mcpgen.runtime.errors import (
    ClientCannotError,
    InvalidArgumentsError,
    ProtocolError,
    ResourceNotFoundError,
    ToolError,
    UnknownToolError,
)
from mcpgen.runtime.protocol.client_requests import check_client_can
from mcpgen.runtime.protocol.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    LOG_LEVELS,
    MISSING_CLIENT_CAPABILITY,
    URL_ELICITATION_REQUIRED,
    JsonObject,
    RequestId,
    http_status,
)
from mcpgen.runtime.protocol.messages import Stream
from mcpgen.runtime.protocol.versions import Revision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from mcpgen.runtime.protocol.server import Batch, ServerProtocol

_BEFORE_ANY: Final = float("-inf")  # progress
DEFAULT_LOG_LEVEL: Final = "info"  # of a legacy client that set none


class Call:
    """One request of the client, from its arrival to its answer.

    Those that need a handler (`tools/call`, `prompts/get`, `resources/read`,
    `completion/complete`) are handed to the driver. Each method that says something to the
    client puts it into the protocol's outbox, on the stream of this call. Once the call is
    answered or cancelled they all do nothing: a late handler cannot break the protocol.
    """

    __slots__ = (
        "batch",
        "client_capabilities",
        "id",
        "input_responses",
        "is_open",
        "last_progress",
        "log_level",
        "method",
        "params",
        "principal",
        "progress_token",
        "protocol",
        "request_state",
        "revision",
        "stream",
    )

    def __init__(
        self,
        protocol: ServerProtocol,
        revision: Revision,
        id: RequestId,
        method: str,
        params: JsonObject,
        stream: Stream = None,
        principal: str = "",
    ) -> None:
        self.protocol = protocol
        self.revision = revision
        self.id = id
        self.method = method
        self.params = params
        self.stream = stream
        self.principal = principal  # whom the transport authenticated; "" for nobody
        self.client_capabilities: JsonObject = {}  # of this request, or of its legacy session
        self.progress_token: RequestId | None = None
        self.log_level = ""  # modern: what the request asks for; "" for none
        self.last_progress = _BEFORE_ANY
        self.input_responses: JsonObject = {}  # modern: answers to what `require_input` asked
        self.request_state = ""  # modern: as the client sent it back, not to be trusted
        self.batch: Batch | None = None
        self.is_open = True

    def succeed(self, result: object) -> None:
        """Answer with a `ToolResult`, `PromptResult`, `ResourceResult` or `Completion`.

        Raises:
            TypeError, ValueError, OverflowError, RecursionError: what a handler gave has no form
                in JSON. The call is still open, and `fail` answers it.
        """
        self.answer(_shaper()(result, self.revision))

    def answer(self, result: JsonObject) -> None:
        """Answer with a result that has the shape of this revision, but for its envelope."""
        if self.is_open:
            protocol = self.protocol
            if self.revision.is_modern:
                protocol.envelop(result, self.method)
            data = protocol.encode({"jsonrpc": "2.0", "id": self.id, "result": result})
            protocol.respond(self, data)

    def fail(self, error: BaseException, correlation_id: str = "") -> None:
        """Answer with the JSON-RPC error that this exception becomes in this revision.

        `ProtocolError`, `UnknownToolError`, `InvalidArgumentsError` (which is a result with
        `isError` where the revision wants that), `ResourceNotFoundError`, `ClientCannotError` and
        `ToolError` say what they are. Any other exception becomes an internal error that says
        nothing but `correlation_id`, to find it in the log.

        Raises:
            TypeError, ValueError, OverflowError, RecursionError: what a handler put into its
                error has no form in JSON. Any other exception can be told in its place.
        """
        revision = self.revision
        match error:
            case ProtocolError():
                self.refuse(error.code, error.message, error.data)
            case InvalidArgumentsError() if revision.invalid_arguments_are_results:
                self._tell_model(str(error))
            case InvalidArgumentsError():
                self.refuse(INVALID_PARAMS, str(error), {"problems": list(error.problems)})
            case UnknownToolError():
                self.refuse(INVALID_PARAMS, f"no tool is named {str(error)[:100]!r}")
            case ResourceNotFoundError():
                self.refuse(revision.resource_not_found, str(error), {"uri": error.uri})
            case ClientCannotError() if revision.is_modern:
                required = {"requiredCapabilities": error.required}
                self.refuse(MISSING_CLIENT_CAPABILITY, str(error), required)
            case ClientCannotError() if self.method == "tools/call":
                self._tell_model(str(error))
            case ClientCannotError():
                self.refuse(INVALID_REQUEST, str(error))
            case ToolError():
                self.refuse(INTERNAL_ERROR, str(error))
            case _:
                data = {"correlationId": correlation_id} if correlation_id else None
                self.refuse(INTERNAL_ERROR, "internal error; see the server log", data)

    def refuse(self, code: int, message: str, data: Any = None) -> None:
        """Answer with this JSON-RPC error."""
        if self.is_open:
            protocol = self.protocol
            protocol.respond(
                self,
                protocol.encode(error_message(code, message, data, self.id)),
                http_status(code) if self.revision.is_modern else 200,
            )

    def _tell_model(self, text: str) -> None:
        self.answer({"content": [{"type": "text", "text": text}], "isError": True})

    def report_progress(
        self, progress: float, total: float | None = None, message: str = ""
    ) -> None:
        """Send a progress notification, if the client wants one and `progress` has grown."""
        if not self.is_open or self.progress_token is None or not isfinite(progress):
            return
        if progress <= self.last_progress:
            return
        self.last_progress = progress
        params: JsonObject = {"progressToken": self.progress_token, "progress": progress}
        if total is not None and isfinite(total):
            params["total"] = total
        if message and "message" in self.revision.progress_keys:
            params["message"] = message
        self.protocol.notify("notifications/progress", params, self.stream)

    def log(self, level: str, data: Any, logger: str = "") -> None:
        """Send a log message, if the server declared that it logs and the client wants the level.

        Raises:
            ValueError: `level` is none of the eight that MCP has.
        """
        if level not in LOG_LEVELS:
            raise ValueError(f"{level!r} is none of MCP's log levels: {', '.join(LOG_LEVELS)}")
        wanted = self._wanted_log_level()
        if LOG_LEVELS.index(level) < (LOG_LEVELS.index(wanted) if wanted else len(LOG_LEVELS)):
            return
        if self.is_open and self.protocol.offering.offers_logging:
            params: JsonObject = {"level": level, "data": data}
            if logger:
                params["logger"] = logger
            self.protocol.notify("notifications/message", params, self.stream)

    def release_connection(self) -> None:
        """Let the client fetch the rest of the stream later, if its revision knows how to."""
        if self.is_open and self.stream is not None and self.revision.has_sse_polling:
            self.protocol.release_connection(self.stream)

    def _wanted_log_level(self) -> str:
        if self.revision.is_modern:
            return self.log_level
        session = self.protocol.session
        return (session.log_level if session else "") or DEFAULT_LOG_LEVEL

    def ask_client(self, method: str, params: JsonObject) -> RequestId:
        """Send a request to the client (legacy); the answer is a `ClientAnswer` with this id.

        Raises:
            ClientCannotError: the client did not declare what `method` needs.
        """
        check_client_can(method, params, self.revision, self.client_capabilities)
        session = self.protocol.session
        if session is None or not session.is_initialized:
            raise ClientCannotError("this client has not said `notifications/initialized` yet")
        return self.protocol.ask_client(method, params, self.stream)

    def require_url(self, elicitation: JsonObject) -> None:
        """Answer that the user must go to a URL first (2025-11-25, `URLElicitationRequiredError`).

        `elicitation` are the params of an `elicitation/create` in URL mode.

        Raises:
            ClientCannotError: the client did not declare that it opens URLs.
            ValueError: this is a modern client, which is answered by `require_input`.
        """
        session = self.protocol.session
        if self.revision.is_modern or session is None:
            raise ValueError("a modern client is told in a result, and not by an error")
        check_client_can("elicitation/create", elicitation, self.revision, self.client_capabilities)
        if self.is_open:
            session.expect_elicitation(elicitation["elicitationId"])
            data = {"elicitations": [elicitation]}
            self.refuse(URL_ELICITATION_REQUIRED, elicitation["message"], data)

    def require_input(self, requests: Mapping[str, JsonObject], state: str = "") -> None:
        """Answer that input is needed first (modern, `InputRequiredResult`).

        `requests` maps a key to `{"method": ..., "params": ...}`; `state` comes back verbatim.

        Raises:
            ClientCannotError: the client did not declare what one of them needs.
            ValueError: there is neither a request nor a state, or the client is a legacy one.
        """
        if not self.revision.is_modern or not (requests or state):
            raise ValueError("only a modern client can go on later, with requests or a state")
        for request in requests.values():
            check_client_can(
                request["method"], request["params"], self.revision, self.client_capabilities
            )
        result: JsonObject = {"resultType": "input_required"}
        if requests:
            result["inputRequests"] = dict(requests)
        if state:
            result["requestState"] = state
        self.answer(result)


@cache
def _shaper() -> Callable[[object, Revision], JsonObject]:
    from mcpgen.runtime.protocol.shapes import shape  # not for the cold path

    return shape


def error_message(
    code: int, message: str, data: Any = None, request_id: RequestId | None = None
) -> JsonObject:
    """Give an error response; without `id` where it could not be read.

    JSON-RPC 2.0 says null there, which no schema of MCP allows.
    """
    error: JsonObject = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    response: JsonObject = {"jsonrpc": "2.0"}
    if request_id is not None:
        response["id"] = request_id
    response["error"] = error
    return response
