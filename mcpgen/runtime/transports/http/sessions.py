"""Sessions of Streamable HTTP for the revisions 2025-03-26 to 2025-11-25.

They include the GET stream, resumption and DELETE. State that outlives a request is in the store.
A `LiveSession` exists in this process only while a request of the session is being answered or
one of its streams may still be read.
"""

from __future__ import annotations

import asyncio
import itertools
import secrets
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, Generic, TypeVar

from mcpgen.runtime.handlers.dispatcher import Dispatcher
from mcpgen.runtime.protocol.jsonrpc import Encode
from mcpgen.runtime.protocol.server import ServerProtocol
from mcpgen.runtime.protocol.server_definition import ServerDefinition
from mcpgen.runtime.protocol.versions import BY_NAME
from mcpgen.runtime.state.session_store import MemorySessions, SessionStore, StoredSession
from mcpgen.runtime.transports.http.calls import PostedCalls
from mcpgen.runtime.transports.http.exchange import HttpError, HttpExchange
from mcpgen.runtime.transports.http.reply_stream import (
    RETRY,
    ReplyStream,
    ResumableStream,
    encode_event,
    format_event_id,
    parse_event_id,
)
from mcpgen.runtime.transports.http.request_head import Header

SESSION_ID: Final = b"mcp-session-id"
STREAM_AFTER_SECONDS: Final = 2.0
"""A longer call is answered with events, so that the client can fetch its result again."""
REOPEN_SECONDS: Final = 300.0
"""Time for which messages are stored for a client whose GET stream broke."""


class LiveSession:
    """A session that is in use in this process."""

    __slots__ = ("get_stream", "protocol", "stored", "streams", "users")

    def __init__(self, stored: StoredSession, protocol: ServerProtocol) -> None:
        self.stored = stored
        self.protocol = protocol
        self.streams: dict[str, ResumableStream] = {}  # of POSTs that are not fully answered
        self.get_stream: ResumableStream | None = None
        self.users = 0  # requests being served

    def flush(self) -> None:
        """Pass each outgoing message to the one stream that it belongs to."""
        for outgoing in self.protocol.messages_to_send():
            stream = outgoing.stream
            if stream is None:
                stream = self.get_stream
            if isinstance(stream, ResumableStream):
                stream.put(outgoing)
                if stream.is_finished:
                    self.streams.pop(stream.id, None)

    @property
    def is_quiet(self) -> bool:
        """Whether only the store needs to keep the session."""
        return not (self.users or self.streams or self.get_stream)


LiveT = TypeVar("LiveT", bound=LiveSession)


class SessionEndpoint(Generic[LiveT]):
    """Endpoint of clients with a session, without its streams: opening, POST and DELETE.

    `LegacySessions` is the one of a single process, `SharedLegacySessions` that of a replica.
    """

    def __init__(
        self,
        definition: ServerDefinition,
        dispatcher: Dispatcher,
        calls: PostedCalls,
        store: SessionStore,
        encode: Encode,
        now: Callable[[], float],
    ) -> None:
        self._definition = definition
        self.dispatcher = dispatcher
        self._calls = calls
        self._store = store
        self.encode = encode
        self.now = now
        self._live: dict[str, LiveT] = {}

    async def post(self, exchange: HttpExchange, message: Any) -> None:
        """Answer a POST; `initialize` without a session opens one."""
        if SESSION_ID not in exchange.fields:
            await self._open(exchange, message)
            return
        live = self._enter(await self._find(exchange), exchange.address)
        try:
            await self._answer(exchange, live, message)
        finally:
            self.leave(live)

    async def _open(self, exchange: HttpExchange, message: Any) -> None:
        is_request = type(message) is dict and "id" in message
        if not is_request or message.get("method") != "initialize":
            raise HttpError(400, "missing header Mcp-Session-Id: send `initialize` first")
        version = exchange.text(b"mcp-protocol-version")
        if version is not None and BY_NAME.get(version) not in self._definition.legacy:
            raise HttpError(400, "unsupported revision in the header MCP-Protocol-Version")
        protocol = ServerProtocol(self._definition, encode=self.encode)
        protocol.receive(message, stream=exchange, access=exchange.access)
        headers: tuple[Header, ...] = ()
        if protocol.session is not None:
            stored = await self._store.open_session(
                protocol.session,
                exchange.principal,
                self.now(),
                exchange.principal or exchange.address,
            )
            headers = ((SESSION_ID, stored.id.encode()),)
        for outgoing in protocol.messages_to_send():
            await exchange.reply(outgoing.http_status, outgoing.data, headers)

    async def _answer(self, exchange: HttpExchange, live: LiveT, message: Any) -> None:
        protocol = live.protocol
        stream = self._new_stream(live, message)
        events = protocol.receive(
            message, stream=stream, headers=exchange.head.routing, access=exchange.access
        )
        if protocol.session is not None:
            live.stored.state = protocol.session  # a second `initialize` has changed it
        if protocol.is_waiting(stream):
            live.streams[stream.id] = stream
        answer_later = partial(self._answer_later, exchange, stream)
        await self._calls.run(protocol, events, stream, live.flush, answer_later)
        later = stream.stop_watch()
        if later is not None:
            await later
        elif stream.reply:
            await self._reply(exchange, stream, stream.reply_status, stream.reply)
        elif stream.is_sse or protocol.is_waiting(stream):
            await self._answer_later(exchange, stream)
        else:
            await self._reply(exchange, stream, 202)

    def _reply(
        self,
        exchange: HttpExchange,
        stream: ReplyStream,  # noqa: ARG002  (for sessions that other processes serve too)
        status: int,
        body: bytes = b"",
    ) -> Awaitable[None]:
        """Answer a POST with a single response."""
        return exchange.reply(status, body)

    async def _answer_later(
        self, exchange: HttpExchange, stream: ReplyStream, reader: int = 1
    ) -> None:
        """Write the answers. A disconnect cancels nothing: the client may resume the stream."""
        watch = asyncio.create_task(exchange.watch(stream, reader))
        try:
            while not stream.is_decided:
                await stream.wait()
            if stream.reply:
                await self._reply(exchange, stream, stream.reply_status, stream.reply)
            elif stream.reader == reader:
                await exchange.reply_events(stream, reader)
        finally:
            watch.cancel()
            if stream.reader == reader:
                stream.detach()

    async def delete(self, exchange: HttpExchange) -> None:
        """End a session at once."""
        stored = await self._find(exchange)
        await self._store.end_session(stored.id)
        self._end(stored.id, "the client ended the session")
        await exchange.reply(204)

    # -- called by the server ------------------------------------------------------------------

    def open_streams(self) -> list[ReplyStream]:
        """Return the streams that may have a reader."""
        streams: list[ReplyStream] = []
        for live in self._live.values():
            streams += live.streams.values()
            if live.get_stream is not None:
                streams.append(live.get_stream)
        return streams

    def close(self, reason: str, *, only_idle: bool) -> None:
        """End the GET streams and, without `only_idle`, the calls in flight.

        Calls that wait for an answer of the client stop waiting: no request can bring it now.
        """
        for live in list(self._live.values()):
            self.dispatcher.forget_client(live.protocol)
            if live.get_stream is not None:
                live.get_stream.finish()
            if not only_idle:
                self._close_live(live, reason)

    async def finish_writing(self) -> None:
        """Wait a limited time until every event is stored."""

    def _end(self, session_id: str, reason: str) -> None:
        live = self._live.pop(session_id, None)
        if live is not None:
            self._close_live(live, reason)

    def _close_live(self, live: LiveT, reason: str) -> None:
        self.dispatcher.dispatch(live.protocol, live.protocol.close(reason), live.flush)
        self.dispatcher.detach(live.protocol)
        live.flush()
        if live.get_stream is not None:
            live.get_stream.finish()

    # -- internal ------------------------------------------------------------------------------

    async def _find(self, exchange: HttpExchange) -> StoredSession:
        session_id = exchange.text(SESSION_ID)
        if session_id is None:
            raise HttpError(400, "missing header Mcp-Session-Id")
        stored = await self._store.find_session(session_id, exchange.principal, self.now())
        if stored is None:
            raise HttpError(404, "unknown session: send `initialize` to open one")
        version = exchange.text(b"mcp-protocol-version")
        if version is not None and version != stored.state.revision.name:
            raise HttpError(
                400, f"MCP-Protocol-Version must be {stored.state.revision.name}, as negotiated"
            )
        return stored

    def _enter(self, stored: StoredSession, address: str) -> LiveT:
        live = self._live.get(stored.id)
        if live is None:
            protocol = ServerProtocol(
                self._definition, session=stored.state, encode=self.encode, address=address
            )
            live = self._live[stored.id] = self._make_live(stored, protocol)
        live.users += 1
        return live

    def leave(self, live: LiveT) -> None:
        """Record that a request of a session is answered."""
        live.users -= 1
        self._drop_if_quiet(live)

    def _drop_if_quiet(self, live: LiveT) -> None:
        if live.is_quiet and self._live.get(live.stored.id) is live:
            del self._live[live.stored.id]

    def _make_live(self, stored: StoredSession, protocol: ServerProtocol) -> LiveT:
        raise NotImplementedError

    def _new_stream(self, live: LiveT, message: Any) -> ResumableStream:
        """Return the stream for the answers to a message; None is the GET stream."""
        raise NotImplementedError


class LegacySessions(SessionEndpoint[LiveSession]):
    """Endpoint of clients with a session, all of whose requests this process serves."""

    def __init__(
        self,
        definition: ServerDefinition,
        dispatcher: Dispatcher,
        calls: PostedCalls,
        store: MemorySessions,
        encode: Encode,
        now: Callable[[], float],
    ) -> None:
        super().__init__(definition, dispatcher, calls, store, encode, now)
        self._events = store
        prefix = secrets.token_hex(3)
        self._stream_ids = (f"{prefix}{number:x}" for number in itertools.count())

    async def get(self, exchange: HttpExchange) -> None:
        """Open the stream for messages unrelated to a request, or resume any stream."""
        live = self._enter(await self._find(exchange), exchange.address)
        try:
            last_event_id = exchange.text(b"last-event-id")
            if last_event_id is None:
                if live.get_stream is not None:
                    live.get_stream.finish()
                stream = live.get_stream = self._new_stream(live, None)
                stream.become_sse()
                self.dispatcher.attach(live.protocol, live.flush)
                await self._answer_later(exchange, stream)
            else:
                await self._answer_later(exchange, *await self._resume(live, last_event_id))
        finally:
            self.leave(live)

    async def _resume(self, live: LiveSession, last_event_id: str) -> tuple[ReplyStream, int]:
        """Return a stream that continues after an event, and the number of its new reader."""
        stream_id, number = parse_event_id(last_event_id) or ("", 0)
        stream = live.streams.get(stream_id)
        if live.get_stream is not None and live.get_stream.id == stream_id:
            stream = live.get_stream
        if stream is not None:
            reader, newest = stream.attach(), stream.number
            kept = await self._events.find_events_after(live.stored.id, stream_id, number) or []
            replayed = [
                stream.encode_numbered(it.number, it.data) for it in kept if it.number <= newest
            ]
            stream.pending[:0] = replayed
            return stream, reader
        events = await self._events.find_events_after(live.stored.id, stream_id, number)
        if events is None:
            raise HttpError(400, "unknown or expired Last-Event-ID")
        ended = ReplyStream()
        for it in events:
            if it.data:
                ended.push(encode_event(it.data, event_id=format_event_id(stream_id, it.number)))
        if events and not events[-1].is_last:
            ended.push(RETRY)  # another process continues it
        ended.finish()
        return ended, ended.reader

    async def housekeep(self) -> None:
        """Evict idle sessions and abandoned streams; answer slow calls with events."""
        now = self.now()
        for live in list(self._live.values()):
            await self._store.find_session(live.stored.id, live.stored.principal, now)  # it is used
            answer_slow_calls(live, now)
            stream_of_get = live.get_stream
            if stream_of_get is not None and not stream_of_get.reader:
                if now - stream_of_get.detached_at >= REOPEN_SECONDS:
                    live.get_stream = None
                    self.dispatcher.detach(live.protocol)
                self._drop_if_quiet(live)
        for session_id in await self._store.evict(now):
            self._end(session_id, "the session expired")

    def _make_live(self, stored: StoredSession, protocol: ServerProtocol) -> LiveSession:
        return LiveSession(stored, protocol)

    def _new_stream(self, live: LiveSession, message: Any) -> ResumableStream:  # noqa: ARG002
        return ResumableStream(
            next(self._stream_ids),
            partial(self._events.append_event, live.stored.id),
            self.now,
            primes=live.stored.state.revision.has_sse_polling,
        )


def answer_slow_calls(live: LiveSession, now: float) -> None:
    """Answer with events what takes long, so that a client can fetch its result again."""
    for stream in live.streams.values():
        if now - stream.opened_at >= STREAM_AFTER_SECONDS:
            stream.become_sse()
