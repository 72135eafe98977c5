"""Sessions of Streamable HTTP that any replica serves, request by request.

What outlives a request is in the store: the session, and the events of its streams. A replica has
a `LiveSession` only while it answers a request of the session. Messages between the replicas
(`Replica`) tell the others that something in the store has changed, and carry what a client sent to
the wrong one: its answer to a request of the server, or a cancellation.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import re
from collections import deque
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final, TypeVar

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import StoreUnavailableError
from mcpgen.runtime.handlers.dispatcher import Dispatcher
from mcpgen.runtime.process.log import log
from mcpgen.runtime.protocol.jsonrpc import (
    INTERNAL_ERROR,
    Encode,
    error_message,
    parse_id,
    read_id,
)
from mcpgen.runtime.protocol.messages import Change
from mcpgen.runtime.protocol.server import ServerProtocol
from mcpgen.runtime.protocol.server_definition import ServerDefinition
from mcpgen.runtime.protocol.session import LegacySession
from mcpgen.runtime.protocol.versions import BY_NAME
from mcpgen.runtime.state.replica import Replica
from mcpgen.runtime.state.session_store import StoredSession
from mcpgen.runtime.state.shared_sessions import (
    LogEntry,
    SessionState,
    SharedSessions,
    encode_ids,
)
from mcpgen.runtime.transports.http.calls import PostedCalls
from mcpgen.runtime.transports.http.exchange import HttpError, HttpExchange
from mcpgen.runtime.transports.http.reply_stream import ReplyStream, parse_event_id
from mcpgen.runtime.transports.http.sessions import (
    REOPEN_SECONDS,
    LiveSession,
    SessionEndpoint,
    answer_slow_calls,
)
from mcpgen.runtime.transports.http.shared_streams import SharedStream, TailStream

POLL_SECONDS: Final = 1.0  # between two looks at a log, if no message arrives
TOUCH_SECONDS: Final = 60.0  # between two signs of use of a session with open streams
MARK_SECONDS: Final = 100.0  # between two marks in the log of a stream without events
STORE_SECONDS: Final = 60.0  # for an event of a client that has gone, if the store is unavailable
STORE_RETRY_SECONDS: Final = 0.5
FINISH_SECONDS: Final = 5.0  # for events that are not stored yet, at the end
END_CLAIM_SECONDS: Final = 30.0
MAX_FINISHED: Final = 1000  # elicitations that a replica remembers as finished
_STREAM_ID: Final = re.compile(r"([gp])([0-9a-f]{12})([0-9a-f]{1,12})\Z")
_GET, _POST = "g", "p"  # first character of a stream's id


class SharedLiveSession(LiveSession):
    """A session of which this replica serves a request, and its state as the store has it."""

    __slots__ = ("marked_at", "prefix", "saved", "touched_at")

    is_connection = False  # all messages are on one stream, which ends with its connection

    def __init__(
        self, stored: StoredSession, protocol: ServerProtocol, prefix: str, now: float
    ) -> None:
        """Create it; requests to the client have ids with a prefix that is used once."""
        super().__init__(stored, protocol)
        session = protocol.session
        if session is not None:
            session.request_id_prefix = prefix
        self.saved = None if session is None else SessionState.of(session)
        self.prefix = prefix
        self.touched_at = self.marked_at = now

    def refresh(self, stored: SessionState) -> None:
        """Take the state that another replica has stored, and keep the changes of this one."""
        session = self.protocol.session
        if session is None:  # another replica has got `initialize`
            session = self.protocol.session = LegacySession(BY_NAME[stored.revision])
            session.request_id_prefix = self.prefix
            stored.apply_to(session)
        else:
            now = SessionState.of(session)
            stored.merge(self.saved or now, now).apply_to(session)
        self.saved = stored


AnyLive = TypeVar("AnyLive", bound=SharedLiveSession)


class SharedLegacySessions(SessionEndpoint[SharedLiveSession]):
    """Endpoint of clients with a session, in one of several replicas."""

    def __init__(
        self,
        definition: ServerDefinition,
        dispatcher: Dispatcher,
        calls: PostedCalls,
        replica: Replica,
        encode: Encode,
        now: Callable[[], float],
    ) -> None:
        limits = dispatcher.limits
        self.shared = SharedSessions(
            replica.store,
            max_sessions=limits.max_sessions,
            max_of_client=max(1, limits.max_sessions // 2),
            idle_seconds=limits.session_timeout_seconds,
            max_events=limits.max_events,
            event_seconds=limits.event_seconds,
        )
        super().__init__(definition, dispatcher, calls, self.shared, encode, now)
        self.replica = replica
        # Stateless revisions are served only by Streamable HTTP, which checks their headers.
        self.definition_of_connections = definition.replace(revisions=definition.legacy)
        self._numbers = itertools.count(1)  # of streams and live sessions of this process
        self._tails: dict[tuple[str, str], set[TailStream]] = {}
        self._writers: set[asyncio.Task[None]] = set()
        self._finished: deque[str] = deque(maxlen=MAX_FINISHED)  # ids of elicitations
        for kind, receive in (
            ("ended", self._on_ended),
            ("changed", self._on_changed),
            ("message", self._on_message),
            ("taken", self._on_taken),
            ("watch", self._on_watch),
            ("appended", self._on_appended),
            ("announce", self._on_announce),
        ):
            replica.on(kind, receive)
        dispatcher.announce_elsewhere = self._announce_elsewhere

    # -- requests ------------------------------------------------------------------------------

    async def _answer(self, exchange: HttpExchange, live: SharedLiveSession, message: Any) -> None:
        await self.pass_on(live, message)
        await super()._answer(exchange, live, message)

    async def _reply(
        self, exchange: HttpExchange, stream: ReplyStream, status: int, body: bytes = b""
    ) -> None:
        live = self._live.get(stream.session_id) if isinstance(stream, SharedStream) else None
        if live is not None:
            await self.save(live)  # before the client sends its next request to another replica
        await exchange.reply(status, body)

    async def delete(self, exchange: HttpExchange) -> None:
        """End a session at once, in all replicas."""
        session_id = (await self._find(exchange)).id
        await self.shared.end_session(session_id)
        await self.replica.broadcast("ended", session=session_id)
        self._end(session_id, "the client ended the session")
        await exchange.reply(204)

    async def get(self, exchange: HttpExchange) -> None:
        """Open the stream for messages unrelated to a request, or resume any stream."""
        live = self._enter(await self._find(exchange), exchange.address)
        try:
            last_event_id = exchange.text(b"last-event-id")
            if last_event_id is None:
                primes = live.stored.state.revision.has_sse_polling
                stream = self._new_stream(live, None)
                tail = TailStream(live.stored.id, stream.id, primes=primes)
                await self._open_get_stream(live, stream)
            else:
                tail = await self._resume(live, last_event_id)
            await self.follow(exchange, tail)
        finally:
            self.leave(live)

    async def end(self, session_id: str, reason: str) -> None:
        """End a session at once, in all replicas."""
        self._end(session_id, reason)
        await self.shared.end_session(session_id)
        await self.replica.broadcast("ended", session=session_id)

    def find_live(self, session_id: str) -> SharedLiveSession | None:
        """Return a session of which this replica serves a request."""
        return self._live.get(session_id)

    def add_live(self, live: AnyLive) -> AnyLive:
        """Add a session of which this replica serves a request."""
        self._live[live.stored.id] = live
        return live

    async def follow(self, exchange: HttpExchange, tail: TailStream) -> None:
        """Write the events of a log to a client, until the stream ends or the client leaves."""
        key = tail.session_id, tail.stream_id
        readers = self._tails.setdefault(key, set())
        readers.add(tail)
        writing = asyncio.create_task(self._write_events(tail))
        try:
            await self._answer_later(exchange, tail)
        finally:
            writing.cancel()
            readers.discard(tail)
            if not readers:
                self._tails.pop(key, None)

    async def _open_get_stream(self, live: SharedLiveSession, stream: SharedStream) -> None:
        """Make this replica the one with the GET stream of a session."""
        session_id = live.stored.id
        if live.get_stream is not None:
            self._end_tails(session_id, live.get_stream.id)
            if live.get_stream is not stream:
                live.get_stream.finish()
        live.get_stream = stream
        stream.become_sse()
        self.dispatcher.attach(live.protocol, live.flush)
        await self.replica.broadcast("taken", session=session_id, stream=stream.id, get=True)

    async def _resume(self, live: SharedLiveSession, last_event_id: str) -> TailStream:
        """Return a reader of a stream that continues after an event."""
        stream_id, number = parse_event_id(last_event_id) or ("", 0)
        parts = _STREAM_ID.match(stream_id)
        session_id = live.stored.id
        known = parts and await self.shared.find_events_after(session_id, stream_id, number)
        if parts is None or known is None:
            raise HttpError(400, "unknown or expired Last-Event-ID")
        kind, producer, _ = parts.groups()
        if kind == _GET:
            stream = live.get_stream
            if not isinstance(stream, SharedStream) or stream.id != stream_id:
                stream = self.make_stream(live, stream_id)
            await self._open_get_stream(live, stream)
            return TailStream(session_id, stream_id, number)
        self._take_over(session_id, stream_id)
        await self.replica.broadcast("taken", session=session_id, stream=stream_id)
        if producer != self.replica.id:
            await self.replica.send(producer, "watch", session=session_id, stream=stream_id)
        return TailStream(session_id, stream_id, number)

    async def _write_events(self, tail: TailStream) -> None:
        """Pass the entries of a log to a reader as they are stored."""
        try:
            await self._follow_log(tail)
        finally:
            tail.finish()  # in any case, no client waits for a stream that is not read

    async def _follow_log(self, tail: TailStream) -> None:
        missing_since: float | None = None  # no sign of life of the producer
        loop = asyncio.get_running_loop()
        while tail.reader and not tail.is_finished:
            tail.changed.clear()
            try:
                if await self._read_log(tail) or await self._has_producer(tail):
                    missing_since = None
                elif missing_since is None:
                    missing_since = loop.time()
                elif loop.time() - missing_since >= self.replica.lease_seconds / 2:
                    await self._end_for_dead_producer(tail)
            except StoreUnavailableError:
                missing_since = None
            if not tail.is_finished:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(POLL_SECONDS):
                        await tail.changed.wait()

    async def _read_log(self, tail: TailStream) -> bool:
        """Send what is new in a log; return whether there was anything."""
        found = await self.shared.find_events_after(tail.session_id, tail.stream_id, tail.position)
        if found is None and tail.position:
            tail.finish()  # the log has expired, or was dropped for room
        for number, entry in found or ():
            tail.send(number, entry)
        return bool(found)

    async def _has_producer(self, tail: TailStream) -> bool:
        """Return whether a replica still writes to the log of a stream."""
        parts = _STREAM_ID.match(tail.stream_id)
        if parts is None or parts[1] == _GET:
            return True
        if parts[2] != self.replica.id:
            return await self.replica.is_alive(parts[2])
        live = self._live.get(tail.session_id)
        return live is not None and tail.stream_id in live.streams

    async def _end_for_dead_producer(self, tail: TailStream) -> None:
        """Store an error as the last event of a stream whose replica has died."""
        session_id, stream_id = tail.session_id, tail.stream_id
        known = await self.shared.find_events_after(session_id, stream_id, 0)
        if known and await self.shared.claim_end(session_id, stream_id, END_CLAIM_SECONDS):
            ids = known[-1][1].ids
            entry = LogEntry(self.encode(_make_end(json.loads(ids))), True, ids)
            await self.shared.append_event(session_id, stream_id, entry)
            log("warning", "a replica died during a call; its client was told so")
        tail.changed.set()

    # -- messages of other replicas ------------------------------------------------------------

    async def pass_on(self, live: SharedLiveSession, message: Any) -> None:
        """Send the parts of a message that another replica waits for to that replica."""
        protocol, session_id = live.protocol, live.stored.id
        for part in message if type(message) is list else (message,):
            if type(part) is not dict:
                continue
            if part.get("method") == "notifications/cancelled":
                params = part.get("params")
                request_id = parse_id(params.get("requestId")) if type(params) is dict else None
                if request_id is not None and request_id not in protocol.in_flight:
                    await self.replica.broadcast("message", session=session_id, message=part)
            elif "method" not in part and ("result" in part or "error" in part):
                answered = read_id(part)
                if type(answered) is str and not protocol.awaits_answer(answered):
                    replica_id = answered.partition("-")[0]
                    if replica_id != self.replica.id and len(replica_id) == len(self.replica.id):
                        await self.replica.send(
                            replica_id, "message", session=session_id, message=part
                        )

    async def _on_message(self, message: JsonObject) -> None:
        """Process what a client sent to another replica."""
        live = self._live.get(message["session"])
        if live is not None:
            events = live.protocol.receive(message["message"], modern=False)
            self.dispatcher.dispatch(live.protocol, events, live.flush)
            live.flush()

    async def _on_ended(self, message: JsonObject) -> None:
        self._end(message["session"], "the session ended")

    async def _on_changed(self, message: JsonObject) -> None:
        live = self._live.get(message["session"])
        if live is not None:
            stored = live.stored
            found = await self.shared.find_session(stored.id, stored.principal, self.now())
            if found is not None:
                live.refresh(SessionState.of(found.state))
                await self._announce_finished(live)

    async def _announce_finished(self, live: SharedLiveSession) -> None:
        """Notify a client of elicitations that ended before this replica knew of their begin."""
        session = live.protocol.session
        if session is None or not session.elicitation_ids or live.get_stream is None:
            return
        ended = set(session.elicitation_ids).intersection(self._finished)
        for elicitation_id in ended:
            live.protocol.announce(Change("elicitation", elicitation_id))
        if ended:
            live.flush()
            await self.save(live)

    async def _on_taken(self, message: JsonObject) -> None:
        """End the connections of a stream that a client resumed elsewhere."""
        session_id, stream_id = message["session"], message["stream"]
        if not message.get("get"):
            self._take_over(session_id, stream_id)
            return
        live = self._live.get(session_id)
        if live is not None and live.get_stream is not None:
            self._drop_get_stream(live)
            self._drop_if_quiet(live)

    async def _on_watch(self, message: JsonObject) -> None:
        """Notify a replica of new events of a stream from now on."""
        session_id, stream_id = message["session"], message["stream"]
        live = self._live.get(session_id)
        stream = live.streams.get(stream_id) if live is not None else None
        if isinstance(stream, SharedStream):
            stream.watchers.add(message["from"])
        await self._notify_appended(message["from"], session_id, stream_id)

    async def _on_appended(self, message: JsonObject) -> None:
        for tail in self._tails.get((message["session"], message["stream"]), ()):
            tail.changed.set()

    async def _on_announce(self, message: JsonObject) -> None:
        change = Change(message["change"], message["subject"])
        self.dispatcher.announce_here(change)
        if change.kind == "elicitation":
            self._finished.append(change.subject)
            for live in list(self._live.values()):
                await self.save(live)

    def _announce_elsewhere(self, change: Change) -> None:
        if change.kind == "elicitation":
            self._finished.append(change.subject)
            for live in list(self._live.values()):
                self.replica.begin(self.save(live))
        self.replica.begin(
            self.replica.broadcast("announce", change=change.kind, subject=change.subject)
        )

    # -- called by the server ------------------------------------------------------------------

    def open_streams(self) -> list[ReplyStream]:
        """Return the streams that may have a reader."""
        return [*super().open_streams(), *(it for tails in self._tails.values() for it in tails)]

    async def housekeep(self) -> None:
        """Keep sessions with open streams; answer slow calls with events."""
        now = self.now()
        for live in list(self._live.values()):
            answer_slow_calls(live, now)
            await self._tend(live, now)
        for session_id in await self.shared.evict(now):
            await self.replica.broadcast("ended", session=session_id)
            self._end(session_id, "the session expired")

    async def _tend(self, live: SharedLiveSession, now: float) -> None:
        stored, stream = live.stored, live.get_stream
        if live.is_connection:
            self._drop_if_quiet(live)
        elif stream is not None:
            if self._tails.get((stored.id, stream.id)):
                stream.detached_at = now
            elif now - stream.detached_at >= REOPEN_SECONDS:
                self._drop_get_stream(live)
                self._drop_if_quiet(live)
        if now - live.marked_at >= MARK_SECONDS:
            live.marked_at = now
            for each in (*live.streams.values(), live.get_stream):
                if isinstance(each, SharedStream) and each.is_sse and not each.is_closed:
                    each.store_mark()
        if now - live.touched_at >= TOUCH_SECONDS:
            if live.is_connection:
                if stream is not None and self._tails.get((stored.id, stream.id)):
                    await self.shared.add_connection(stored.id, stored.principal)
            elif await self.shared.find_session(stored.id, stored.principal, now) is None:
                self._end(stored.id, "the session expired")
            live.touched_at = now

    def close(self, reason: str, *, only_idle: bool) -> None:
        """End the GET streams and, without `only_idle`, the calls in flight.

        Clients that read the stream of a call of another replica reconnect to one that stays.
        """
        for live in list(self._live.values()):
            self.dispatcher.forget_client(live.protocol)
            if not only_idle:
                self._close_live(live, reason)
        for (session_id, stream_id), tails in list(self._tails.items()):
            found = self._live.get(session_id)
            if found is not None and (
                found.protocol.in_flight if found.is_connection else stream_id in found.streams
            ):
                continue  # `finish_writing` ends it
            if not only_idle and found is not None and found.is_connection:
                continue
            for tail in list(tails):
                tail.hand_over()

    async def finish_writing(self) -> None:
        """Wait a limited time until every event is stored, then end all streams."""
        if self._writers:
            await asyncio.wait(self._writers, timeout=FINISH_SECONDS)
        for tail in [it for tails in self._tails.values() for it in tails]:
            with contextlib.suppress(StoreUnavailableError):
                await self._read_log(tail)
            tail.hand_over()

    # -- internal ------------------------------------------------------------------------------

    def _enter(self, stored: StoredSession, address: str) -> SharedLiveSession:
        live = super()._enter(stored, address)
        live.refresh(SessionState.of(stored.state))
        return live

    def _make_live(self, stored: StoredSession, protocol: ServerProtocol) -> SharedLiveSession:
        return SharedLiveSession(stored, protocol, self.make_prefix(), self.now())

    def make_prefix(self) -> str:
        """Return a prefix of ids that nothing else uses, in any replica."""
        return f"{self.replica.id}-{next(self._numbers):x}-"

    async def save(self, live: SharedLiveSession) -> None:
        """Store what requests have changed in a session, and tell the other replicas."""
        while (session := live.protocol.session) is not None:
            before, after = live.saved, SessionState.of(session)
            if before == after:
                return
            stored = live.stored
            if before is None:
                session.request_id_prefix = live.prefix
                await self.shared.add_session(
                    stored.id, session, stored.principal, self.now(), stored.client
                )
                live.saved = after
            else:
                merged = await self.shared.change_session(stored.id, before, after)
                if merged is None:
                    return  # it has ended
                live.saved = after
                live.refresh(merged)
            await self.replica.broadcast("changed", session=stored.id)

    def _new_stream(self, live: SharedLiveSession, message: Any) -> SharedStream:
        kind = _GET if message is None else _POST
        stream_id = f"{kind}{self.replica.id}{next(self._numbers):x}"
        return self.make_stream(live, stream_id, encode_ids(message))

    def make_stream(
        self, live: SharedLiveSession, stream_id: str, ids: bytes = b"null"
    ) -> SharedStream:
        """Return a new producer of a stream, which may have events of another one."""
        stream = SharedStream(
            live.stored.id,
            stream_id,
            ids,
            partial(self._store_entry, live),
            partial(self._on_stream_end, live),
            self._begin,
            self.now,
            primes=live.stored.state.revision.has_sse_polling,
        )
        if stream_id[0] == _GET:
            stream.reader = 0  # its clients read the log
        return stream

    async def _store_entry(
        self, live: SharedLiveSession, stream: SharedStream, entry: LogEntry
    ) -> int:
        """Store an entry, after the changes of the session on which it may depend.

        Return 0 if the store is unavailable: at once if a client can get the event without it,
        else after `STORE_SECONDS`.
        """
        session_id, due = live.stored.id, self.now() + STORE_SECONDS
        while True:
            try:
                await self.save(live)
                number = await self.shared.append_event(session_id, stream.id, entry)
                break
            except StoreUnavailableError:
                if stream.reader or self.now() >= due:
                    return 0
                await asyncio.sleep(STORE_RETRY_SECONDS)
        for tail in self._tails.get((session_id, stream.id), ()):
            tail.changed.set()
        for replica_id in stream.watchers:
            with contextlib.suppress(StoreUnavailableError):  # that one looks itself
                await self._notify_appended(replica_id, session_id, stream.id)
        return number

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._writers.add(task)
        task.add_done_callback(self._writers.discard)

    def _on_stream_end(self, live: SharedLiveSession, stream: SharedStream) -> None:
        live.streams.pop(stream.id, None)
        self._drop_if_quiet(live)

    async def _notify_appended(self, replica_id: str, session_id: str, stream_id: str) -> None:
        await self.replica.send(replica_id, "appended", session=session_id, stream=stream_id)

    def _take_over(self, session_id: str, stream_id: str) -> None:
        """End the connections in this process that read a stream of a POST."""
        self._end_tails(session_id, stream_id)
        live = self._live.get(session_id)
        stream = live.streams.get(stream_id) if live is not None else None
        if stream is not None:
            stream.detach()

    def _end_tails(self, session_id: str, stream_id: str) -> None:
        for tail in self._tails.get((session_id, stream_id), ()):
            tail.finish()

    def _drop_get_stream(self, live: SharedLiveSession) -> None:
        if live.get_stream is not None:
            live.get_stream.finish()
            self._end_tails(live.stored.id, live.get_stream.id)
            live.get_stream = None
        self.dispatcher.detach(live.protocol)

    def _end(self, session_id: str, reason: str) -> None:
        live = self._live.get(session_id)
        super()._end(session_id, reason)
        if live is not None:
            self._drop_get_stream(live)


def _make_end(ids: object) -> Any:
    """Return the error for the requests that a dead replica leaves unanswered."""
    text = "the server process that ran this call has ended; it may or may not have had an effect"
    if isinstance(ids, list):
        return [error_message(INTERNAL_ERROR, text, None, parse_id(it)) for it in ids]
    return error_message(INTERNAL_ERROR, text, None, parse_id(ids))
