"""What is on its way to one HTTP client connection: a single JSON reply, or a stream of events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeAlias

from mcpgen.runtime.protocol.messages import Outgoing
from mcpgen.runtime.transports.sse import (
    encode_event,
    encode_priming_event,
    encode_retry,
    event_id,
)
from mcpgen.runtime.transports.store import StoredEvent

MAX_UNREAD: Final = 1000  # events that wait for a client which does not read
MAX_UNREAD_BYTES: Final = 32 * 1024 * 1024  # of them, if they are several
RETRY_MS: Final = 500

AnswerLater: TypeAlias = Callable[[], Coroutine[Any, Any, None]]


class ReplyStream:
    """The answers to one POST; also the key by which the protocol core names it.

    The first message decides what it is: if it is the last one too, a JSON `reply`; else a
    stream of server-sent events, whose bytes gather in `pending` until they are written.
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
        self.is_finished = False  # nothing will be added
        self.reader = 1  # number of the connection that it is written to; 0 for none
        self._readers = 1
        self._unread_bytes = 0
        self._waiter: asyncio.Future[None] | None = None
        self._answer_later: AnswerLater | None = None
        self._later: asyncio.Task[None] | None = None
        self.watched_since = 0  # a round of whoever watches; only while it does

    def put(self, outgoing: Outgoing) -> None:
        """Take what the protocol core has for this stream."""
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
        """Commit to events, whether there is one or not."""
        if not self.is_sse:
            self.is_sse = True
            self.start_answer()

    def watch(self, answer_later: AnswerLater, since: int) -> None:
        """Have `answer_later` started if the call at work takes long or has something to say."""
        self._answer_later, self.watched_since = answer_later, since

    def start_answer(self) -> None:
        """Start to answer beside the call at work, unless that has been done or it has ended."""
        if self._answer_later is not None and self._later is None:
            self._later = asyncio.create_task(self._answer_later())

    def stop_watch(self) -> asyncio.Task[None] | None:
        """Note that the call has ended; gives the task that answers, if one was started."""
        self._answer_later = None
        return self._later

    @property
    def is_watched(self) -> bool:
        """Tell whether a call is at work whose answer is not yet awaited."""
        return self._answer_later is not None and self._later is None

    def encode(self, outgoing: Outgoing) -> bytes:
        """Give a message as an event."""
        return encode_event(outgoing.data)

    def push(self, event: bytes) -> None:
        """Add the bytes of an event for whoever is there to write them."""
        if not self.reader:
            return
        self.pending.append(event)
        self._unread_bytes += len(event)
        waiting = len(self.pending)
        if waiting > MAX_UNREAD or (waiting > 1 and self._unread_bytes > MAX_UNREAD_BYTES):
            self.detach()

    def take_pending(self) -> bytes:
        """Hand over what waits to be written, and forget it."""
        taken = b"".join(self.pending)
        self._forget_pending()
        return taken

    def _forget_pending(self) -> None:
        self.pending.clear()
        self._unread_bytes = 0

    def finish(self) -> None:
        """End the stream without another message."""
        self.is_finished = True
        self.wake()

    def detach(self) -> None:
        """Note that the client is gone, or reads too slowly to be kept."""
        self.reader = 0
        self._forget_pending()
        self.wake()

    @property
    def is_decided(self) -> bool:
        """Tell whether it is known what to answer: a reply, events, or nothing at all."""
        return self.is_sse or self.is_finished or not self.reader

    @property
    def is_ending(self) -> bool:
        """Tell whether the connection ends once `pending` is written."""
        return self.is_finished

    async def wait(self) -> None:
        """Return when something is put, or the client is gone."""
        self._waiter = asyncio.get_running_loop().create_future()
        await self._waiter

    def wake(self) -> None:
        """Let whoever waits look again."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class ResumableStream(ReplyStream):
    """A stream of a legacy session: its events have ids, and outlive the connection."""

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
        self.primes = primes  # a client of 2025-11-25 takes an event without a message
        self.is_polled = False  # the connection is to be closed although the stream goes on
        self.opened_at = now()
        self.detached_at = 0.0
        self._keep = keep
        self._now = now

    def put(self, outgoing: Outgoing) -> None:
        """Take a message; an empty one that is not the last asks the client to poll."""
        if not outgoing.data and not outgoing.is_last:
            self.release()
            return
        if self.is_sse and outgoing.is_last and not outgoing.data:
            self._keep_event(outgoing)  # a replay must see that the stream ended
        super().put(outgoing)

    def encode(self, outgoing: Outgoing) -> bytes:
        """Give a message as an event with an id, and keep it for replay."""
        self._keep_event(outgoing)
        return self.event(self.number, outgoing.data)

    def event(self, number: int, data: bytes) -> bytes:
        """Give the bytes of an event of this stream, new or replayed."""
        return encode_event(data, event_id=event_id(self.id, number))

    def become_sse(self) -> None:
        """Commit to events; the first one tells a client from where it can resume."""
        if self.is_sse or self.is_finished:
            return
        super().become_sse()
        if self.primes:
            self.push(encode_priming_event(event_id(self.id, self.number)))
        self.wake()

    def release(self) -> None:
        """Ask the client to come back for the rest: close the connection, keep the stream."""
        if not self.primes or self.is_finished:
            return
        self.become_sse()
        self.push(encode_retry(RETRY_MS))
        self.is_polled = True
        self.wake()

    @property
    def is_ending(self) -> bool:
        """Tell whether the connection ends once `pending` is written."""
        return self.is_polled or super().is_ending

    def attach(self) -> int:
        """Hand the stream to another connection, whose number is given; an older one ends."""
        self.detach()
        self._readers += 1
        self.reader = self._readers
        self.is_polled = False
        return self.reader

    def detach(self) -> None:
        """Note that nobody reads for now; what comes is kept for replay."""
        self.detached_at = self._now()
        super().detach()

    def _keep_event(self, outgoing: Outgoing) -> None:
        self.number += 1
        event = StoredEvent(self.number, outgoing.data, outgoing.is_last, self._now())
        self._keep(self.id, event)
