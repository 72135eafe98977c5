"""Output of one HTTP response: a single JSON reply, or a stream of server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeAlias

from mcpgen.contract.limits import DEFAULT_LIMITS
from mcpgen.runtime.process.memory_budget import response_budget
from mcpgen.runtime.protocol.messages import Outgoing
from mcpgen.runtime.state.session_store import StoredEvent

KEEP_ALIVE: Final = b": keep-alive\n\n"


def encode_event(data: bytes, *, event: bytes = b"message", event_id: str = "") -> bytes:
    """Encode an event. `data` must not contain line breaks; compact JSON never does."""
    head = b"id: %b\n" % event_id.encode() if event_id else b""
    return b"%bevent: %b\ndata: %b\n\n" % (head, event, data)


def encode_priming_event(event_id: str) -> bytes:
    """Encode an event without data, which tells the client where to resume (MCP 2025-11-25)."""
    return b"id: %b\ndata:\n\n" % event_id.encode()


def format_event_id(stream_id: str, number: int) -> str:
    """Format the id of event `number` of a stream; `parse_event_id` is the inverse."""
    return f"{stream_id}-{number}"


def parse_event_id(text: str) -> tuple[str, int] | None:
    """Parse an event id into stream id and number; return None if it is invalid."""
    stream_id, dash, number = text.rpartition("-")
    if not dash or not stream_id or not (number.isascii() and number.isdigit()) or len(number) > 15:
        return None
    return stream_id, int(number)


MAX_UNREAD_BYTES: Final = 16 * 1024 * 1024  # of two or more unread events
MAX_UNREAD_BYTES_IN_ALL: Final = 24 * 1024 * 1024  # of all streams above `_FEW_BYTES`
_FEW_BYTES: Final = 16 * 1024
RETRY: Final = b"retry: 500\n\n"  # the wait in milliseconds before the client reconnects

AnswerLater: TypeAlias = Callable[[], Coroutine[Any, Any, None]]


class Backlogs:
    """Unwritten bytes of all streams; above a bound, the stream with the most is detached."""

    max_events = DEFAULT_LIMITS.max_unread_events  # of one stream

    def __init__(self, max_bytes: int = MAX_UNREAD_BYTES_IN_ALL) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._by_stream: dict[ReplyStream, int] = {}

    def record(self, stream: ReplyStream, size: int) -> None:
        """Record the number of unwritten bytes of a stream."""
        change = size - self._by_stream.pop(stream, 0)
        self._bytes += change
        response_budget.change_buffered(change)
        if size:
            self._by_stream[stream] = size
        while self._bytes > self._max_bytes and len(self._by_stream) > 1:
            by_stream = self._by_stream
            max(by_stream, key=lambda it: by_stream[it]).detach()


_backlogs: Final = Backlogs()


def set_max_unread_events(count: int) -> None:
    """Set how many events of one stream may wait for a slow client, before the first stream."""
    _backlogs.max_events = count


class ReplyStream:
    """The answers to one POST, and the key under which the protocol core stores them.

    If the first message is also the last, it becomes the JSON `reply`. Otherwise the messages
    become server-sent events, which are collected in `pending` until they are written.
    """

    __slots__ = (
        "_answer_later",
        "_later",
        "_readers",
        "_unread_bytes",
        "_waiter",
        "is_finished",
        "is_sse",
        "pending",
        "reader",
        "reply",
        "reply_status",
        "watched_since",
    )

    def __init__(self) -> None:
        self.reply: bytes | None = None
        self.reply_status = 200
        self.pending: list[bytes] = []
        self.is_sse = False
        self.is_finished = False  # nothing more will be added
        self.reader = 1  # number of the connection that reads it; 0 for none
        self._readers = 1
        self._unread_bytes = 0
        self._waiter: asyncio.Future[None] | None = None
        self._answer_later: AnswerLater | None = None
        self._later: asyncio.Task[None] | None = None
        self.watched_since = 0  # round of `PostedCalls`' timer, while the call is watched

    def put(self, outgoing: Outgoing) -> None:
        """Add a message of the protocol core."""
        if self.is_finished:
            return
        if outgoing.is_last:
            self.is_finished = True
        if outgoing.is_last and not self.is_sse:
            self.reply, self.reply_status = outgoing.data, outgoing.http_status
        elif outgoing.data:
            self.become_sse()
            self.push(self.encode(outgoing))
        if self._waiter is not None:
            self.wake()

    def become_sse(self) -> None:
        """Switch to server-sent events, even before the first one."""
        if not self.is_sse:
            self.is_sse = True
            self.start_answer()

    def watch(self, answer_later: AnswerLater, since: int) -> None:
        """Start `answer_later` once the running call is slow or sends a message."""
        self._answer_later, self.watched_since = answer_later, since

    def start_answer(self) -> None:
        """Start `answer_later` beside the running call, at most once."""
        if self._answer_later is not None and self._later is None:
            self._later = asyncio.create_task(self._answer_later())

    def stop_watch(self) -> asyncio.Task[None] | None:
        """Record that the call has ended; return the task of `answer_later`, if it was started."""
        self._answer_later = None
        return self._later

    @property
    def is_watched(self) -> bool:
        """Whether a call is running for which `answer_later` was not started."""
        return self._answer_later is not None and self._later is None

    def encode(self, outgoing: Outgoing) -> bytes:
        """Encode a message as an event."""
        return encode_event(outgoing.data)

    def push(self, event: bytes) -> None:
        """Add the bytes of an event; drop them if the stream has no reader."""
        if not self.reader:
            return
        self.pending.append(event)
        self._unread_bytes += len(event)
        if self._unread_bytes > _FEW_BYTES:
            _backlogs.record(self, self._unread_bytes)
        waiting = len(self.pending)
        if waiting > _backlogs.max_events or (
            waiting > 1 and self._unread_bytes > MAX_UNREAD_BYTES
        ):
            self.detach()

    def take_pending(self) -> bytes:
        """Return the pending bytes and clear them."""
        taken = b"".join(self.pending)
        self._forget_pending()
        return taken

    def _forget_pending(self) -> None:
        self.pending.clear()
        if self._unread_bytes > _FEW_BYTES:
            _backlogs.record(self, 0)
        self._unread_bytes = 0

    def finish(self) -> None:
        """End the stream without another message."""
        self.is_finished = True
        self.wake()

    def detach(self) -> None:
        """Drop the output: the client has disconnected or reads too slowly."""
        self.reader = 0
        self._forget_pending()
        self.wake()

    @property
    def is_decided(self) -> bool:
        """Whether the form of the answer is known: a reply, events or nothing."""
        return self.is_sse or self.is_finished or not self.reader

    @property
    def is_ending(self) -> bool:
        """Whether the response ends once `pending` is written."""
        return self.is_finished

    async def wait(self) -> None:
        """Wait for a message or for the client's disconnect."""
        self._waiter = asyncio.get_running_loop().create_future()
        await self._waiter

    def wake(self) -> None:
        """Wake the task that waits."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class ResumableStream(ReplyStream):
    """A stream of a legacy session, whose events have ids and outlive the connection."""

    __slots__ = ("_keep", "_now", "detached_at", "id", "is_polled", "number", "opened_at", "primes")

    def __init__(
        self,
        stream_id: str,
        keep: Callable[[str, StoredEvent], None],
        now: Callable[[], float],
        *,
        primes: bool,
    ) -> None:
        super().__init__()
        self.id = stream_id
        self.number = 0  # of the newest event
        self.primes = primes  # whether the revision allows events without data (2025-11-25)
        self.is_polled = False  # the connection ends although the stream continues
        self.opened_at = now()
        self.detached_at = 0.0
        self._keep = keep
        self._now = now

    def put(self, outgoing: Outgoing) -> None:
        """Add a message; an empty one that is not the last asks the client to poll."""
        if not outgoing.data and not outgoing.is_last:
            self.release()
            return
        if self.is_sse and outgoing.is_last and not outgoing.data:
            self._keep_event(outgoing)  # a replay must see that the stream ended
        super().put(outgoing)

    def encode(self, outgoing: Outgoing) -> bytes:
        """Encode a message as an event with an id, and store it for replay."""
        self._keep_event(outgoing)
        return self.encode_numbered(self.number, outgoing.data)

    def encode_numbered(self, number: int, data: bytes) -> bytes:
        """Encode an event of this stream, new or replayed."""
        return encode_event(data, event_id=format_event_id(self.id, number))

    def become_sse(self) -> None:
        """Switch to server-sent events; the first one tells the client where to resume."""
        if self.is_sse or self.is_finished:
            return
        super().become_sse()
        if self.primes:
            self.push(encode_priming_event(format_event_id(self.id, self.number)))
        self.wake()

    def release(self) -> None:
        """Ask the client to reconnect for the rest: end the connection but not the stream."""
        if not self.primes or self.is_finished:
            return
        self.become_sse()
        self.push(RETRY)
        self.is_polled = True
        self.wake()

    @property
    def is_ending(self) -> bool:
        """Whether the response ends once `pending` is written."""
        return self.is_polled or super().is_ending

    def attach(self) -> int:
        """Pass the stream to a new connection and return its number; the old connection ends."""
        self.detach()
        self._readers += 1
        self.reader = self._readers
        self.is_polled = False
        return self.reader

    def detach(self) -> None:
        """Record that the stream has no reader; later events are stored for replay."""
        self.detached_at = self._now()
        super().detach()

    def _keep_event(self, outgoing: Outgoing) -> None:
        self.number += 1
        event = StoredEvent(self.number, outgoing.data, outgoing.is_last, self._now())
        self._keep(self.id, event)
