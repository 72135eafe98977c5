"""The server's half of MCP for one client connection: messages in, messages and events out."""

from __future__ import annotations

from mcpgen.runtime.errors import ProtocolError
from mcpgen.runtime.protocol.connection import ClientConnection
from mcpgen.runtime.protocol.events import ClientAnswer, Event, RequestCancelled
from mcpgen.runtime.protocol.jsonrpc import (
    CLIENT_CAPABILITIES,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    LOG_LEVEL,
    LOG_LEVELS,
    METHOD_NOT_FOUND,
    PROTOCOL_VERSION,
    SUBSCRIPTION_ID,
    UNSUPPORTED_VERSION,
    JsonObject,
    error_message,
    http_status,
    parse_id,
    read_id,
)
from mcpgen.runtime.protocol.messages import Batch, Change, Outgoing, Stream
from mcpgen.runtime.protocol.methods import select_methods
from mcpgen.runtime.protocol.request import Request
from mcpgen.runtime.protocol.server_definition import ServerDefinition
from mcpgen.runtime.protocol.versions import (
    LEGACY_NAMES,
    REVISION_2025_11_25,
    REVISION_2026_07_28,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from mcpgen.runtime.auth.access import Access
    from mcpgen.runtime.protocol.routing_headers import RoutingHeaders

MAX_BATCH: Final = 100
_LIST_CHANGED: Final = {  # kind of change -> notification, key in the filter of a listen
    "tools": ("notifications/tools/list_changed", "toolsListChanged"),
    "prompts": ("notifications/prompts/list_changed", "promptsListChanged"),
    "resources": ("notifications/resources/list_changed", "resourcesListChanged"),
}


def is_modern(message: Any, headers: RoutingHeaders | None, definition: ServerDefinition) -> bool:
    """Return whether a decoded message belongs to a stateless revision.

    An HTTP transport looks up a legacy session only for the other messages.
    """
    if not definition.has_both_eras:
        return definition.revisions[0].is_modern
    if type(message) is dict and type(params := message.get("params")) is dict:
        meta = params.get("_meta")
        if type(meta) is dict and PROTOCOL_VERSION in meta:
            return True
    version = None if headers is None else headers.version
    return version is not None and version not in LEGACY_NAMES


class ServerProtocol(ClientConnection):
    """The server's half of MCP for one client, without I/O, tasks or a clock.

    One object serves a stdio pipe, a legacy HTTP session, or a single POST of a modern client. The
    driver passes each message to `receive`, and after that and after every method of a `Request`
    writes the messages of `messages_to_send`.
    """

    __slots__ = ()

    def receive(
        self,
        message: Any,
        stream: Stream = None,
        headers: RoutingHeaders | None = None,
        access: Access | None = None,
        modern: bool | None = None,
    ) -> list[Event]:
        """Process one decoded message or batch; return the events that the driver must handle.

        `headers` are compared with the body; None for a transport without headers. `access` is that
        of the HTTP request that brought the message; None without authorization. `modern` is the
        result of `is_modern`, if the driver has called it. Responses that need no handler are in
        the outbox afterwards.
        """
        if modern is None:
            modern = is_modern(message, headers, self.definition)
        if type(message) is not dict or message.get("jsonrpc") != "2.0":
            if type(message) is list and not modern:
                return self._receive_batch(message, stream, access)
            request_id = read_id(message)
            self.refuse(
                INVALID_REQUEST, "expected one JSON-RPC 2.0 message", stream=stream, id=request_id
            )
            return []
        if type(message.get("method")) is not str:
            return self._receive_response(message, stream, refuse=modern and headers is not None)
        if "id" not in message:
            if (
                modern
                and headers is not None
                and not self._has_matching_headers(message, headers, stream)
            ):
                return []
            return self._receive_notification(message["method"], message.get("params"))
        return self._receive_request(message, modern, headers, stream, access, None)

    def _has_matching_headers(
        self, notification: JsonObject, headers: RoutingHeaders, stream: Stream
    ) -> bool:
        """Return whether the headers of a notification match its body; refuse it if not."""
        params = notification.get("params")
        meta = params.get("_meta") if type(params) is dict else None
        try:
            headers.check_notification(
                notification["method"], meta.get(PROTOCOL_VERSION) if type(meta) is dict else None
            )
            if headers.version not in self.definition.modern_by_name:
                raise self._make_version_error(headers.version)
        except ProtocolError as error:
            data = self.encode(error_message(error.code, error.message, error.data))
            self.outbox.append(Outgoing(data, stream, True, http_status(error.code)))
            return False
        return True

    def _receive_batch(
        self, batch: list[Any], stream: Stream, access: Access | None
    ) -> list[Event]:
        if self.session is None or not self.session.revision.has_batches:
            self.refuse(INVALID_REQUEST, "only MCP 2025-03-26 allows batches", stream=stream)
            return []
        if not 0 < len(batch) <= MAX_BATCH:
            self.refuse(
                INVALID_REQUEST, f"invalid batch: expected 1 to {MAX_BATCH} messages", stream=stream
            )
            return []
        events: list[Event] = []
        # The batch itself counts as one more, so that it cannot end before its last element.
        pending = Batch(stream, pending=1)
        for message in batch:
            events += self._receive_element(message, pending, access)
        self.settle(pending, None)
        return events

    def _receive_element(self, message: Any, batch: Batch, access: Access | None) -> list[Event]:
        is_valid = type(message) is dict and message.get("jsonrpc") == "2.0"
        if is_valid and type(message.get("method")) is str:
            if "id" not in message:
                return self._receive_notification(message["method"], message.get("params"))
            if message["method"] != "initialize":
                batch.pending += 1
                return self._receive_request(message, False, None, batch.stream, access, batch)
        elif is_valid and ("result" in message or "error" in message):
            return self._receive_response(message, batch.stream, refuse=False)
        error = error_message(INVALID_REQUEST, "invalid message in a batch")
        request_id = read_id(message)
        if request_id is not None:
            error["id"] = request_id
        batch.responses.append(self.encode(error))
        return []

    def _receive_request(
        self,
        message: JsonObject,
        modern: bool,
        headers: RoutingHeaders | None,
        stream: Stream,
        access: Access | None,
        batch: Batch | None,
    ) -> list[Event]:
        request_id = message["id"]
        if type(request_id) is not int and type(request_id) is not str:
            request_id = parse_id(request_id)
            if request_id is None:
                self._refuse_id(stream, batch)
                return []
        params = message.get("params")
        request = Request(
            self,
            REVISION_2026_07_28 if modern else REVISION_2025_11_25,
            request_id,
            message["method"],
            {} if params is None else params,
            stream,
            access,
            batch,
        )
        if self.definition.observer is not None:
            request.observation = self.definition.observer.begin(request)
        try:
            needs_handler = self._begin(request, modern, headers)
            if request.observation is not None and needs_handler:
                request.authorize()
        except ProtocolError as refusal:
            request.fail(refusal)
            return []
        if not needs_handler:
            return []
        self.in_flight[request_id] = request
        return [request]

    def _refuse_id(self, stream: Stream, batch: Batch | None) -> None:
        """Send an error for a request whose id is invalid."""
        text = "invalid id: expected a string or an integer"
        if batch is None:
            self.refuse(INVALID_REQUEST, text, stream=stream)
        else:
            self.settle(batch, self.encode(error_message(INVALID_REQUEST, text)))

    def _begin(self, request: Request, modern: bool, headers: RoutingHeaders | None) -> bool | None:
        """Check a request and answer it; return True if a handler must do that."""
        if type(request.params) is not dict:
            raise ProtocolError(INVALID_PARAMS, "`params` must be an object")
        request_id = request.id
        if request_id in self.in_flight or request_id in self.subscriptions:
            raise ProtocolError(
                INVALID_REQUEST, "duplicate id: a request with this id is not answered yet"
            )
        if modern:
            self._read_modern(request, headers)
        else:
            self._read_legacy(request)
        definition = self.definition
        if definition.views is not None:
            request.definition = definition = definition.for_client(request.client_capabilities)
        revision = request.revision
        methods = definition.methods.get(revision) or select_methods(definition, revision)
        method = methods.get(request.method)
        if method is None:
            raise ProtocolError(METHOD_NOT_FOUND, f"unknown method {request.method[:100]!r}")
        return method(request)

    def _read_modern(self, request: Request, headers: RoutingHeaders | None) -> None:
        """Check version, capabilities and routing headers, and read `_meta`."""
        params = request.params
        meta = params.get("_meta")
        if request.method == "initialize" and type(meta) is not dict and not self.definition.legacy:
            raise self._make_version_error(params.get("protocolVersion"))
        if headers is not None:
            headers.check_unrepeated()
        if type(meta) is not dict:
            raise ProtocolError(
                INVALID_PARAMS, f"missing `params._meta`: expected {PROTOCOL_VERSION!r} and more"
            )
        version = meta.get(PROTOCOL_VERSION)
        if type(version) is not str:
            raise ProtocolError(INVALID_PARAMS, f"missing {PROTOCOL_VERSION!r} in `params._meta`")
        capabilities = meta.get(CLIENT_CAPABILITIES)
        if type(capabilities) is not dict:
            raise ProtocolError(
                INVALID_PARAMS, f"missing {CLIENT_CAPABILITIES!r} in `params._meta`"
            )
        if headers is not None:
            headers.check_request(request.method, params, version)
        try:
            request.revision = self.definition.modern_by_name[version]
        except KeyError:
            raise self._make_version_error(version) from None
        if headers is not None and request.method == "tools/call":
            self._check_argument_headers(headers, params)
        request.client_capabilities = capabilities
        if "progressToken" in meta:
            request.progress_token = parse_id(meta["progressToken"])
        if LOG_LEVEL in meta:
            if meta[LOG_LEVEL] not in LOG_LEVELS:
                raise ProtocolError(
                    INVALID_PARAMS,
                    f"invalid {LOG_LEVEL!r}: expected one of {', '.join(LOG_LEVELS)}",
                )
            request.log_level = meta[LOG_LEVEL]

    def _check_argument_headers(self, headers: RoutingHeaders, params: JsonObject) -> None:
        name, tools = params.get("name"), self.definition.tools
        rules = tools.header_rules(name) if tools is not None and type(name) is str else None
        if rules and type(arguments := params.get("arguments", {})) is dict:
            headers.check_arguments(rules, arguments)

    def _make_version_error(self, requested: object) -> ProtocolError:
        data = {
            "supported": self.definition.version_names,
            "requested": requested if type(requested) is str else "",
        }
        return ProtocolError(UNSUPPORTED_VERSION, "unsupported protocol version", data)

    def _read_legacy(self, request: Request) -> None:
        session = self.session
        if session is not None:
            request.revision = session.revision
            request.client_capabilities = session.client_capabilities
        elif request.method not in {"initialize", "ping"}:
            # On a pipe this may as well be a modern request without its `_meta`.
            raise ProtocolError(
                INVALID_PARAMS if self.definition.modern else INVALID_REQUEST,
                f"no session: send `initialize`, or {PROTOCOL_VERSION!r} in `params._meta`",
            )
        meta = request.params.get("_meta")
        if type(meta) is dict:
            if request.batch is not None and PROTOCOL_VERSION in meta:
                raise ProtocolError(INVALID_REQUEST, "only MCP 2025-03-26 allows batches")
            request.progress_token = parse_id(meta.get("progressToken"))

    def _receive_notification(self, method: str, params: Any) -> list[Event]:
        if self.definition.observer is not None:
            self.definition.observer.receive_notification(self, method)
        if method == "notifications/cancelled" and type(params) is dict:
            return self._cancel(params)
        if method == "notifications/initialized" and self.session is not None:
            self.session.is_initialized = True
        return []

    def _cancel(self, params: JsonObject) -> list[Event]:
        request_id = parse_id(params.get("requestId"))
        if request_id is None:
            return []
        if request_id in self.subscriptions:
            self.end_stream(self.subscriptions.pop(request_id).stream)
            return []
        request = self.in_flight.get(request_id)
        if request is None:
            return []
        request.close()
        self.end_stream(request.stream, request.batch)
        reason = params.get("reason")
        return [RequestCancelled(request, reason if type(reason) is str else "")]

    def _receive_response(self, message: JsonObject, stream: Stream, refuse: bool) -> list[Event]:
        request_id = read_id(message)
        if refuse or not ("result" in message or "error" in message):
            self.refuse(
                INVALID_REQUEST,
                "expected a request or a notification",
                stream=stream,
                id=request_id,
            )
            return []
        if request_id is None or request_id not in self._unanswered:
            return []
        del self._unanswered[request_id]
        result = message.get("result")
        return [ClientAnswer(request_id, result if type(result) is dict else None)]

    def announce(self, change: Change) -> None:
        """Notify this client of a change, on each stream that subscribes to it."""
        params: JsonObject = {}
        if change.kind == "elicitation":
            if self.session is not None and self.session.finish_elicitation(change.subject):
                params = {"elicitationId": change.subject}
                self.notify("notifications/elicitation/complete", params)
            return
        if change.kind == "resource":
            method, params = "notifications/resources/updated", {"uri": change.subject}
        else:
            method, key = _LIST_CHANGED[change.kind]
        for each in self.subscriptions.values():
            if (
                change.subject in each.notifications.get("resourceSubscriptions", ())
                if change.kind == "resource"
                else each.notifications.get(key)
            ):
                self.notify(method, {"_meta": {SUBSCRIPTION_ID: each.id}, **params}, each.stream)
        session = self.session
        if session is not None and session.is_initialized:
            if change.kind == "resource":
                is_subscribed = change.subject in session.subscribed_uris
            else:
                is_subscribed = change.kind in self.definition.changing_lists
            if is_subscribed:
                self.notify(method, params)

    def is_waiting(self, stream: Stream) -> bool:
        """Return whether a request of `stream` is not answered yet."""
        return any(request.stream == stream for request in self.in_flight.values()) or any(
            each.stream == stream for each in self.subscriptions.values()
        )

    def disconnect(self, stream: Stream) -> list[Event]:
        """Close a stream that the client no longer reads; return the requests that this cancels.

        Only modern requests are cancelled. A legacy request continues, and its response is still
        put into the outbox, for replay.
        """
        for each in [*self.subscriptions.values()]:
            if each.stream == stream:
                del self.subscriptions[each.id]
        ending = [
            request
            for request in self.in_flight.values()
            if request.stream == stream and request.revision.disconnect_cancels
        ]
        for request in ending:
            request.close()
        return [RequestCancelled(request, "the client closed the stream") for request in ending]

    def close(self, reason: str) -> list[Event]:
        """Answer every open request: with an error, or for a subscription with its result.

        Return `RequestCancelled` for each request whose handler still runs.
        """
        ending = list(self.in_flight.values())
        for request in ending:
            request.refuse(INTERNAL_ERROR, reason)
        for each in self.subscriptions.values():
            meta = {SUBSCRIPTION_ID: each.id}
            if each.stream is None:  # a pipe, which does not show the end of a stream
                params = {"_meta": meta, "requestId": each.id, "reason": reason}
                self.notify("notifications/cancelled", params)
            result: JsonObject = {"_meta": meta}
            self.add_envelope(result, "subscriptions/listen", self.definition)
            response = self.encode({"jsonrpc": "2.0", "id": each.id, "result": result})
            self.outbox.append(Outgoing(response, each.stream, True))
        self.subscriptions.clear()
        return [RequestCancelled(request, reason) for request in ending]
