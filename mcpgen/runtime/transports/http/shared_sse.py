"""HTTP+SSE transport of MCP 2024-11-05 in one of several replicas.

The replica with a client's event stream reads a log of the store; the replicas that get its POST
requests write their answers to that log.
"""

from __future__ import annotations

import secrets
from typing import Any
from urllib.parse import parse_qs

from mcpgen.runtime.protocol.messages import Outgoing
from mcpgen.runtime.protocol.server import ServerProtocol
from mcpgen.runtime.protocol.session import LegacySession
from mcpgen.runtime.protocol.versions import REVISION_2024_11_05
from mcpgen.runtime.state.session_store import StoredSession
from mcpgen.runtime.state.shared_sessions import SessionState
from mcpgen.runtime.transports.http.exchange import HttpError, HttpExchange
from mcpgen.runtime.transports.http.legacy_sse import (
    MAX_CALLS,
    MESSAGES_PATH,
    SESSION,
    SSE_PATH,
)
from mcpgen.runtime.transports.http.reply_stream import ReplyStream, encode_event
from mcpgen.runtime.transports.http.request_head import accepts
from mcpgen.runtime.transports.http.shared_sessions import SharedLegacySessions, SharedLiveSession
from mcpgen.runtime.transports.http.shared_streams import SharedStream, TailStream


class SseSession(SharedLiveSession):
    """The client of an event stream, in a replica that answers one of its messages."""

    __slots__ = ()

    is_connection = True

    def flush(self) -> None:
        """Write all messages to the stream, which no answer ends."""
        for outgoing in self.protocol.messages_to_send():
            if outgoing.data and isinstance(self.get_stream, SharedStream):
                self.get_stream.put(Outgoing(outgoing.data))

    @property
    def is_quiet(self) -> bool:
        """Whether only the store needs to keep the session."""
        stream = self.get_stream
        is_stored = not isinstance(stream, SharedStream) or stream.is_stored
        return is_stored and not (self.users or self.protocol.in_flight)


class SharedSseEndpoints:
    """The endpoints `/sse` and `/messages`, in one of several replicas."""

    def __init__(self, sessions: SharedLegacySessions) -> None:
        self._sessions = sessions
        self._open: dict[HttpExchange, SseSession] = {}

    async def open(self, exchange: HttpExchange) -> None:
        """Open a stream and write to it until the client disconnects, which cancels its calls."""
        if not accepts(exchange.fields.get(b"accept"), "text/event-stream"):
            raise HttpError(406, "the Accept header must include text/event-stream")
        sessions = self._sessions
        session_id = f"{sessions.replica.id}.{secrets.token_urlsafe(24)}"
        await sessions.shared.add_connection(session_id, exchange.principal)
        live = self._enter(session_id, None, exchange)
        tail = TailStream(session_id, _make_stream_id(session_id), is_numbered=False)
        endpoint = f"{exchange.root_path}{MESSAGES_PATH}?{SESSION}={session_id}"
        tail.push(encode_event(endpoint.encode(), event=b"endpoint"))
        sessions.dispatcher.attach(live.protocol, live.flush)
        self._open[exchange] = live
        try:
            await sessions.follow(exchange, tail)
        finally:
            del self._open[exchange]
            live.users -= 1
            await sessions.end(session_id, "the client closed its stream")

    async def post(self, exchange: HttpExchange, message: Any) -> None:
        """Process a message; its answers are written to the stream."""
        query = parse_qs(exchange.head.query, max_num_fields=10)
        session_id, principal = query.get(SESSION, [""])[0], exchange.principal
        shared = self._sessions.shared
        if not await shared.has_connection(session_id, principal):
            raise HttpError(404, f"unknown session: open one with GET {SSE_PATH}")
        stored = await shared.find_session(session_id, principal, 0.0)
        live = self._enter(session_id, stored, exchange)
        try:
            await self._process(exchange, live, message)
        finally:
            self._sessions.leave(live)

    async def _process(self, exchange: HttpExchange, live: SseSession, message: Any) -> None:
        sessions, protocol = self._sessions, live.protocol
        is_full = sessions.dispatcher.is_full or len(protocol.in_flight) >= MAX_CALLS
        if is_full and type(message) is dict and "id" in message and "method" in message:
            raise HttpError(503, "too many calls are in flight", ((b"retry-after", b"1"),))
        await sessions.pass_on(live, message)
        events = protocol.receive(message, access=exchange.access)
        await sessions.save(live)
        sessions.dispatcher.dispatch(protocol, events, live.flush)
        await exchange.reply(202)
        live.flush()

    def has_calls(self, exchange: HttpExchange) -> bool:
        """Return whether this replica runs a call of a stream."""
        live = self._open.get(exchange)
        return live is not None and bool(live.protocol.in_flight)

    def open_streams(self) -> list[ReplyStream]:
        """Return no streams: the sessions return them."""
        return []

    def close(self, reason: str, *, only_idle: bool) -> None:
        """Do nothing: the sessions close their connections."""

    def _enter(
        self, session_id: str, stored: StoredSession | None, exchange: HttpExchange
    ) -> SseSession:
        sessions = self._sessions
        live = sessions.find_live(session_id)
        if not isinstance(live, SseSession):
            protocol = ServerProtocol(
                sessions.definition_of_connections,
                session=None if stored is None else stored.state,
                encode=sessions.encode,
                address=exchange.address,
            )
            live = sessions.add_live(self._make_live(session_id, stored, exchange, protocol))
        if stored is not None:
            live.refresh(SessionState.of(stored.state))
        live.users += 1
        return live

    def _make_live(
        self,
        session_id: str,
        stored: StoredSession | None,
        exchange: HttpExchange,
        protocol: ServerProtocol,
    ) -> SseSession:
        principal = exchange.principal
        known = stored or StoredSession(
            session_id,
            principal,
            LegacySession(REVISION_2024_11_05),
            principal or exchange.address,
            last_used=0.0,
        )
        live = SseSession(known, protocol, self._sessions.make_prefix(), self._sessions.now())
        stream = self._sessions.make_stream(live, _make_stream_id(session_id))
        stream.is_sse = True
        stream.watchers.add(_find_reader(session_id))
        live.get_stream = stream
        return live


def _find_reader(session_id: str) -> str:
    """Return the id of the replica that has the connection."""
    return session_id.partition(".")[0]


def _make_stream_id(session_id: str) -> str:
    return f"g{_find_reader(session_id)}0"
