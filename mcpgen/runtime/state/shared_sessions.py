"""Sessions and events for replay in a `Store`, shared by the replicas of a server."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from mcpgen.contract.limits import DEFAULT_LIMITS
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.protocol.session import MAX_OPEN_ELICITATIONS, LegacySession
from mcpgen.runtime.protocol.versions import BY_NAME
from mcpgen.runtime.state.session_store import StoredSession
from mcpgen.runtime.state.store import Store, StoreUnavailableError

MAX_IDS_BYTES: Final = 4096  # of the ids of a stream's requests, as JSON
CONNECTION_SECONDS: Final = 180.0
"""Time for which a connection counts as open after its last sign of life."""
_SLOT_SECONDS: Final = 30 * 86_400.0
_TOUCH_SECONDS: Final = 60.0  # between two renewals of a session's time to live
_MAX_ATTEMPTS: Final = 20  # to change a session that other requests change, too
_SESSION_ID: Final = re.compile(r"[A-Za-z0-9_.-]{22,64}\Z")


class SessionState(NamedTuple):
    """The part of a session that requests can change."""

    revision: str
    client_capabilities: JsonObject
    is_initialized: bool
    log_level: str
    subscribed_uris: frozenset[str]
    elicitation_ids: tuple[str, ...]

    @classmethod
    def of(cls, session: LegacySession) -> SessionState:
        """Return the present state of a session."""
        return cls(
            session.revision.name,
            session.client_capabilities,
            session.is_initialized,
            session.log_level,
            session.subscribed_uris,
            session.elicitation_ids,
        )

    def apply_to(self, session: LegacySession) -> None:
        """Copy this state to a session object, which handlers may be using."""
        session.revision = BY_NAME[self.revision]
        session.client_capabilities = self.client_capabilities
        session.is_initialized = self.is_initialized
        session.log_level = self.log_level
        session.subscribed_uris = self.subscribed_uris
        session.elicitation_ids = self.elicitation_ids

    def merge(self, before: SessionState, after: SessionState) -> SessionState:
        """Apply the changes between two other states to this one."""
        removed = before.subscribed_uris - after.subscribed_uris
        added = after.subscribed_uris - before.subscribed_uris
        finished = set(before.elicitation_ids) - set(after.elicitation_ids)
        begun = tuple(it for it in after.elicitation_ids if it not in before.elicitation_ids)
        still_open = tuple(it for it in self.elicitation_ids if it not in {*finished, *begun})
        return SessionState(
            after.revision if after.revision != before.revision else self.revision,
            after.client_capabilities
            if after.client_capabilities != before.client_capabilities
            else self.client_capabilities,
            after.is_initialized
            if after.is_initialized != before.is_initialized
            else self.is_initialized,
            after.log_level if after.log_level != before.log_level else self.log_level,
            self.subscribed_uris - removed | added,
            (*still_open, *begun)[-MAX_OPEN_ELICITATIONS:],
        )


@dataclass(frozen=True, slots=True)
class LogEntry:
    """An entry of a stream's log: an event, or the mark of a stream that has no event yet."""

    data: bytes
    is_last: bool = False
    ids: bytes = b"null"  # of the requests that the stream answers, as JSON

    def encode(self) -> bytes:
        """Encode the entry; the ids and the data contain no line break."""
        return b"%b%b\n%b" % (b"." if self.is_last else b"-", self.ids, self.data)

    @classmethod
    def decode(cls, entry: bytes) -> LogEntry:
        """Decode an entry."""
        head, _, data = entry.partition(b"\n")
        return cls(data, head[:1] == b".", head[1:])


class _Record(NamedTuple):
    principal: str
    client: str
    touched: int  # when its time to live was renewed, in seconds since the epoch
    state: SessionState

    def encode(self) -> bytes:
        state = self.state._asdict()
        state["subscribed_uris"] = sorted(self.state.subscribed_uris)
        return json.dumps([self.principal, self.client, self.touched, state]).encode()

    @classmethod
    def decode(cls, record: bytes) -> _Record:
        principal, client, touched, state = json.loads(record)
        state["subscribed_uris"] = frozenset(state["subscribed_uris"])
        state["elicitation_ids"] = tuple(state["elicitation_ids"])
        return cls(principal, client, touched, SessionState(**state))


@dataclass(slots=True)
class _StoredLog:
    """Bookkeeping of a log that this process writes."""

    session_id: str
    size: int = 0  # in bytes, at most
    is_ended: bool = False
    written_at: float = 0.0


@dataclass(slots=True)
class SharedSessions:
    """The sessions of all replicas; `MemorySessions` are those of a single process.

    Bounds: sessions and logs that are not used expire in the store. A session above
    `max_sessions` or `max_of_client` replaces the one that was opened first. Above `max_bytes`,
    a replica deletes logs that it has written, first those of the session with the most bytes.
    """

    store: Store
    max_sessions: int = DEFAULT_LIMITS.max_sessions
    max_of_client: int = 5_000
    idle_seconds: float = DEFAULT_LIMITS.session_timeout_seconds
    max_events: int = DEFAULT_LIMITS.max_events  # a stream
    max_event_bytes: int = 4 * 1024 * 1024  # a stream; its newest event is always kept
    max_streams: int = 32  # a session, in each replica
    max_bytes: int = 64 * 1024 * 1024  # of the events that this process has written
    event_seconds: float = DEFAULT_LIMITS.event_seconds
    clock: Callable[[], float] = time.time
    _logs: OrderedDict[str, _StoredLog] = field(default_factory=OrderedDict)  # by key, oldest first
    _logs_of: dict[str, dict[str, None]] = field(default_factory=dict)  # keys, by session
    _bytes: int = 0
    _ended_for_room: list[str] = field(default_factory=list)

    # -- sessions ------------------------------------------------------------------------------

    async def open_session(
        self, state: LegacySession, principal: str, now: float, client: str = ""
    ) -> StoredSession:
        """Store a new session under an id that cannot be guessed.

        If there is no room, another session ends, and `evict` returns its id.
        """
        return await self.add_session(secrets.token_urlsafe(24), state, principal, now, client)

    async def add_session(
        self, session_id: str, state: LegacySession, principal: str, now: float, client: str
    ) -> StoredSession:
        """Store a new session under this id."""
        ended = await self._take_slot(session_id, client)
        if ended:
            await self.end_session(ended)
            self._ended_for_room.append(ended)
        record = _Record(principal, client, int(self.clock()), SessionState.of(state))
        await self.store.put(_session_key(session_id), record.encode(), self.idle_seconds)
        return StoredSession(session_id, principal, state, client, last_used=now)

    async def find_session(
        self, session_id: str, principal: str, now: float
    ) -> StoredSession | None:
        """Return a session and mark it as used; None for a principal other than its owner."""
        if not _SESSION_ID.match(session_id):
            return None
        key = _session_key(session_id)
        stored = await self.store.get(key)
        if stored is None:
            return None
        record = _Record.decode(stored)
        if record.principal != principal:
            return None
        clock = int(self.clock())
        if abs(clock - record.touched) >= min(_TOUCH_SECONDS, self.idle_seconds / 2):
            touched = record._replace(touched=clock).encode()
            await self.store.replace(key, stored, touched, self.idle_seconds)
        session = LegacySession(BY_NAME[record.state.revision])
        record.state.apply_to(session)
        return StoredSession(session_id, principal, session, record.client, last_used=now)

    async def change_session(
        self, session_id: str, before: SessionState, after: SessionState
    ) -> SessionState | None:
        """Store the changes between two states; return the merged one, None if it has ended."""
        key = _session_key(session_id)
        for _ in range(_MAX_ATTEMPTS):
            stored = await self.store.get(key)
            if stored is None:
                return None
            record = _Record.decode(stored)
            merged = record.state.merge(before, after)
            changed = record._replace(state=merged, touched=int(self.clock())).encode()
            if await self.store.replace(key, stored, changed, self.idle_seconds):
                return merged
        raise StoreUnavailableError("a session changes too often")

    async def end_session(self, session_id: str) -> None:
        """Drop a session, and the events that this process has written, at once."""
        logs = list(self._logs_of.get(session_id, ()))
        for key in logs:
            self._forget(key)
        await self.store.delete(_session_key(session_id), _connection_key(session_id), *logs)

    # -- connections of 2024-11-05 ---------------------------------------------------------------

    async def add_connection(self, session_id: str, principal: str) -> None:
        """Store that a client's event stream is open; repeat it within `CONNECTION_SECONDS`."""
        await self.store.put(_connection_key(session_id), principal.encode(), CONNECTION_SECONDS)

    async def has_connection(self, session_id: str, principal: str) -> bool:
        """Return whether this principal has an open event stream with this id."""
        if not _SESSION_ID.match(session_id):
            return False
        return await self.store.get(_connection_key(session_id)) == principal.encode()

    # -- events --------------------------------------------------------------------------------

    async def append_event(self, session_id: str, stream_id: str, entry: LogEntry) -> int:
        """Store an event for replay and return its number in the stream."""
        key, data = _log_key(session_id, stream_id), entry.encode()
        number = await self.store.append(
            key,
            data,
            ttl_seconds=self.event_seconds,
            max_entries=self.max_events,
            max_bytes=self.max_event_bytes,
        )
        await self._count(key, session_id, len(data), is_ended=entry.is_last)
        return number

    async def find_events_after(
        self, session_id: str, stream_id: str, number: int
    ) -> list[tuple[int, LogEntry]] | None:
        """Return the stored events of a stream above `number`; None if the stream is unknown."""
        found = await self.store.read_log(_log_key(session_id, stream_id), number)
        return None if found is None else [(at, LogEntry.decode(data)) for at, data in found]

    async def claim_end(self, session_id: str, stream_id: str, seconds: float) -> bool:
        """Claim the task of ending a stream whose producer is dead; one replica gets True."""
        return await self.store.add(f"end:1:{session_id}:{stream_id}", b"1", seconds)

    async def evict(self, now: float) -> list[str]:  # noqa: ARG002  (as `SessionStore`)
        """Forget the logs that the store has dropped; return the ids of sessions that ended."""
        due = self.clock() - self.event_seconds
        while self._logs and next(iter(self._logs.values())).written_at < due:
            self._forget(next(iter(self._logs)))
        ended, self._ended_for_room = self._ended_for_room, []
        return ended

    # -- bounds --------------------------------------------------------------------------------

    async def _take_slot(self, session_id: str, client: str) -> str:
        """Occupy a slot for a session; return the id of the live session that had it, or "".

        A client above its own bound reuses one of its own slots, so it cannot end sessions of
        others.
        """
        store = self.store
        owner = hashlib.blake2b(client.encode(), digest_size=12).hexdigest()
        number = await store.count(f"opened:1:{owner}", _SLOT_SECONDS) % self.max_of_client
        own_slot = f"slot:1:{owner}:{number}"
        former = await store.take(own_slot)
        ended, _, place = former.decode().partition(" ") if former is not None else ("", "", "")
        if former is None:
            place = str(await store.count("opened:1", _SLOT_SECONDS) % self.max_sessions)
        slot = f"slot:1:{place}"
        other = await store.take(slot)
        if other is not None and not ended:
            ended = other.decode()
        await store.put(own_slot, f"{session_id} {place}".encode(), _SLOT_SECONDS)
        await store.put(slot, session_id.encode(), _SLOT_SECONDS)
        if ended and await store.get(_session_key(ended)) is not None:
            return ended
        return ""

    async def _count(self, key: str, session_id: str, size: int, *, is_ended: bool) -> None:
        """Record what this process has written, and delete logs above the bounds."""
        stored = self._logs.pop(key, None) or _StoredLog(session_id)
        before = stored.size
        stored.size = max(size, min(stored.size + size, self.max_event_bytes))
        stored.is_ended, stored.written_at = is_ended, self.clock()
        self._bytes += stored.size - before
        self._logs[key] = stored
        of_session = self._logs_of.setdefault(session_id, {})
        of_session[key] = None
        if len(of_session) > self.max_streams:
            await self._drop_one(session_id, key)
        while self._bytes > self.max_bytes and len(self._logs) > 1:
            sizes = {it: self._measure(it) for it in self._logs_of}
            await self._drop_one(max(sizes, key=lambda it: sizes[it]), key)

    def _measure(self, session_id: str) -> int:
        return sum(self._logs[key].size for key in self._logs_of[session_id])

    async def _drop_one(self, session_id: str, newest: str) -> None:
        """Delete a log of a session: an ended one if possible, the oldest of them."""
        keys = [key for key in self._logs_of[session_id] if key != newest] or [newest]
        dropped = next((key for key in keys if self._logs[key].is_ended), keys[0])
        self._forget(dropped)
        await self.store.delete(dropped)

    def _forget(self, key: str) -> None:
        stored = self._logs.pop(key)
        self._bytes -= stored.size
        of_session = self._logs_of[stored.session_id]
        del of_session[key]
        if not of_session:
            del self._logs_of[stored.session_id]


def encode_ids(message: object) -> bytes:
    """Return the ids of a message's requests as JSON: one, a list for a batch, null for none."""
    if isinstance(message, list):
        ids: object = [it["id"] for it in message if _is_request(it)]
    else:
        ids = message["id"] if isinstance(message, dict) and _is_request(message) else None
    encoded = json.dumps(ids).encode()
    return encoded if len(encoded) <= MAX_IDS_BYTES else b"null"


def _is_request(message: object) -> bool:
    return isinstance(message, dict) and "id" in message and "method" in message


def _session_key(session_id: str) -> str:
    return f"session:1:{session_id}"


def _connection_key(session_id: str) -> str:
    return f"connection:1:{session_id}"


def _log_key(session_id: str, stream_id: str) -> str:
    return f"events:1:{session_id}:{stream_id}"
