"""Streamable HTTP: one endpoint for all revisions that have it.

POST requests of 2026-07-28 are stateless and answered here. `sessions` serves the revisions with
sessions, and `legacy_sse` the two endpoints of 2024-11-05.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from mcpgen.runtime.errors import StoreUnavailableError
from mcpgen.runtime.handlers.dispatcher import Dispatcher
from mcpgen.runtime.process.log import describe_error, log
from mcpgen.runtime.protocol.jsonrpc import Encode, encode_json, error_message
from mcpgen.runtime.protocol.server import ServerProtocol, is_modern
from mcpgen.runtime.protocol.server_definition import ServerDefinition
from mcpgen.runtime.protocol.session import LegacySession
from mcpgen.runtime.protocol.versions import ASSUMED_LEGACY, BY_NAME
from mcpgen.runtime.state.session_store import MemorySessions
from mcpgen.runtime.transports.http import host_check
from mcpgen.runtime.transports.http.caller_headers import CallerHeaders
from mcpgen.runtime.transports.http.calls import PostedCalls
from mcpgen.runtime.transports.http.connection_limits import FairShare
from mcpgen.runtime.transports.http.exchange import CLOSE, Answer, HttpError, HttpExchange
from mcpgen.runtime.transports.http.host_check import HostCheck
from mcpgen.runtime.transports.http.legacy_sse import MESSAGES_PATH, SSE_PATH, SseEndpoints
from mcpgen.runtime.transports.http.pages import MAX_FORM_BYTES, PageRequest, WebPages
from mcpgen.runtime.transports.http.reply_stream import (
    KEEP_ALIVE,
    ReplyStream,
    set_max_unread_events,
)
from mcpgen.runtime.transports.http.request_head import accepts
from mcpgen.runtime.transports.http.sessions import LegacySessions
from mcpgen.runtime.transports.json_input import Decode, UndecodableError

if TYPE_CHECKING:
    from mcpgen.runtime.state.replica import Replica
    from mcpgen.runtime.transports.http.authorization import HttpAuthorization
    from mcpgen.runtime.transports.http.server_card import ServerCard
    from mcpgen.runtime.transports.http.shared_sessions import SharedLegacySessions
    from mcpgen.runtime.transports.http.shared_sse import SharedSseEndpoints

MCP_PATH: Final = "/mcp"
HEALTH_PATH: Final = "/health"  # as `/readyz`
LIVE_PATH: Final = "/livez"
READY_PATH: Final = "/readyz"
READY_CHECK_SECONDS: Final = 2.0  # for the check of a required store
RETRY_AFTER: Final = (b"retry-after", b"1")
_HEALTH_PATHS: Final = frozenset({HEALTH_PATH, LIVE_PATH, READY_PATH})  # without authorization
_LISTEN: Final = "subscriptions/listen"
_SMALL_BODY_BYTES: Final = 1024  # not counted
_BYTES_PER_VALUE: Final = 72  # in memory, besides its text


class StatelessStream(ReplyStream):
    """The answers to a stateless POST, with the protocol core that produces them."""

    __slots__ = ("protocol",)

    def __init__(self, protocol: ServerProtocol) -> None:
        super().__init__()
        self.protocol = protocol

    def flush(self) -> None:
        """Add the outgoing messages of the core."""
        for outgoing in self.protocol.messages_to_send():
            self.put(outgoing)


class StreamableHttp:
    """The endpoints that serve a server definition at `/mcp`, and its health.

    The server must call `housekeep` about once a second, and `drain` before it stops.
    """

    def __init__(
        self,
        definition: ServerDefinition,
        dispatcher: Dispatcher,
        *,
        decode: Decode,
        encode: Encode,
        host_check: HostCheck | None = None,
        store: MemorySessions | None = None,
        replica: Replica | None = None,
        has_sessions: bool = True,
        with_sse: bool = False,
        caller_headers: Sequence[str] | None = None,
        authorization: HttpAuthorization | None = None,
        pages: WebPages | None = None,
        card: ServerCard | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Serve a definition; `caller_headers` carry credentials of callers for the API.

        They are None if callers have no credentials of their own.
        """
        self.caller_headers = None if caller_headers is None else CallerHeaders(caller_headers)
        self.is_draining = False  # no more requests are accepted
        self.is_ready = True  # the state that `/readyz` reports to load balancers
        shared = dispatcher.store
        self.check_store = None if shared is None else shared.check
        """Raises an exception while a store that the server requires is unavailable."""
        if authorization is not None:  # lists are for holders of a token, not for a shared cache
            definition = definition.replace(cache_scope="private")
        self._definition = definition
        self._dispatcher = dispatcher
        self._decode = decode
        self._encode = encode
        self._host_check = host_check or HostCheck()
        self._authorization = authorization
        self._pages = pages
        self._card = card
        # Nothing asks who the caller is.
        self._is_anonymous = authorization is None and pages is None and caller_headers is None
        self.limits = limits = dispatcher.limits
        set_max_unread_events(limits.max_unread_events)
        self._has_sessions = has_sessions and bool(definition.legacy)
        # These need state between requests; of views, that the client can show them.
        self._definition_without_sessions = definition.replace(
            changing_lists=frozenset(), has_subscriptions=False, has_logging=False, views=None
        )
        self._now = now
        self._open: set[StatelessStream] = set()
        self._listening: dict[HttpExchange, Callable[[], None]] = {}
        """With authorization: the responses that only listen, and what ends each of them."""
        self._calls = PostedCalls(dispatcher)
        self._sessions: LegacySessions | SharedLegacySessions
        self._sse: SseEndpoints | SharedSseEndpoints | None = None
        if replica is None:
            store = store or MemorySessions(
                max_sessions=limits.max_sessions,
                idle_seconds=limits.session_timeout_seconds,
                max_events=limits.max_events,
                event_seconds=limits.event_seconds,
            )
            self._sessions = LegacySessions(definition, dispatcher, self._calls, store, encode, now)
            if with_sse:
                self._sse = SseEndpoints(definition, dispatcher, encode)
        else:
            from mcpgen.runtime.transports.http import shared_sessions, shared_sse

            self._sessions = shared_sessions.SharedLegacySessions(
                definition, dispatcher, self._calls, replica, encode, now
            )
            if with_sse:
                self._sse = shared_sse.SharedSseEndpoints(self._sessions)
        self._calls_in_flight = FairShare(dispatcher.max_in_flight)
        self._argument_bytes = FairShare(limits.max_buffered_bytes)  # decoded
        self._max_message_bytes = limits.max_message_bytes
        self._next_keep_alive = now() + limits.ping_seconds

    async def answer(self, exchange: HttpExchange) -> None:
        """Answer one request."""
        try:
            await self._route(exchange)
        except HttpError as error:
            await exchange.refuse(error)
        except StoreUnavailableError as error:
            text = f"the state store is unavailable, and sessions need it: {error}"
            if not exchange.is_started:
                await exchange.refuse(HttpError(503, text, (RETRY_AFTER,)))
        except UndecodableError as error:
            body = encode_json(error_message(error.code, error.message, None, error.id))
            await exchange.reply(400, body)
        except Exception as error:  # noqa: BLE001  (the boundary: the client must not wait)
            head = exchange.head
            log("error", f"{head.method} {head.path}: {type(error).__name__}: {error}")
            if not exchange.is_started:
                await exchange.refuse(
                    HttpError(500, "internal error; see the server log", (CLOSE,))
                )

    def _route(self, exchange: HttpExchange) -> Awaitable[None]:
        fields, head = exchange.fields, exchange.head
        origin = fields.get(b"origin")
        authorization = self._authorization
        if authorization is not None and authorization.is_metadata(head.path):
            return self._reply_publicly(authorization.reply_metadata, exchange)
        if self._card is not None and self._card.has_path(head.path):
            return self._reply_publicly(self._card.reply, exchange)
        rejection = self._host_check.find_rejection(fields.get(b"host", b""), origin)
        if rejection is not None:
            raise HttpError(*rejection)
        path, method = head.path, head.method
        if origin is not None and self._host_check.allows_pages_of(origin):
            exchange.add_headers(host_check.make_cors_fields(origin))
            if host_check.is_preflight(method, fields):
                own_fields = self.caller_headers.fields if self.caller_headers else ()
                preflight = host_check.make_preflight_fields(fields, own_fields)
                return exchange.reply(200, headers=preflight)
        if self._is_anonymous and path == MCP_PATH and method == "POST":
            return self._post(exchange)  # of most servers, most requests: the quickest way
        if self._pages is not None and self._pages.has_path(path):
            return self._answer_page(self._pages, exchange)
        if authorization is not None and path not in _HEALTH_PATHS:
            return self._admit(authorization, exchange)
        return self._serve_path(exchange)

    async def _answer_page(self, pages: WebPages, exchange: HttpExchange) -> None:
        """Answer a browser: pages authenticate it themselves."""
        head = exchange.head
        body = await exchange.read_body(MAX_FORM_BYTES)
        request = PageRequest(head.method, head.path, head.query, exchange.fields, body)
        response = await pages.answer(request)
        await exchange.reply(response.status, response.body, response.headers)

    async def _reply_publicly(self, reply: Answer, exchange: HttpExchange) -> None:
        """Answer with public metadata, whatever the origin of the page that reads it."""
        rejection = self._host_check.find_rejection(exchange.fields.get(b"host", b""), None)
        if rejection is not None:
            raise HttpError(*rejection)
        await reply(exchange)

    async def _admit(self, authorization: HttpAuthorization, exchange: HttpExchange) -> None:
        """Serve a request if its access token allows that."""
        await authorization.admit(exchange)
        await self._serve_path(exchange)

    def _serve_path(self, exchange: HttpExchange) -> Awaitable[None]:
        path, method = exchange.head.path, exchange.head.method
        if self.caller_headers is not None:
            exchange.access = self.caller_headers.read(exchange)
        if path == MCP_PATH:
            if method == "POST":
                return self._post(exchange)
            return self._serve_session_method(exchange, method)
        if path in _HEALTH_PATHS and method in {"GET", "HEAD"}:
            return self._report_health(exchange, path)
        if self._sse is not None and path in {SSE_PATH, MESSAGES_PATH}:
            return self._serve_sse(self._sse, exchange, path, method)
        raise HttpError(404, f"unknown path; the MCP endpoint is {MCP_PATH}")

    async def _report_health(self, exchange: HttpExchange, path: str) -> None:
        """Answer a probe, without a body: the server is live, or ready for requests."""
        is_well = path == LIVE_PATH or (self.is_ready and await self._check_store())
        await exchange.reply(200 if is_well else 503)

    async def _check_store(self) -> bool:
        """Return whether the store that this server requires is available."""
        if self.check_store is None:
            return True
        try:
            async with asyncio.timeout(READY_CHECK_SECONDS):
                await self.check_store()
        except (StoreUnavailableError, TimeoutError) as error:
            log("warning", f"not ready: {describe_error(error)}")
            return False
        return True

    async def _post(self, exchange: HttpExchange) -> None:
        head = exchange.head
        if not head.takes_json_and_events:
            raise HttpError(
                406, "the Accept header must include application/json and text/event-stream"
            )
        if not head.has_json:
            raise _not_json()
        body = exchange.take_body(self._max_message_bytes)
        if body is None:
            body = await exchange.read_body(self._max_message_bytes)
        message = self._decode_body(body)
        if self._definition.observer is not None:
            self._definition.observer.enter_http(exchange.fields)
        if self._authorization is not None:
            self._authorization.check_call(exchange, message)
        caller, calls = exchange.address, _count_calls(message)
        if exchange.access is not None:
            caller = exchange.access.principal or caller
        is_small = len(body) <= _SMALL_BODY_BYTES
        size = 0 if is_small else len(body) + _BYTES_PER_VALUE * body.count(b",")  # estimated
        del body
        if calls and not self._calls_in_flight.take(caller, calls):
            raise HttpError(503, "too many calls are in flight", (RETRY_AFTER,))
        try:
            if size and not self._argument_bytes.take(caller, size):
                size = 0
                raise HttpError(503, "too many large requests are in flight", (RETRY_AFTER,))
            if is_modern(message, head.routing, self._definition):
                await self._answer_once(exchange, message, None, modern=True)
            elif self._has_sessions:
                await self._sessions.post(exchange, message)
            else:
                session = self._make_stateless_session(exchange, message)
                await self._answer_once(exchange, message, session, modern=False)
        finally:
            if calls:
                self._calls_in_flight.release(caller, calls)
            if size:
                self._argument_bytes.release(caller, size)

    def _decode_body(self, body: bytes) -> Any:
        """Decode a body, unless the server is shutting down."""
        message = self._decode(body)
        if self.is_draining:
            raise HttpError(503, "the server is shutting down", (RETRY_AFTER, CLOSE))
        return message

    def _make_stateless_session(self, exchange: HttpExchange, message: Any) -> LegacySession | None:
        """Return the session of a legacy client without state: only its revision is known."""
        if type(message) is dict and message.get("method") == "initialize":
            return None
        version = exchange.text(b"mcp-protocol-version")
        revision = ASSUMED_LEGACY if version is None else BY_NAME.get(version)
        if revision is None or revision not in self._definition.legacy:
            raise HttpError(400, "unsupported revision in the header MCP-Protocol-Version")
        return LegacySession(revision, is_initialized=True)

    async def _answer_once(
        self,
        exchange: HttpExchange,
        message: Any,
        session: LegacySession | None,
        *,
        modern: bool,
    ) -> None:
        """Answer a stateless POST."""
        definition = self._definition if modern else self._definition_without_sessions
        protocol = ServerProtocol(definition, session, self._encode, exchange.address)
        stream = StatelessStream(protocol)
        events = protocol.receive(message, stream, exchange.head.routing, exchange.access, modern)
        self._open.add(stream)
        try:
            answer_later = partial(self._answer_later, exchange, stream)
            await self._calls.run(protocol, events, stream, stream.flush, answer_later)
            later = stream.stop_watch()
            if later is not None and protocol.subscriptions:  # it listens to tasks
                await self._listen(exchange, later, partial(self._end_subscription, stream))
            elif later is not None:
                await later
            elif stream.reply:
                if not exchange.try_reply(stream.reply_status, stream.reply):
                    await exchange.reply(stream.reply_status, stream.reply)
            elif stream.is_sse or protocol.is_waiting(stream):
                if protocol.subscriptions:
                    end = partial(self._end_subscription, stream)
                    await self._listen(exchange, self._answer_later(exchange, stream), end)
                else:
                    await self._answer_later(exchange, stream)
            else:
                await exchange.reply(202)
        finally:
            self._open.remove(stream)

    async def _answer_later(self, exchange: HttpExchange, stream: StatelessStream) -> None:
        """Answer once there is a message; cancel the call if the client disconnects."""
        protocol = stream.protocol
        self._dispatcher.attach(protocol, stream.flush)
        watch = asyncio.create_task(exchange.watch(stream))
        try:
            while not stream.is_decided:
                await stream.wait()
            if stream.reply is not None:
                await exchange.reply(stream.reply_status, stream.reply)
            elif stream.is_sse:
                await exchange.reply_events(stream)
        finally:
            watch.cancel()
            stream.detach()
            self._dispatcher.detach(protocol)
            self._dispatcher.dispatch(protocol, protocol.disconnect(stream), stream.flush)

    async def _serve_session_method(self, exchange: HttpExchange, method: str) -> None:
        version = exchange.text(b"mcp-protocol-version")
        is_stateless = any(revision.name == version for revision in self._definition.modern)
        has_sessions = self._has_sessions and not is_stateless
        if not has_sessions or method not in {"GET", "DELETE"}:
            allowed = b"GET, POST, DELETE" if has_sessions else b"POST"
            raise HttpError(405, f"method {method} is not allowed here", ((b"allow", allowed),))
        if self.is_draining:
            raise HttpError(503, "the server is shutting down", (RETRY_AFTER, CLOSE))
        if method == "DELETE":
            await self._sessions.delete(exchange)
        elif accepts(exchange.fields.get(b"accept"), "text/event-stream"):
            await self._listen(exchange, self._sessions.get(exchange), exchange.end_stream)
        else:
            raise HttpError(406, "the Accept header must include text/event-stream")

    async def _serve_sse(
        self, sse: SseEndpoints | SharedSseEndpoints, exchange: HttpExchange, path: str, method: str
    ) -> None:
        if method == "POST" and path == MESSAGES_PATH:
            if not exchange.head.has_json:
                raise _not_json()
            body = await exchange.read_body(self._max_message_bytes)
            message = self._decode_body(body)
            if self._authorization is not None:
                self._authorization.check_call(exchange, message)
            await sse.post(exchange, message)
        elif method == "GET" and path == SSE_PATH:
            await self._listen(
                exchange, sse.open(exchange), partial(_end_without_calls, sse, exchange)
            )
        else:
            allowed = b"GET" if path == SSE_PATH else b"POST"
            raise HttpError(405, f"method {method} is not allowed here", ((b"allow", allowed),))

    async def _listen(
        self, exchange: HttpExchange, answer: Awaitable[None], end: Callable[[], None]
    ) -> None:
        """Answer a request with a stream; `end` is called while its token is no longer valid."""
        if self._authorization is None:
            await answer
            return
        self._listening[exchange] = end
        try:
            await answer
        finally:
            del self._listening[exchange]

    def _end_subscription(self, stream: StatelessStream) -> None:
        """Answer `subscriptions/listen`, which ends its stream."""
        stream.protocol.close("the access token is no longer valid")
        stream.flush()

    # -- called by the server ------------------------------------------------------------------

    async def housekeep(self) -> None:
        """Evict idle sessions, keep open streams alive, answer slow legacy calls with events.

        End streams that only listen once their access tokens have expired: a client that connects
        again has to authorize itself.
        """
        if self._authorization is not None:
            for exchange, end in list(self._listening.items()):
                if not self._authorization.admits_still(exchange):
                    end()
        await self._sessions.housekeep()
        now = self._now()
        if now >= self._next_keep_alive:
            self._next_keep_alive = now + self.limits.ping_seconds
            streams: list[ReplyStream] = [*self._open]
            streams += self._sessions.open_streams()
            streams += self._sse.open_streams() if self._sse is not None else []
            for stream in streams:
                if stream.is_sse and not stream.pending:
                    stream.push(KEEP_ALIVE)
                    stream.wake()

    async def drain(self, timeout_seconds: float) -> bool:
        """Reject new requests, let calls finish, then answer the remaining ones with an error.

        Streams that only listen end at once; the others end when they are answered. Return False
        if handlers were still running when the timeout expired.
        """
        self.is_draining, self.is_ready = True, False
        self._close(only_idle=True)
        all_have_ended = await self._dispatcher.drain(timeout_seconds)
        self._close(only_idle=False)
        await self._sessions.finish_writing()
        return all_have_ended

    def _close(self, *, only_idle: bool) -> None:
        reason = "the server is shutting down"
        for stream in list(self._open):
            protocol = stream.protocol
            if not only_idle or not protocol.in_flight:
                self._dispatcher.dispatch(protocol, protocol.close(reason), stream.flush)
                stream.flush()
        self._sessions.close(reason, only_idle=only_idle)
        if self._sse is not None:
            self._sse.close(reason, only_idle=only_idle)


def _end_without_calls(sse: SseEndpoints | SharedSseEndpoints, exchange: HttpExchange) -> None:
    """End a stream that cannot be resumed, unless it is to have the answer of a call."""
    if not sse.has_calls(exchange):
        exchange.end_stream()


def _count_calls(message: Any) -> int:
    """Count the calls of a message that are in flight until answered, without open streams."""
    if type(message) is dict:
        return 1 if "id" in message and message.get("method", _LISTEN) != _LISTEN else 0
    return len(message) if type(message) is list else 0


def _not_json() -> HttpError:
    return HttpError(415, "Content-Type must be application/json")
