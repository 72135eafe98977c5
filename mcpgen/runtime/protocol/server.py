"""The server's half of MCP for one client connection: messages in, messages out."""

from __future__ import annotations

from mcpgen.runtime.errors import ProtocolError
from mcpgen.runtime.protocol.call import Call, error_message
from mcpgen.runtime.protocol.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    UNSUPPORTED_VERSION,
    Encode,
    JsonObject,
    RequestId,
    as_id,
    encode_json,
    http_status,
    readable_id,
)
from mcpgen.runtime.protocol.messages import (
    CallCancelled,
    Change,
    ClientAnswer,
    Event,
    Outgoing,
    RootsChanged,
    SessionOpened,
    Stream,
)
from mcpgen.runtime.protocol.methods import methods_of
from mcpgen.runtime.protocol.offering import Offering
from mcpgen.runtime.protocol.request_meta import (
    CLIENT_CAPABILITIES,
    PROTOCOL_VERSION,
    SUBSCRIPTION_ID,
    read_request_meta,
)
from mcpgen.runtime.protocol.routing_headers import RoutingHeaders
from mcpgen.runtime.protocol.session import LegacySession
from mcpgen.runtime.protocol.versions import (
    BY_NAME,
    LEGACY_NAMES,
    REVISION_2025_11_25,
    REVISION_2026_07_28,
    Revision,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

MAX_BATCH: Final = 100
_LIST_CHANGED: Final = {  # kind of change -> notification, key in the filter of a listen
    "tools": ("notifications/tools/list_changed", "toolsListChanged"),
    "prompts": ("notifications/prompts/list_changed", "promptsListChanged"),
    "resources": ("notifications/resources/list_changed", "resourcesListChanged"),
}


def is_modern(message: Any, headers: RoutingHeaders | None, offering: Offering) -> bool:
    """Tell the era of a decoded message: True for the stateless revisions.

    An HTTP transport asks this to know whether a legacy session must be looked up.
    """
    if not offering.serves_both_eras:
        return offering.revisions[0].is_modern
    params = message.get("params") if type(message) is dict else None
    meta = params.get("_meta") if type(params) is dict else None
    if type(meta) is dict and PROTOCOL_VERSION in meta:
        return True
    version = None if headers is None else headers.version
    return version is not None and version not in LEGACY_NAMES


class Batch:
    """The answers to the elements of one JSON array (2025-03-26), until all are there."""

    __slots__ = ("answers", "pending", "stream")

    def __init__(self, stream: Stream, pending: int) -> None:
        self.stream = stream
        self.pending = pending
        self.answers: list[bytes] = []


class ServerProtocol:
    """The server's half of MCP for one peer, without I/O, tasks or a clock.

    One object for a stdio pipe, for a legacy HTTP session, or for a single POST of a modern
    client. Feed it with `receive`; after that, and after every method of a `Call`, write what
    `messages_to_send` hands over.
    """

    __slots__ = ("_asked", "_in_flight", "_listens", "_outbox", "encode", "offering", "session")

    def __init__(
        self,
        offering: Offering,
        *,
        session: LegacySession | None = None,
        encode: Encode = encode_json,
    ) -> None:
        self.offering = offering
        self.session = session  # set by `initialize`; a transport may restore a stored one
        self.encode = encode  # replaced by a faster one when the hot path starts
        self._in_flight: dict[RequestId, Call] = {}
        self._listens: dict[RequestId, tuple[Call, JsonObject]] = {}  # with what was honoured
        self._asked: dict[RequestId, Stream] = {}  # our requests to the client
        self._outbox: list[Outgoing] = []

    # -- in ------------------------------------------------------------------------------------

    def receive(
        self,
        message: Any,
        *,
        stream: Stream = None,
        headers: RoutingHeaders | None = None,
        principal: str = "",
        modern: bool | None = None,
    ) -> list[Event]:
        """Take one decoded message (or batch) and give what the driver must act on.

        `headers` is None where the transport has none, else they are held against the body.
        `modern` is what `is_modern` gave, where the driver asked it. Answers that need no handler
        are in the outbox afterwards.
        """
        if modern is None:
            modern = is_modern(message, headers, self.offering)
        if type(message) is list and not modern:
            return self._receive_batch(message, stream, principal)
        if type(message) is not dict or message.get("jsonrpc") != "2.0":
            request_id = readable_id(message)
            self.refuse(
                INVALID_REQUEST, "expected one JSON-RPC 2.0 message", stream=stream, id=request_id
            )
            return []
        if type(message.get("method")) is not str:
            return self._receive_response(message, stream, refuse=modern and headers is not None)
        if "id" not in message:
            if modern and headers is not None and not self._agrees(message, headers, stream):
                return []
            return self._receive_notification(message["method"], message.get("params"))
        return self._receive_request(message, modern, headers, stream, principal, None)

    def _agrees(self, notification: JsonObject, headers: RoutingHeaders, stream: Stream) -> bool:
        """Tell whether a posted notification has the headers of its body; refuse it if not."""
        params = notification.get("params")
        meta = params.get("_meta") if type(params) is dict else None
        try:
            headers.check_notification(
                notification["method"], meta.get(PROTOCOL_VERSION) if type(meta) is dict else None
            )
            self._modern_revision(headers.version)
        except ProtocolError as error:
            data = self.encode(error_message(error.code, error.message, error.data))
            self._outbox.append(Outgoing(data, stream, True, http_status(error.code)))
            return False
        return True

    def _receive_batch(self, batch: list[Any], stream: Stream, principal: str) -> list[Event]:
        if self.session is None or not self.session.revision.has_batches:
            self.refuse(INVALID_REQUEST, "batches exist in MCP 2025-03-26 only", stream=stream)
            return []
        if not 0 < len(batch) <= MAX_BATCH:
            self.refuse(INVALID_REQUEST, f"a batch has 1 to {MAX_BATCH} messages", stream=stream)
            return []
        events: list[Event] = []
        # The batch itself counts as one more, so that it cannot end before its last element.
        gathered = Batch(stream, pending=1)
        for message in batch:
            events += self._receive_element(message, gathered, principal)
        self._settle(gathered, None)
        return events

    def _receive_element(self, message: Any, batch: Batch, principal: str) -> list[Event]:
        well_formed = type(message) is dict and message.get("jsonrpc") == "2.0"
        if well_formed and type(message.get("method")) is str:
            if "id" not in message:
                return self._receive_notification(message["method"], message.get("params"))
            if message["method"] != "initialize":
                batch.pending += 1
                return self._receive_request(message, False, None, batch.stream, principal, batch)
        elif well_formed and ("result" in message or "error" in message):
            return self._receive_response(message, batch.stream, refuse=False)
        fault = error_message(INVALID_REQUEST, "not a message that a batch may hold")
        request_id = readable_id(message)
        if request_id is not None:
            fault["id"] = request_id
        batch.answers.append(self.encode(fault))
        return []

    def _receive_request(
        self,
        message: JsonObject,
        modern: bool,
        headers: RoutingHeaders | None,
        stream: Stream,
        principal: str,
        batch: Batch | None,
    ) -> list[Event]:
        request_id = as_id(message["id"])
        params = message.get("params")
        call = Call(
            self,
            REVISION_2026_07_28 if modern else REVISION_2025_11_25,
            "" if request_id is None else request_id,
            message["method"],
            {} if params is None else params,
            stream,
            principal,
        )
        call.batch = batch
        if request_id is None:
            self._respond_without_id(call)
            return []
        try:
            needs_handler = self._begin(call, modern, headers)
        except ProtocolError as error:
            call.fail(error)
            return []
        if needs_handler:
            self._in_flight[request_id] = call
            return [call]
        return [SessionOpened()] if call.method == "initialize" else []

    def _begin(self, call: Call, modern: bool, headers: RoutingHeaders | None) -> bool:
        """Check a request and answer it; True if a handler must do that."""
        if type(call.params) is not dict:
            raise ProtocolError(INVALID_PARAMS, "`params` must be an object")
        if call.id in self._in_flight or call.id in self._listens:
            raise ProtocolError(INVALID_REQUEST, "a request with this id is in flight")
        if modern:
            self._take_modern(call, headers)
        else:
            self._take_legacy(call)
        method = methods_of(self.offering, call.revision).get(call.method)
        if method is None:
            raise ProtocolError(METHOD_NOT_FOUND, f"no method {call.method[:100]!r} here")
        return method(call)

    def _take_modern(self, call: Call, headers: RoutingHeaders | None) -> None:
        """Check version, capabilities and routing headers: the first fault is the one answered."""
        params = call.params
        meta = params.get("_meta")
        if call.method == "initialize" and type(meta) is not dict and not self.offering.legacy:
            raise self._unsupported_version(params.get("protocolVersion"))
        if headers is not None:
            headers.check_unrepeated()
        if type(meta) is not dict:
            raise ProtocolError(
                INVALID_PARAMS, f"`params._meta` must hold {PROTOCOL_VERSION!r} and more"
            )
        version = meta.get(PROTOCOL_VERSION)
        if type(version) is not str:
            raise ProtocolError(INVALID_PARAMS, f"`params._meta` lacks {PROTOCOL_VERSION!r}")
        if type(meta.get(CLIENT_CAPABILITIES)) is not dict:
            raise ProtocolError(INVALID_PARAMS, f"`params._meta` lacks {CLIENT_CAPABILITIES!r}")
        if headers is not None:
            headers.check_request(call.method, params, version)
        call.revision = self._modern_revision(version)
        if headers is not None and call.method == "tools/call":
            self._check_argument_headers(headers, params)
        read_request_meta(call, meta)

    def _check_argument_headers(self, headers: RoutingHeaders, params: JsonObject) -> None:
        name, arguments = params.get("name"), params.get("arguments", {})
        if self.offering.tools is not None and type(name) is str and type(arguments) is dict:
            headers.check_arguments(self.offering.tools.header_rules(name), arguments)

    def _modern_revision(self, version: str | None) -> Revision:
        revision = BY_NAME.get(version or "")
        if revision is None or not revision.is_modern or revision not in self.offering.revisions:
            raise self._unsupported_version(version)
        return revision

    def _unsupported_version(self, requested: object) -> ProtocolError:
        data = {
            "supported": self.offering.version_names,
            "requested": requested if type(requested) is str else "",
        }
        return ProtocolError(UNSUPPORTED_VERSION, "this server does not speak that version", data)

    def _take_legacy(self, call: Call) -> None:
        session = self.session
        if session is not None:
            call.revision = session.revision
            call.client_capabilities = session.client_capabilities
        elif call.method not in {"initialize", "ping"}:
            # On a pipe this may as well be a modern request that forgot its `_meta`.
            raise ProtocolError(
                INVALID_PARAMS if self.offering.modern else INVALID_REQUEST,
                f"no session is open: send `initialize`, or {PROTOCOL_VERSION!r} in `params._meta`",
            )
        meta = call.params.get("_meta")
        if type(meta) is dict:
            if call.batch is not None and PROTOCOL_VERSION in meta:
                raise ProtocolError(INVALID_REQUEST, "batches exist in MCP 2025-03-26 only")
            call.progress_token = as_id(meta.get("progressToken"))

    def _receive_notification(self, method: str, params: Any) -> list[Event]:
        session = self.session
        if method == "notifications/cancelled" and type(params) is dict:
            return self._cancel(params)
        if method == "notifications/initialized" and session is not None:
            session.is_initialized = True
        if method == "notifications/roots/list_changed" and session is not None:
            return [RootsChanged()]
        return []

    def _cancel(self, params: JsonObject) -> list[Event]:
        request_id = as_id(params.get("requestId"))
        if request_id is None:
            return []
        if request_id in self._listens:
            call, _ = self._listens.pop(request_id)
            self._end(call)
            return []
        in_flight = self._in_flight.get(request_id)
        if in_flight is None:
            return []
        self._end(in_flight)
        reason = params.get("reason")
        return [CallCancelled(in_flight, reason if type(reason) is str else "")]

    def _receive_response(self, message: JsonObject, stream: Stream, refuse: bool) -> list[Event]:
        request_id = readable_id(message)
        if refuse or not ("result" in message or "error" in message):
            self.refuse(
                INVALID_REQUEST,
                "expected a request or a notification",
                stream=stream,
                id=request_id,
            )
            return []
        if request_id is None or request_id not in self._asked:
            return []
        del self._asked[request_id]
        result, error = message.get("result"), message.get("error")
        if type(result) is dict:
            return [ClientAnswer(request_id, result=result)]
        return [ClientAnswer(request_id, error=error if type(error) is dict else {})]

    # -- out -----------------------------------------------------------------------------------

    def release_connection(self, stream: Stream) -> None:
        """Ask the transport to close the connection of `stream`, which itself goes on."""
        self._outbox.append(Outgoing(b"", stream))

    def messages_to_send(self) -> list[Outgoing]:
        """Hand over what is ready to be written, oldest first, and forget it."""
        ready, self._outbox = self._outbox, []
        return ready

    def refuse(
        self,
        code: int,
        message: str,
        *,
        stream: Stream = None,
        id: RequestId | None = None,
        http_status: int = 400,
    ) -> None:
        """Answer something that could not be decoded, or is over a limit, with an error."""
        data = self.encode(error_message(code, message, None, id))
        self._outbox.append(Outgoing(data, stream, True, http_status))

    def respond(self, call: Call, data: bytes, http_status: int = 200) -> None:
        """Send the encoded response to a call, alone or with the rest of its batch."""
        self._forget(call)
        if call.batch is None:
            self._outbox.append(Outgoing(data, call.stream, True, http_status))
        else:
            self._settle(call.batch, data)

    def notify(self, method: str, params: JsonObject, stream: Stream = None) -> None:
        """Send a notification; without `params` where there are none."""
        message: JsonObject = {"jsonrpc": "2.0", "method": method}
        if params:
            message["params"] = params
        self._outbox.append(Outgoing(self.encode(message), stream))

    def envelop(self, result: JsonObject, method: str) -> None:
        """Add to a result what every result of a modern revision carries."""
        is_complete = result.setdefault("resultType", "complete") == "complete"
        if is_complete and method in REVISION_2026_07_28.cacheable:
            is_list = method != "resources/read"
            result.setdefault("ttlMs", self.offering.ttl_ms if is_list else 0)
            result.setdefault("cacheScope", self.offering.cache_scope if is_list else "private")
        meta = self.offering.result_meta
        result["_meta"] = {**meta, **result["_meta"]} if "_meta" in result else meta

    def ask_client(self, method: str, params: JsonObject, stream: Stream) -> RequestId:
        """Send a request to the client of a legacy session; its id comes back with the answer.

        Raises:
            ValueError: there is no session, so nobody who could answer.
        """
        session = self.session
        if session is None:
            raise ValueError("only a client with a session can be asked")
        request_id = session.next_request_id
        session.next_request_id += 1
        self._asked[request_id] = stream
        if "elicitationId" in params:
            session.expect_elicitation(params["elicitationId"])
        message: JsonObject = {"jsonrpc": "2.0", "id": request_id, "method": method}
        if params:
            message["params"] = params
        self._outbox.append(Outgoing(self.encode(message), stream))
        return request_id

    def cancel_client_request(self, request_id: RequestId, reason: str) -> None:
        """Give up on a request to the client (a timeout), and tell the client so."""
        if request_id in self._asked:
            stream = self._asked.pop(request_id)
            self.notify(
                "notifications/cancelled", {"requestId": request_id, "reason": reason}, stream
            )

    def listen(self, call: Call, honoured: JsonObject) -> None:
        """Keep a `subscriptions/listen` open and acknowledge what of it is honoured."""
        self._listens[call.id] = (call, honoured)
        params = {"_meta": {SUBSCRIPTION_ID: call.id}, "notifications": honoured}
        self.notify("notifications/subscriptions/acknowledged", params, call.stream)

    def announce(self, change: Change) -> None:
        """Tell this peer of a change, on each stream where it asked to be told."""
        if change.kind == "elicitation":
            self._finish_elicitation(change.subject)
            return
        params: JsonObject = {}
        if change.kind == "resource":
            method, params = "notifications/resources/updated", {"uri": change.subject}
        else:
            method, key = _LIST_CHANGED[change.kind]
        for call, honoured in self._listens.values():
            if (
                change.subject in honoured.get("resourceSubscriptions", ())
                if change.kind == "resource"
                else honoured.get(key)
            ):
                self.notify(method, {"_meta": {SUBSCRIPTION_ID: call.id}, **params}, call.stream)
        session = self.session
        if session is not None and session.is_initialized:
            if change.kind == "resource":
                wanted = change.subject in session.subscribed_uris
            else:
                wanted = change.kind in self.offering.changing_lists
            if wanted:
                self.notify(method, params)

    def _finish_elicitation(self, elicitation_id: str) -> None:
        session = self.session
        if session is not None and session.finish_elicitation(elicitation_id):
            self.notify("notifications/elicitation/complete", {"elicitationId": elicitation_id})

    # -- ends ----------------------------------------------------------------------------------

    def is_waiting(self, stream: Stream) -> bool:
        """Tell whether a request that came on `stream` is still to be answered."""
        return any(call.stream == stream for call in self._in_flight.values()) or any(
            call.stream == stream for call, _ in self._listens.values()
        )

    @property
    def open_listens(self) -> int:
        """How many `subscriptions/listen` are open."""
        return len(self._listens)

    def calls_in_flight(self) -> int:
        """Count the calls that a handler works on; open `subscriptions/listen` are not calls."""
        return len(self._in_flight)

    def disconnect(self, stream: Stream) -> list[Event]:
        """Note that nobody reads `stream` any more.

        Gives `CallCancelled` for each call that ends with it: modern ones. A legacy call goes on
        and its answer still comes out of the outbox, for replay.
        """
        for call, _ in [*self._listens.values()]:
            if call.stream == stream:
                del self._listens[call.id]
        ending = [
            call
            for call in self._in_flight.values()
            if call.stream == stream and call.revision.disconnect_cancels
        ]
        for call in ending:
            self._forget(call)
        return [CallCancelled(call, "the client closed the stream") for call in ending]

    def close(self, reason: str) -> list[Event]:
        """End everything: calls in flight are answered with an error, listens end in order.

        Gives `CallCancelled` for each call whose handler still runs.
        """
        ending = list(self._in_flight.values())
        for call in ending:
            call.refuse(INTERNAL_ERROR, reason)
        for call, _ in [*self._listens.values()]:
            del self._listens[call.id]
            meta = {SUBSCRIPTION_ID: call.id}
            if call.stream is None:  # a pipe, on which no closing stream tells the end
                params = {"_meta": meta, "requestId": call.id, "reason": reason}
                self.notify("notifications/cancelled", params)
            call.answer({"_meta": meta})
        return [CallCancelled(call, reason) for call in ending]

    def _respond_without_id(self, call: Call) -> None:
        fault = error_message(INVALID_REQUEST, "an id is a string or an integer")
        self.respond(call, self.encode(fault), 400)

    def _end(self, call: Call) -> None:
        """Close a call that will not be answered, and its stream."""
        self._forget(call)
        if call.batch is not None:
            self._settle(call.batch, None)
        elif call.stream is not None:
            self._outbox.append(Outgoing(b"", call.stream, True))

    def _forget(self, call: Call) -> None:
        call.is_open = False
        if self._in_flight.get(call.id) is call:
            del self._in_flight[call.id]

    def _settle(self, batch: Batch, answer: bytes | None) -> None:
        batch.pending -= 1
        if answer is not None:
            batch.answers.append(answer)
        if batch.pending == 0 and (batch.answers or batch.stream is not None):
            data = b"[" + b",".join(batch.answers) + b"]" if batch.answers else b""
            self._outbox.append(Outgoing(data, batch.stream, True))
