"""Streamable HTTP: one endpoint for all revisions that have it.

POST requests of 2026-07-28 are stateless and answered here. `sessions` serves the revisions with
sessions, and `legacy_sse` the two endpoints of 2024-11-05.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

from mcpgen.runtime.handlers.dispatcher import Dispatcher
from mcpgen.runtime.process.log import log
from mcpgen.runtime.protocol.jsonrpc import Encode, encode_json, error_message
from mcpgen.runtime.protocol.server import ServerProtocol, is_modern
from mcpgen.runtime.protocol.server_definition import ServerDefinition
from mcpgen.runtime.protocol.session import LegacySession
from mcpgen.runtime.protocol.versions import ASSUMED_LEGACY, BY_NAME
from mcpgen.runtime.state.store import MemoryStore
from mcpgen.runtime.transports.http import host_check
from mcpgen.runtime.transports.http.calls import PostedCalls
from mcpgen.runtime.transports.http.connection_limits import FairShare
from mcpgen.runtime.transports.http.exchange import CLOSE, HttpError, HttpExchange
from mcpgen.runtime.transports.http.host_check import HostCheck
from mcpgen.runtime.transports.http.legacy_sse import MESSAGES_PATH, SSE_PATH, SseEndpoints
from mcpgen.runtime.transports.http.reply_stream import KEEP_ALIVE, ReplyStream
from mcpgen.runtime.transports.http.request_head import accepts
from mcpgen.runtime.transports.http.sessions import LegacySessions
from mcpgen.runtime.transports.json_input import MAX_MESSAGE_BYTES, Decode, UndecodableError

MCP_PATH: Final = "/mcp"
HEALTH_PATH: Final = "/health"
KEEP_ALIVE_SECONDS: Final = 15.0
RETRY_AFTER: Final = (b"retry-after", b"1")
MAX_ARGUMENT_BYTES: Final = 48 * 1024 * 1024  # decoded, of all requests in flight
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
    """The endpoints that serve a server definition at `/mcp`, and its health at `/health`.

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
        store: MemoryStore | None = None,
        has_sessions: bool = True,
        with_sse: bool = False,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.is_draining = False  # no more requests are accepted
        self.is_ready = True  # the state that `/health` reports to load balancers
        self._definition = definition
        self._dispatcher = dispatcher
        self._decode = decode
        self._encode = encode
        self._host_check = host_check or HostCheck()
        self._store = store or MemoryStore()
        self._has_sessions = has_sessions and bool(definition.legacy)
        # Subscriptions and log levels need state between requests.
        self._definition_without_sessions = definition.replace(
            changing_lists=frozenset(), has_subscriptions=False, has_logging=False
        )
        self._now = now
        self._open: set[StatelessStream] = set()
        self._calls = PostedCalls(dispatcher)
        self._sessions = LegacySessions(
            definition, dispatcher, self._calls, self._store, encode, now
        )
        self._sse = SseEndpoints(definition, dispatcher, encode) if with_sse else None
        self._calls_in_flight = FairShare(dispatcher.max_in_flight)
        self._argument_bytes = FairShare(MAX_ARGUMENT_BYTES)
        self._next_keep_alive = now() + KEEP_ALIVE_SECONDS

    async def answer(self, exchange: HttpExchange) -> None:
        """Answer one request."""
        try:
            await self._route(exchange)
        except HttpError as error:
            await exchange.refuse(error)
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
        rejection = self._host_check.find_rejection(fields.get(b"host", b""), origin)
        if rejection is not None:
            raise HttpError(*rejection)
        path, method = head.path, head.method
        if origin is not None and self._host_check.allows_pages_of(origin):
            exchange.add_headers(host_check.make_cors_fields(origin))
            if host_check.is_preflight(method, fields):
                return exchange.reply(200, headers=host_check.make_preflight_fields(fields))
        if path == MCP_PATH:
            if method == "POST":
                return self._post(exchange)
            return self._serve_session_method(exchange, method)
        if path == HEALTH_PATH and method == "GET":
            return exchange.reply(200 if self.is_ready else 503)
        if self._sse is not None and path in {SSE_PATH, MESSAGES_PATH}:
            return self._serve_sse(self._sse, exchange, path, method)
        raise HttpError(404, f"unknown path; the MCP endpoint is {MCP_PATH}")

    async def _post(self, exchange: HttpExchange) -> None:
        head = exchange.head
        if not head.takes_json_and_events:
            raise HttpError(
                406, "the Accept header must include application/json and text/event-stream"
            )
        if not head.has_json:
            raise _not_json()
        body = exchange.take_body(MAX_MESSAGE_BYTES)
        if body is None:
            body = await exchange.read_body(MAX_MESSAGE_BYTES)
        message = self._decode_body(body)
        caller, calls = exchange.principal or exchange.address, _count_calls(message)
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
        protocol = ServerProtocol(
            definition, session=session, encode=self._encode, address=exchange.address
        )
        stream = StatelessStream(protocol)
        events = protocol.receive(
            message,
            stream=stream,
            headers=exchange.head.routing,
            principal=exchange.principal,
            modern=modern,
        )
        self._open.add(stream)
        try:
            answer_later = partial(self._answer_later, exchange, stream)
            await self._calls.run(protocol, events, stream, stream.flush, answer_later)
            later = stream.stop_watch()
            if later is not None:
                await later
            elif stream.reply:
                if not exchange.try_reply(stream.reply_status, stream.reply):
                    await exchange.reply(stream.reply_status, stream.reply)
            elif stream.is_sse or protocol.is_waiting(stream):
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
            await self._sessions.get(exchange)
        else:
            raise HttpError(406, "the Accept header must include text/event-stream")

    async def _serve_sse(
        self, sse: SseEndpoints, exchange: HttpExchange, path: str, method: str
    ) -> None:
        if method == "POST" and path == MESSAGES_PATH:
            if not exchange.head.has_json:
                raise _not_json()
            await sse.post(exchange, self._decode_body(await exchange.read_body(MAX_MESSAGE_BYTES)))
        elif method == "GET" and path == SSE_PATH:
            await sse.open(exchange)
        else:
            allowed = b"GET" if path == SSE_PATH else b"POST"
            raise HttpError(405, f"method {method} is not allowed here", ((b"allow", allowed),))

    # -- called by the server ------------------------------------------------------------------

    async def housekeep(self) -> None:
        """Evict idle sessions, keep open streams alive, answer slow legacy calls with events."""
        await self._sessions.housekeep()
        now = self._now()
        if now >= self._next_keep_alive:
            self._next_keep_alive = now + KEEP_ALIVE_SECONDS
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


def _count_calls(message: Any) -> int:
    """Count the calls of a message that are in flight until answered, without open streams."""
    if type(message) is dict:
        return 1 if "id" in message and message.get("method", _LISTEN) != _LISTEN else 0
    return len(message) if type(message) is list else 0


def _not_json() -> HttpError:
    return HttpError(415, "Content-Type must be application/json")
