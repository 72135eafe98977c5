"""Streamable HTTP as a raw ASGI application: one endpoint for every revision that has it.

A POST of 2026-07-28 is complete in itself and handled here; what older revisions keep between
requests is in `http_sessions.py`, and the two endpoints of 2024-11-05 are in `http_sse.py`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

from mcpgen.runtime.calls import CallRunner
from mcpgen.runtime.log import log
from mcpgen.runtime.protocol.jsonrpc import Encode
from mcpgen.runtime.protocol.offering import Offering
from mcpgen.runtime.protocol.server import ServerProtocol, is_modern
from mcpgen.runtime.protocol.session import LegacySession
from mcpgen.runtime.protocol.versions import ASSUMED_LEGACY, BY_NAME, Revision
from mcpgen.runtime.transports import cross_origin
from mcpgen.runtime.transports.host_check import HostCheck
from mcpgen.runtime.transports.http_calls import PostedCalls
from mcpgen.runtime.transports.http_exchange import (
    CLOSE,
    HttpExchange,
    Receive,
    RefusedError,
    Scope,
    Send,
)
from mcpgen.runtime.transports.http_sessions import LegacySessions
from mcpgen.runtime.transports.http_sse import SseEndpoints
from mcpgen.runtime.transports.json_input import (
    MAX_MESSAGE_BYTES,
    Decode,
    UndecodableError,
)
from mcpgen.runtime.transports.reply_stream import ReplyStream
from mcpgen.runtime.transports.request_head import RequestHead, accepts
from mcpgen.runtime.transports.sse import KEEP_ALIVE
from mcpgen.runtime.transports.store import MemoryStore, Store

MCP_PATH: Final = "/mcp"
HEALTH_PATH: Final = "/health"
KEEP_ALIVE_SECONDS: Final = 15.0
RETRY_AFTER: Final = (b"retry-after", b"1")


class LoneStream(ReplyStream):
    """The answers to a POST that belongs to nothing else, and the core that gives them."""

    __slots__ = ("protocol",)

    def __init__(self, protocol: ServerProtocol) -> None:
        super().__init__()
        self.protocol = protocol

    def flush(self) -> None:
        """Take what the core has to say."""
        for outgoing in self.protocol.messages_to_send():
            self.put(outgoing)


class StreamableHttp:
    """The ASGI application that serves an offering at `/mcp`, and its health at `/health`.

    Whoever runs it calls `housekeep` about once a second, and `drain` before the end.
    """

    def __init__(
        self,
        offering: Offering,
        runner: CallRunner,
        *,
        decode: Decode,
        encode: Encode,
        host_check: HostCheck | None = None,
        store: Store | None = None,
        has_sessions: bool = True,
        with_sse: bool = False,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.is_draining = False
        self._offering = offering
        self._runner = runner
        self._decode = decode
        self._encode = encode
        self._host_check = host_check or HostCheck()
        self._store = store or MemoryStore()
        self._has_sessions = has_sessions and bool(offering.legacy)
        # What a client must be remembered for: what it subscribed to, which level it logs.
        self._offering_without_sessions = offering.replaced(
            changing_lists=frozenset(), offers_subscriptions=False, offers_logging=False
        )
        self._now = now
        self._open: set[LoneStream] = set()
        self._calls = PostedCalls(runner)
        self._sessions = LegacySessions(offering, runner, self._calls, self._store, encode, now)
        self._sse = SseEndpoints(offering, runner, encode) if with_sse else None
        self._next_keep_alive = now() + KEEP_ALIVE_SECONDS
        runner.publish = self._store.publish
        self._store.subscribe(runner.announce)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            raise RuntimeError(f"cannot serve ASGI scope {scope['type']!r}: run without lifespan")
        exchange = HttpExchange(scope, receive, send)
        try:
            await self._route(exchange)
        except RefusedError as error:
            await exchange.refuse(error)
        except Exception as error:  # noqa: BLE001  (the boundary: the client must not wait)
            log("error", f"{scope['method']} {scope['path']}: {type(error).__name__}: {error}")
            if not exchange.is_started:
                await exchange.refuse(RefusedError(500, "the server made a mistake", (CLOSE,)))

    def _route(self, exchange: HttpExchange) -> Awaitable[None]:
        fields, scope = exchange.fields, exchange.scope
        origin = fields.get(b"origin")
        refusal = self._host_check.refusal(fields.get(b"host", b""), origin)
        if refusal is not None:
            raise RefusedError(*refusal)
        path, method = scope["path"].removeprefix(scope.get("root_path", "")), scope["method"]
        if origin is not None and self._host_check.allows_pages_of(origin):
            exchange.answer_with(cross_origin.fields_for(origin))
            if cross_origin.is_preflight(method, fields):
                return exchange.reply(200, headers=cross_origin.preflight_fields(fields))
        if path == MCP_PATH:
            if method == "POST":
                return self._post(exchange)
            return self._serve_session_method(exchange, method)
        if path == HEALTH_PATH and method == "GET":
            return exchange.reply(503 if self.is_draining else 200)
        if self._sse is not None and self._sse.serves(path):
            return self._serve_sse(self._sse, exchange, path, method)
        raise RefusedError(404, f"nothing is here; the MCP endpoint is {MCP_PATH}")

    async def _post(self, exchange: HttpExchange) -> None:
        head = exchange.head
        if not head.takes_json_and_events:
            raise RefusedError(406, "Accept must take application/json and text/event-stream")
        _check_has_json(head)
        try:
            body = exchange.body_at_hand(MAX_MESSAGE_BYTES)
            if body is None:
                body = await exchange.read_body(MAX_MESSAGE_BYTES)
            message = self._decoded(body)
        except UndecodableError as error:
            await self._answer_undecodable(exchange, error)
            return
        if is_modern(message, head.routing, self._offering):
            await self._answer_once(exchange, message, None, modern=True)
        elif self._has_sessions:
            await self._sessions.post(exchange, message)
        else:
            session = self._assumed_session(exchange, message)
            await self._answer_once(exchange, message, session, modern=False)

    async def _read_message(self, exchange: HttpExchange) -> Any:
        """Give the decoded body.

        Raises:
            UndecodableError: it is no JSON, or over a bound.
        """
        _check_has_json(exchange.head)
        return self._decoded(await exchange.read_body(MAX_MESSAGE_BYTES))

    def _decoded(self, body: bytes) -> Any:
        """Decode a body, if there is room for what it asks.

        Raises:
            UndecodableError: it is no JSON, or over a bound.
        """
        message = self._decode(body)
        if self.is_draining:
            raise RefusedError(503, "the server is shutting down", (RETRY_AFTER, CLOSE))
        if self._runner.is_full and type(message) is dict and "id" in message:
            raise RefusedError(503, "too many calls are in flight", (RETRY_AFTER,))
        return message

    async def _answer_undecodable(self, exchange: HttpExchange, error: UndecodableError) -> None:
        protocol = ServerProtocol(self._offering)
        protocol.refuse(error.code, error.message, id=error.id)
        for outgoing in protocol.messages_to_send():
            await exchange.reply(outgoing.http_status, outgoing.data)

    def _assumed_session(self, exchange: HttpExchange, message: Any) -> LegacySession | None:
        """Give what is known of a legacy client where no sessions are kept: its revision."""
        if type(message) is dict and message.get("method") == "initialize":
            return None
        return LegacySession(self._named_revision(exchange), is_initialized=True)

    def _named_revision(self, exchange: HttpExchange) -> Revision:
        version = exchange.text(b"mcp-protocol-version")
        revision = ASSUMED_LEGACY if version is None else BY_NAME.get(version)
        if revision not in self._offering.legacy:
            raise RefusedError(400, "MCP-Protocol-Version names no revision that is served here")
        return revision

    async def _answer_once(
        self,
        exchange: HttpExchange,
        message: Any,
        session: LegacySession | None,
        *,
        modern: bool,
    ) -> None:
        """Answer a POST that belongs to nothing else."""
        offering = self._offering if modern else self._offering_without_sessions
        protocol = ServerProtocol(offering, session=session, encode=self._encode)
        stream = LoneStream(protocol)
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
                if not exchange.reply_at_once(stream.reply_status, stream.reply):
                    await exchange.reply(stream.reply_status, stream.reply)
            elif stream.is_sse or protocol.is_waiting(stream):
                await self._answer_later(exchange, stream)
            else:
                await exchange.reply(202)
        finally:
            self._open.remove(stream)

    async def _answer_later(self, exchange: HttpExchange, stream: LoneStream) -> None:
        """Answer when there is something to say; the client's leaving ends what it asked for."""
        protocol = stream.protocol
        self._runner.attach(protocol, stream.flush)
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
            self._runner.detach(protocol)
            self._runner.take(protocol, protocol.disconnect(stream), stream.flush)

    async def _serve_session_method(self, exchange: HttpExchange, method: str) -> None:
        has_sessions = self._has_sessions and not self._names_modern_revision(exchange)
        if not has_sessions or method not in {"GET", "DELETE"}:
            allowed = b"GET, POST, DELETE" if has_sessions else b"POST"
            raise RefusedError(405, f"{method} is not for this endpoint", ((b"allow", allowed),))
        if self.is_draining:
            raise RefusedError(503, "the server is shutting down", (RETRY_AFTER, CLOSE))
        if method == "DELETE":
            await self._sessions.delete(exchange)
        elif accepts(exchange.fields.get(b"accept"), "text/event-stream"):
            await self._sessions.get(exchange)
        else:
            raise RefusedError(406, "Accept must take text/event-stream")

    def _names_modern_revision(self, exchange: HttpExchange) -> bool:
        version = exchange.text(b"mcp-protocol-version")
        return any(revision.name == version for revision in self._offering.modern)

    async def _serve_sse(
        self, sse: SseEndpoints, exchange: HttpExchange, path: str, method: str
    ) -> None:
        if method == "POST" and not sse.opens(path):
            try:
                message = await self._read_message(exchange)
            except UndecodableError as error:
                await self._answer_undecodable(exchange, error)
                return
            await sse.post(exchange, message)
        elif method == "GET" and sse.opens(path):
            await sse.open(exchange)
        else:
            allowed = b"GET" if sse.opens(path) else b"POST"
            raise RefusedError(405, f"{method} is not for this endpoint", ((b"allow", allowed),))

    # -- from outside --------------------------------------------------------------------------

    async def housekeep(self) -> None:
        """Evict what is idle, keep open streams alive, commit slow legacy answers to events."""
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
        """Take no more requests, let calls finish, then answer the rest with an error.

        Streams that only listen end at once, in order; the others when they are answered. False
        if handlers were still at work when the time was over.
        """
        self.is_draining = True
        self._close(only_idle=True)
        all_have_ended = await self._runner.drain(timeout_seconds)
        self._close(only_idle=False)
        return all_have_ended

    def _close(self, *, only_idle: bool) -> None:
        reason = "the server is shutting down"
        for stream in list(self._open):
            protocol = stream.protocol
            if not only_idle or protocol.calls_in_flight() == 0:
                self._runner.take(protocol, protocol.close(reason), stream.flush)
                stream.flush()
        self._sessions.close(reason, only_idle=only_idle)
        if self._sse is not None:
            self._sse.close(reason, only_idle=only_idle)


def _check_has_json(head: RequestHead) -> None:
    if not head.has_json:
        raise RefusedError(415, "Content-Type must be application/json")
