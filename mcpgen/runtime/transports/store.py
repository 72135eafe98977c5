"""What a server remembers of its HTTP clients between requests, behind one small interface.

Memory is its first form. A store that several processes share keeps the same promises: a session
is JSON (`LegacySession.to_json`), an event is bytes under (session, stream, number), a change is
two strings.
"""

from __future__ import annotations

import math
import secrets
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from mcpgen.runtime.protocol.messages import Change
from mcpgen.runtime.protocol.session import LegacySession

Listener = Callable[[Change], None]


@dataclass(slots=True)
class StoredSession:
    """A legacy session as it is found by its id."""

    id: str
    principal: str  # who opened it; "" where nobody is authenticated
    state: LegacySession
    last_used: float  # of the caller's clock, in seconds


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """One message of a stream, kept for a client that lost its connection."""

    number: int
    data: bytes
    is_last: bool
    stored_at: float


class StoreFullError(Exception):
    """There are as many sessions as there may be; `retry_after_seconds` says when to come again."""

    def __init__(self, retry_after_seconds: int) -> None:
        super().__init__("no more sessions can be opened")
        self.retry_after_seconds = retry_after_seconds


class Store(Protocol):
    """Sessions, events for replay, and changes for whoever listens. `now` is the caller's clock."""

    async def open_session(self, state: LegacySession, principal: str, now: float) -> StoredSession:
        """Keep a new session under an id that cannot be guessed (128 bits, visible ASCII).

        Raises:
            StoreFullError: there is no room.
        """
        ...

    async def find_session(
        self, session_id: str, principal: str, now: float
    ) -> StoredSession | None:
        """Give a session to the one who opened it, and count it as used; None for anybody else."""
        ...

    async def save_session(self, session: StoredSession) -> None:
        """Keep what `session.state` has become."""
        ...

    async def end_session(self, session_id: str) -> None:
        """Forget a session and its events at once."""
        ...

    async def evict(self, now: float) -> list[str]:
        """Forget what is too old; gives the ids of the sessions that ended so."""
        ...

    def append_event(self, session_id: str, stream_id: str, event: StoredEvent) -> None:
        """Keep an event for replay. Returns at once: a remote store writes behind, in order."""
        ...

    async def events_after(
        self, session_id: str, stream_id: str, number: int
    ) -> list[StoredEvent] | None:
        """Give the kept events of one stream above `number`; None where there is no such stream."""
        ...

    def publish(self, change: Change) -> None:
        """Tell every listener, in every process that shares the store."""
        ...

    def subscribe(self, listener: Listener) -> None:
        """Have `listener` called for each change from now on."""
        ...


@dataclass(slots=True)
class _Entry:
    session: StoredSession
    streams: dict[str, deque[StoredEvent]] | None = None  # made by the first event


@dataclass(slots=True)
class MemoryStore:
    """The store of a single process."""

    max_sessions: int = 10_000
    idle_seconds: float = 1800.0
    max_events: int = 100  # a stream
    max_event_bytes: int = 4 * 1024 * 1024  # a stream; its newest event is always kept
    max_streams: int = 32  # a session
    event_seconds: float = 300.0
    _entries: OrderedDict[str, _Entry] = field(default_factory=OrderedDict)  # least used first
    _with_events: dict[str, None] = field(default_factory=dict)  # ids, so that few are visited
    _listeners: list[Listener] = field(default_factory=list)

    async def open_session(self, state: LegacySession, principal: str, now: float) -> StoredSession:
        """Keep a new session; see `Store`."""
        if len(self._entries) >= self.max_sessions:
            oldest = next(iter(self._entries.values())).session
            wait = self.idle_seconds - (now - oldest.last_used)
            if wait > 0:
                raise StoreFullError(max(1, math.ceil(wait)))
            await self.end_session(oldest.id)
        session = StoredSession(secrets.token_urlsafe(24), principal, state, last_used=now)
        self._entries[session.id] = _Entry(session)
        return session

    async def find_session(
        self, session_id: str, principal: str, now: float
    ) -> StoredSession | None:
        """Give a session to the one who opened it; see `Store`."""
        entry = self._entries.get(session_id)
        if entry is None or entry.session.principal != principal:
            return None
        if now - entry.session.last_used >= self.idle_seconds:
            return None  # the next `evict` ends it in order
        entry.session.last_used = now
        self._entries.move_to_end(session_id)
        return entry.session

    async def save_session(self, session: StoredSession) -> None:
        """Do nothing: what `find_session` gives is the kept object itself."""

    async def end_session(self, session_id: str) -> None:
        """Forget a session and its events at once."""
        self._entries.pop(session_id, None)
        self._with_events.pop(session_id, None)

    async def evict(self, now: float) -> list[str]:
        """Forget idle sessions and old events; see `Store`."""
        idle = []
        for session_id, entry in self._entries.items():
            if now - entry.session.last_used < self.idle_seconds:
                break
            idle.append(session_id)
        for session_id in idle:
            await self.end_session(session_id)
        for session_id in list(self._with_events):
            self._evict_events(self._entries[session_id], now)
            if self._entries[session_id].streams is None:
                del self._with_events[session_id]
        return idle

    def append_event(self, session_id: str, stream_id: str, event: StoredEvent) -> None:
        """Keep an event for replay; see `Store`."""
        entry = self._entries.get(session_id)
        if entry is None:
            return
        if entry.streams is None:
            entry.streams = {}
            self._with_events[session_id] = None
        events = entry.streams.setdefault(stream_id, deque())
        events.append(event)
        while len(events) > self.max_events:
            events.popleft()
        size = sum(len(kept.data) for kept in events)
        while size > self.max_event_bytes and len(events) > 1:
            size -= len(events.popleft().data)
        if len(entry.streams) > self.max_streams:
            del entry.streams[next(iter(entry.streams))]

    async def events_after(
        self, session_id: str, stream_id: str, number: int
    ) -> list[StoredEvent] | None:
        """Give the kept events of one stream above `number`; see `Store`."""
        entry = self._entries.get(session_id)
        events = entry.streams.get(stream_id) if entry and entry.streams else None
        return None if events is None else [event for event in events if event.number > number]

    def publish(self, change: Change) -> None:
        """Tell every listener of this process."""
        for listener in list(self._listeners):
            listener(change)

    def subscribe(self, listener: Listener) -> None:
        """Have `listener` called for each change from now on."""
        self._listeners.append(listener)

    def _evict_events(self, entry: _Entry, now: float) -> None:
        streams = entry.streams or {}
        for stream_id in list(streams):
            events = streams[stream_id]
            while events and now - events[0].stored_at >= self.event_seconds:
                events.popleft()
            if not events:
                del streams[stream_id]
        entry.streams = streams or None
