"""A request from the client, and every way to answer it."""

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
from mcpgen.runtime.protocol.connection import ClientConnection
from mcpgen.runtime.protocol.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    LOG_LEVELS,
    MISSING_CLIENT_CAPABILITY,
    URL_ELICITATION_REQUIRED,
    JsonObject,
    RequestId,
    error_message,
    http_status,
)
from mcpgen.runtime.protocol.messages import Batch, Outgoing, Stream, Subscription
from mcpgen.runtime.protocol.versions import Revision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from mcpgen.runtime.auth.access import Access
    from mcpgen.runtime.process.output_screen import OutputScreen
    from mcpgen.runtime.telemetry.observer import Observation

_NO_PROGRESS: Final = float("-inf")
_NOTHING: Final[JsonObject] = {}  # of all requests: it is never changed
DEFAULT_LOG_LEVEL: Final = "info"  # for a legacy client that did not set one


class Request:
    """One request of the client, from its arrival to its response.

    Requests that need a handler (`tools/call`, `prompts/get`, `resources/read`,
    `completion/complete`) are returned to the driver as events. The methods put messages into the
    outbox of the connection, on the stream of this request. Once the request is answered or
    cancelled they do nothing: a late handler cannot violate the protocol.
    """

    __slots__ = (
        "access",
        "batch",
        "client_capabilities",
        "connection",
        "definition",
        "id",
        "input_responses",
        "is_open",
        "last_progress",
        "log_level",
        "method",
        "observation",
        "params",
        "progress_token",
        "request_state",
        "requested_notifications",
        "revision",
        "screen",
        "stream",
    )

    def __init__(
        self,
        connection: ClientConnection,
        revision: Revision,
        id: RequestId,
        method: str,
        params: JsonObject,
        stream: Stream = None,
        access: Access | None = None,
        batch: Batch | None = None,
    ) -> None:
        self.connection = connection
        self.definition = connection.definition  # as this client sees it, from the checks on
        self.revision = revision
        self.id = id
        self.method = method
        self.params = params
        self.stream = stream
        self.access = access  # of the HTTP request; None without authorization
        self.client_capabilities = _NOTHING  # from this request, or from its legacy session
        self.progress_token: RequestId | None = None
        self.log_level = ""  # modern: the minimum level of this request; "" for no messages
        self.last_progress = _NO_PROGRESS
        self.input_responses = _NOTHING  # modern: answers to `require_input`
        self.request_state = ""  # modern: as the client returned it; untrusted
        self.requested_notifications = _NOTHING  # of a listen whose tasks are not checked
        self.batch = batch  # of legacy requests only
        self.is_open = True
        self.observation: Observation | None = None  # None without telemetry
        self.screen: OutputScreen | None = None  # masks secrets; set before the handler runs

    @property
    def principal(self) -> str:
        """The authenticated user; "" without authorization."""
        return "" if self.access is None else self.access.principal

    @property
    def caller(self) -> str:
        """Key of the client for limits per client: its principal or its address; "" over stdio."""
        access = self.access
        if access is None or not access.principal:
            return self.connection.address
        return f"principal {access.principal}"

    def succeed(self, result: object) -> None:
        """Respond with a `ToolResult`, `PromptResult`, `ResourceResult` or `Completion`.

        Raises:
            TypeError, ValueError, OverflowError, RecursionError: JSON cannot represent the result.
                The request is still open, and `fail` answers it.
        """
        self.answer(_shaper()(result, self.revision))

    def answer(self, result: JsonObject) -> None:
        """Respond with a result in the shape of this revision, without its envelope."""
        if self.is_open:
            connection = self.connection
            if self.observation is not None:
                self.observation.result = result
            if self.revision.is_modern:
                connection.add_envelope(result, self.method, self.definition)
            message = {"jsonrpc": "2.0", "id": self.id, "result": result}
            data = connection.encode(message)
            if self.screen is not None:
                data = self.screen.clean(message, data, connection.encode)
            self.respond(data)

    def respond(self, data: bytes, http_status: int = 200) -> None:
        """Send an encoded response and close the request."""
        self.close()
        if self.batch is None:
            self.connection.outbox.append(Outgoing(data, self.stream, True, http_status))
        else:
            self.connection.settle(self.batch, data)

    def make_inner(self, name: str, arguments: JsonObject, scope: str) -> Request:
        """Return a request for a call that the handler of this one makes in the client's name.

        It has the rights and the client of this one, and its own span and line in the audit file.
        No response to it is ever sent.
        """
        params: JsonObject = {"name": name, "arguments": arguments}
        own, observer = self.observation, self.definition.observer
        if own is not None and (context := own.find_context()) is not None:
            params["_meta"] = {"traceparent": context.format_parent()}
        inner = Request(
            self.connection,
            self.revision,
            f"{self.id}/{scope}",
            "tools/call",
            params,
            self.stream,
            self.access,
        )
        inner.client_capabilities = self.client_capabilities
        inner.definition = self.definition
        inner.screen = self.screen
        inner.observation = None if observer is None else observer.begin(inner)
        return inner

    def authorize(self) -> None:
        """Check that a call that changes something can be audited.

        Raises:
            ProtocolError: it cannot.
        """
        observation = self.observation
        if observation is not None and observation.observer.audit is not None:
            observation.authorize(self, observation.observer.audit)

    def finish(self, result: JsonObject) -> None:
        """Record the result of a request without sending it."""
        if self.observation is not None:
            self.observation.result = result

    def finish_with_error(self, code: int, message: str) -> None:
        """Record the error of a request without sending it."""
        if self.observation is not None:
            self.observation.note_error(code, message)

    def close(self) -> None:
        """Accept no response from now on."""
        self.is_open = False
        in_flight = self.connection.in_flight
        if in_flight.get(self.id) is self:
            del in_flight[self.id]
        if self.observation is not None:
            self.observation.end(self)

    def fail(self, error: BaseException, correlation_id: str = "") -> None:
        """Respond with the error that stands for this exception in this revision.

        `InvalidArgumentsError` becomes a result with `isError` in revisions that require this.
        The text of an exception is sent only for `ProtocolError`, `UnknownToolError`,
        `InvalidArgumentsError`, `ResourceNotFoundError`, `ClientCannotError` and `ToolError`. Any
        other exception becomes an internal error with nothing but `correlation_id`, which the log
        contains as well.

        Raises:
            TypeError, ValueError, OverflowError, RecursionError: JSON cannot represent the data of
                the error. The request is still open.
        """
        revision = self.revision
        match error:
            case ProtocolError():
                self.refuse(error.code, error.message, error.data)
            case InvalidArgumentsError() if revision.invalid_arguments_are_results:
                self._fail_for_model(str(error))
            case InvalidArgumentsError():
                self.refuse(INVALID_PARAMS, str(error), {"problems": list(error.problems)})
            case UnknownToolError():
                self.refuse(INVALID_PARAMS, f"unknown tool {str(error)[:100]!r}")
            case ResourceNotFoundError():
                self.refuse(revision.resource_not_found, str(error), {"uri": error.uri})
            case ClientCannotError() if revision.is_modern:
                required = {"requiredCapabilities": error.required}
                self.refuse(MISSING_CLIENT_CAPABILITY, str(error), required)
            case ClientCannotError() if self.method == "tools/call":
                self._fail_for_model(str(error))
            case ClientCannotError():
                self.refuse(INVALID_REQUEST, str(error))
            case ToolError():
                self.refuse(INTERNAL_ERROR, str(error))
            case _:
                data = {"correlationId": correlation_id} if correlation_id else None
                self.refuse(INTERNAL_ERROR, "internal error; see the server log", data)

    def refuse(self, code: int, message: str, data: Any = None) -> None:
        """Respond with this JSON-RPC error."""
        if self.is_open:
            if self.observation is not None:
                self.observation.note_error(code, message)
            response = error_message(code, message, data, self.id)
            encode = self.connection.encode
            encoded = encode(response)
            if self.screen is not None:
                encoded = self.screen.clean(response, encoded, encode)
            status = http_status(code) if self.revision.is_modern else 200
            self.respond(encoded, status)

    def _clean_params(self, params: JsonObject) -> JsonObject:
        """Return the parameters of a message with every secret masked."""
        screen = self.screen
        if screen is None:
            return params
        params = screen.make_text_readable(params)
        return screen.mask(params) if screen.has_secret(self.connection.encode(params)) else params

    def _fail_for_model(self, text: str) -> None:
        self.answer({"content": [{"type": "text", "text": text}], "isError": True})

    def report_progress(
        self, progress: float, total: float | None = None, message: str = ""
    ) -> None:
        """Send a progress notification, if the client asked for it and `progress` has increased."""
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
        self.connection.notify("notifications/progress", self._clean_params(params), self.stream)

    def log(self, level: str, data: Any, logger: str = "") -> None:
        """Send a log message, if the server declares logging and the client accepts the level.

        Raises:
            ValueError: `level` is not one of MCP's eight levels.
        """
        if level not in LOG_LEVELS:
            raise ValueError(
                f"invalid log level {level!r}: expected one of {', '.join(LOG_LEVELS)}"
            )
        if self.revision.is_modern:
            least = self.log_level
        else:
            session = self.connection.session
            least = (session.log_level if session else "") or DEFAULT_LOG_LEVEL
        if LOG_LEVELS.index(level) < (LOG_LEVELS.index(least) if least else len(LOG_LEVELS)):
            return
        if self.is_open and self.connection.definition.has_logging:
            params: JsonObject = {"level": level, "data": data}
            if logger:
                params["logger"] = logger
            self.connection.notify("notifications/message", self._clean_params(params), self.stream)

    def release_connection(self) -> None:
        """Let the client fetch the rest of the stream later, if its revision supports that."""
        if self.is_open and self.stream is not None and self.revision.has_sse_polling:
            # Empty: the transport closes the HTTP connection, and the stream stays open.
            self.connection.outbox.append(Outgoing(b"", self.stream))

    def listen(self, notifications: JsonObject) -> None:
        """Keep this `subscriptions/listen` open for these notifications, and acknowledge them."""
        if self.is_open:
            if self.observation is not None:
                self.observation.note_success()
            self.close()
            self.connection.subscribe(Subscription(self.id, self.stream, notifications))

    def ask_client(self, method: str, params: JsonObject) -> RequestId:
        """Send a request to a legacy client; return the id that its `ClientAnswer` will have.

        Raises:
            ClientCannotError: the client did not declare the capability for `method`.
        """
        check_client_can(method, params, self.revision, self.client_capabilities)
        session = self.connection.session
        if session is None or not session.is_initialized:
            raise ClientCannotError("this client has not sent `notifications/initialized` yet")
        return self.connection.ask_client(method, self._clean_params(params), self.stream)

    def require_url(self, elicitation: JsonObject) -> None:
        """Respond that the user must visit a URL first (2025-11-25, `URLElicitationRequiredError`).

        `elicitation` contains the params of an `elicitation/create` request in URL mode.

        Raises:
            ClientCannotError: the client did not declare elicitation in URL mode.
            ValueError: this is a modern client; use `require_input`.
        """
        session = self.connection.session
        if self.revision.is_modern or session is None:
            raise ValueError("`require_url` needs a legacy session; use `require_input`")
        check_client_can("elicitation/create", elicitation, self.revision, self.client_capabilities)
        if self.is_open:
            session.expect_elicitation(elicitation["elicitationId"])
            data = {"elicitations": [elicitation]}
            self.refuse(URL_ELICITATION_REQUIRED, elicitation["message"], data)

    def require_input(self, requests: Mapping[str, JsonObject], state: str = "") -> None:
        """Respond that the client must give input first (modern, `InputRequiredResult`).

        `requests` maps a key to `{"method": ..., "params": ...}`; the client returns `state`
        verbatim.

        Raises:
            ClientCannotError: the client did not declare a capability that one of them requires.
            ValueError: there is neither a request nor a state, or the client is a legacy one.
        """
        if not self.revision.is_modern or not (requests or state):
            raise ValueError("`require_input` needs a modern client, and requests or a state")
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
    from mcpgen.runtime.protocol.shapes import shape  # not needed to list tools

    return shape
