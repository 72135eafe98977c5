"""Streams of sessions that several replicas serve: each event is stored before it is sent.

The replica that runs a call writes the events of its stream to a log of the store. The connection
that brought the call gets them from a `SharedStream`; every other one, in any replica, from a
`TailStream`, which reads the log.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, TypeAlias

from mcpgen.runtime.protocol.messages import Outgoing
from mcpgen.runtime.state.session_store import StoredEvent
from mcpgen.runtime.state.shared_sessions import LogEntry
from mcpgen.runtime.transports.http.reply_stream import (
    RETRY,
    ReplyStream,
    ResumableStream,
    encode_event,
    encode_priming_event,
    format_event_id,
)

MAX_QUEUED: Final = 1000  # messages of a stream that the store has not taken
OPENED: Final = Outgoing(b"")
"""Mark of a stream that has begun, in its log before the first event."""

StoreEntry: TypeAlias = "Callable[[SharedStream, LogEntry], Awaitable[int]]"
Begin: TypeAlias = Callable[[Coroutine[Any, Any, None]], object]
"""Function that does some work in a task, and keeps the task."""


class SharedStream(ResumableStream):
    """Producer of a stream; `store_entry` stores an entry and returns its number.

    The number is 0 if the entry could not be stored; its event then has no id.
    """

    __slots__ = (
        "_begin",
        "_is_writing",
        "_on_end",
        "_queue",
        "_store_entry",
        "ids",
        "is_closed",
        "session_id",
        "watchers",
    )

    def __init__(
        self,
        session_id: str,
        stream_id: str,
        ids: bytes,
        store_entry: StoreEntry,
        on_end: Callable[[SharedStream], None],
        begin: Begin,
        now: Callable[[], float],
        *,
        primes: bool,
    ) -> None:
        super().__init__(stream_id, _keep_nothing, now, primes=primes)
        self.detached_at = self.opened_at
        self.session_id = session_id
        self.ids = ids  # of the requests that it answers, as JSON
        self.is_closed = False  # the last message was put
        self.watchers: set[str] = set()  # replicas in which a client reads the stream
        self._store_entry = store_entry
        self._on_end = on_end
        self._queue: deque[Outgoing] = deque()
        self._begin = begin
        self._is_writing = False

    def put(self, outgoing: Outgoing) -> None:
        """Add a message; an empty one that is not the last asks the client to poll."""
        if self.is_closed:
            return
        if outgoing.is_last and not self.is_sse:
            self.is_closed = True
            ReplyStream.put(self, outgoing)
        elif outgoing.data or outgoing.is_last or self.primes:
            self.become_sse()
            self.is_closed = outgoing.is_last
            self._enqueue(outgoing)

    def become_sse(self) -> None:
        """Switch to server-sent events; the log shows at once which requests are unanswered."""
        if not self.is_sse and not self.is_closed:
            ReplyStream.become_sse(self)
            self.store_mark()
            self.wake()

    def store_mark(self) -> None:
        """Store a mark, which also keeps the log from expiring."""
        self._enqueue(OPENED)

    def finish(self) -> None:
        """End the stream without another message."""
        self.is_closed = True
        super().finish()

    @property
    def is_stored(self) -> bool:
        """Whether no event waits for the store."""
        return not self._is_writing

    def _enqueue(self, outgoing: Outgoing) -> None:
        if len(self._queue) >= MAX_QUEUED and not outgoing.is_last:
            return  # the store is slower than the handler's notifications
        self._queue.append(outgoing)
        if not self._is_writing:
            self._is_writing = True
            self._begin(self._write())

    async def _write(self) -> None:
        """Store what is queued, in order, and send each event afterwards."""
        try:
            while self._queue:
                outgoing = self._queue[0]
                is_release = not (outgoing.data or outgoing.is_last or outgoing is OPENED)
                if not is_release:
                    entry = LogEntry(outgoing.data, outgoing.is_last, self.ids)
                    self.number = await self._store_entry(self, entry)
                self._queue.popleft()
                self._send(outgoing, is_release=is_release)
        finally:
            self._is_writing = False
            if self._queue:  # no client waits for events that cannot be stored
                self.finish()
                self._on_end(self)

    def _send(self, outgoing: Outgoing, *, is_release: bool) -> None:
        number = self.number
        if is_release:
            self.push(RETRY)
            self.is_polled = True
        elif outgoing.data:
            event_id = format_event_id(self.id, number) if number else ""
            self.push(encode_event(outgoing.data, event_id=event_id))
        elif outgoing is OPENED and self.primes and number == 1:
            self.push(encode_priming_event(format_event_id(self.id, number)))
        if outgoing.is_last:
            self.is_finished = True
            self._on_end(self)
        self.wake()


class TailStream(ReplyStream):
    """Reader of a stream's log, for the client that resumes the stream in this replica."""

    __slots__ = ("changed", "is_numbered", "position", "primes", "session_id", "stream_id")

    def __init__(
        self,
        session_id: str,
        stream_id: str,
        position: int = 0,
        *,
        is_numbered: bool = True,
        primes: bool = False,
    ) -> None:
        super().__init__()
        self.is_sse = True
        self.session_id = session_id
        self.stream_id = stream_id
        self.position = position  # number of the last event that was sent
        self.is_numbered = is_numbered  # events have ids
        self.primes = primes  # the first event tells the client where to resume
        self.changed = asyncio.Event()  # the log may have more

    def send(self, number: int, entry: LogEntry) -> None:
        """Send an entry of the log, once."""
        if number <= self.position or self.is_finished:
            return
        self.position = number
        if entry.data:
            event_id = format_event_id(self.stream_id, number) if self.is_numbered else ""
            self.push(encode_event(entry.data, event_id=event_id))
        elif self.primes and not entry.is_last:
            self.push(encode_priming_event(format_event_id(self.stream_id, number)))
        self.primes = False
        if entry.is_last:
            self.finish()
        self.wake()

    def hand_over(self) -> None:
        """End the connection; a client that can resume reconnects, to another replica."""
        if self.is_numbered:
            self.push(RETRY)
        self.finish()

    def finish(self) -> None:
        """End the stream without another message."""
        super().finish()
        self.changed.set()

    def detach(self) -> None:
        """Drop the output: the client has disconnected or reads too slowly."""
        super().detach()
        self.changed.set()


def _keep_nothing(_: str, __: StoredEvent) -> None:
    """Events are stored by the writer."""
