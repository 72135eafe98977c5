"""Store of HTTP sessions and of events for replay."""

from __future__ import annotations

import secrets
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import Protocol

from mcpgen.contract.limits import DEFAULT_LIMITS
from mcpgen.runtime.protocol.session import LegacySession


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """One message of a stream, kept for a client that lost its connection."""

    number: int
    data: bytes
    is_last: bool
    stored_at: float


@dataclass(slots=True)
class StoredSession:
    """A stored legacy session, with the events of its streams."""

    id: str
    principal: str  # the caller who opened it; "" without authentication
    state: LegacySession
    client: str  # key of the client that opened it
    last_used: float  # of the caller's clock, in seconds
    streams: dict[str, deque[StoredEvent]] | None = None  # made by the first event
    event_bytes: int = 0


class SessionStore(Protocol):
    """Store of sessions: `MemorySessions` of one process, `SharedSessions` of several."""

    async def open_session(
        self, state: LegacySession, principal: str, now: float, client: str = ""
    ) -> StoredSession:
        """Store a new session under an id that cannot be guessed."""

    async def find_session(
        self, session_id: str, principal: str, now: float
    ) -> StoredSession | None:
        """Return a session and mark it as used; None for a principal other than its owner."""

    async def end_session(self, session_id: str) -> None:
        """Drop a session and its events at once."""

    async def evict(self, now: float) -> list[str]:
        """Drop what is old; return the ids of sessions that ended."""


@dataclass(slots=True)
class MemorySessions:
    """The store of a single process; `now` is the caller's clock."""

    max_sessions: int = DEFAULT_LIMITS.max_sessions
    idle_seconds: float = DEFAULT_LIMITS.session_timeout_seconds
    max_events: int = DEFAULT_LIMITS.max_events  # a stream
    max_event_bytes: int = 4 * 1024 * 1024  # a stream; its newest event is always kept
    max_streams: int = 32  # a session
    max_bytes: int = 16 * 1024 * 1024  # of events, in all
    event_seconds: float = DEFAULT_LIMITS.event_seconds
    # Both have the session first that was not used for the longest time.
    _sessions: OrderedDict[str, StoredSession] = field(default_factory=OrderedDict)
    _by_client: dict[str, OrderedDict[str, None]] = field(default_factory=dict)
    _ended_for_room: list[str] = field(default_factory=list)
    _bytes: int = 0  # of events
    _with_events: dict[str, None] = field(default_factory=dict)  # ids, so that few are visited

    async def open_session(
        self, state: LegacySession, principal: str, now: float, client: str = ""
    ) -> StoredSession:
        """Store a new session under an id that cannot be guessed (128 bits, visible ASCII).

        If there is no room, the session that was not used for the longest time ends, among those
        of the client that has the most. `evict` returns its id.
        """
        if len(self._sessions) >= self.max_sessions:
            of_client = max(self._by_client.values(), key=len)
            ended = next(iter(of_client))
            await self.end_session(ended)
            self._ended_for_room.append(ended)
        session = StoredSession(secrets.token_urlsafe(24), principal, state, client, last_used=now)
        self._sessions[session.id] = session
        self._by_client.setdefault(client, OrderedDict())[session.id] = None
        return session

    async def find_session(
        self, session_id: str, principal: str, now: float
    ) -> StoredSession | None:
        """Return a session and mark it as used; None for a principal other than its owner."""
        session = self._sessions.get(session_id)
        if session is None or session.principal != principal:
            return None
        if now - session.last_used >= self.idle_seconds:
            return None  # the next `evict` ends it in order
        session.last_used = now
        self._sessions.move_to_end(session_id)
        self._by_client[session.client].move_to_end(session_id)
        return session

    async def end_session(self, session_id: str) -> None:
        """Drop a session and its events at once."""
        session = self._sessions.pop(session_id, None)
        self._with_events.pop(session_id, None)
        if session is None:
            return
        of_client = self._by_client[session.client]
        del of_client[session_id]
        if not of_client:
            del self._by_client[session.client]
        for stream_id in list(session.streams or ()):
            self._drop_stream(session, stream_id)

    async def evict(self, now: float) -> list[str]:
        """Drop old sessions and events; return the ids of sessions that ended here or for room."""
        ended, self._ended_for_room = self._ended_for_room, []
        idle = []
        for session_id, session in self._sessions.items():
            if now - session.last_used < self.idle_seconds:
                break
            idle.append(session_id)
        for session_id in idle:
            await self.end_session(session_id)
        for session_id in list(self._with_events):
            self._evict_events(self._sessions[session_id], now)
            if self._sessions[session_id].streams is None:
                del self._with_events[session_id]
        return ended + idle

    def append_event(self, session_id: str, stream_id: str, event: StoredEvent) -> None:
        """Store an event for replay."""
        session = self._sessions.get(session_id)
        if session is None:
            return
        if session.streams is None:
            session.streams = {}
            self._with_events[session_id] = None
        events = session.streams.setdefault(stream_id, deque())
        events.append(event)
        self._count(session, len(event.data))
        while len(events) > self.max_events:
            self._drop_oldest(session, events)
        size = sum(len(kept.data) for kept in events)
        while size > self.max_event_bytes and len(events) > 1:
            size -= len(events[0].data)
            self._drop_oldest(session, events)
        if len(session.streams) > self.max_streams:
            self._drop_stream(session, next(iter(session.streams)))
        while self._bytes > self.max_bytes:
            sessions = (self._sessions[it] for it in self._with_events)
            largest = max(sessions, key=lambda it: it.event_bytes)
            self._drop_stream(largest, next(iter(largest.streams or ())))

    async def find_events_after(
        self, session_id: str, stream_id: str, number: int
    ) -> list[StoredEvent] | None:
        """Return the stored events of a stream above `number`; None if the stream is unknown."""
        session = self._sessions.get(session_id)
        events = session.streams.get(stream_id) if session and session.streams else None
        return None if events is None else [event for event in events if event.number > number]

    def _evict_events(self, session: StoredSession, now: float) -> None:
        streams = session.streams or {}
        for stream_id in list(streams):
            events = streams[stream_id]
            while events and now - events[0].stored_at >= self.event_seconds:
                self._drop_oldest(session, events)
            if not events:
                del streams[stream_id]
        session.streams = streams or None

    def _drop_stream(self, session: StoredSession, stream_id: str) -> None:
        streams = session.streams or {}
        self._count(session, -sum(len(event.data) for event in streams.pop(stream_id)))

    def _drop_oldest(self, session: StoredSession, events: deque[StoredEvent]) -> None:
        self._count(session, -len(events.popleft().data))

    def _count(self, session: StoredSession, size: int) -> None:
        session.event_bytes += size
        self._bytes += size
