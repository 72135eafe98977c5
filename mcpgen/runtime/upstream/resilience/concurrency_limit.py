"""Limit on the concurrent requests to one origin, shared fairly among callers."""

from __future__ import annotations

import asyncio
from collections import deque

from mcpgen.runtime.upstream.errors import OverloadedError

MAX_CONCURRENT = 100
MAX_WAITING = 200
SHARE_OF_FREE = 4
"""A caller may have at most this many times as many requests under way as there are free slots.

A single caller gets 80 of 100 slots and two callers get 44 each, so the next caller always finds
a free slot.
"""


class ConcurrencyLimit:
    """Limit on concurrent requests, with a queue that callers share fairly.

    Callers take turns. If the queue is full, a caller with fewer waiting requests displaces the
    last request of the caller that has the most. The caller "" is the only one and may use all.
    """

    def __init__(self, concurrent: int = MAX_CONCURRENT, waiting: int = MAX_WAITING) -> None:
        self._free = concurrent
        self._max_waiting = waiting
        self._waiting = 0
        self._under_way: dict[str, int] = {}  # by caller; no zeros
        self._queues: dict[str, deque[asyncio.Future[None]]] = {}  # by caller, in order of turns

    @property
    def is_idle(self) -> bool:
        """Whether no request is under way or waiting."""
        return not self._under_way and not self._queues

    async def acquire(self, caller: str = "") -> None:
        """Wait for a slot; `release` returns it.

        Raises:
            OverloadedError: the queue is full, or another caller displaced this request.
        """
        # A caller with waiting requests fails this test: `release` starts every one that may.
        if self._may_start(caller):
            self._start(caller)
            return
        if self._waiting >= self._max_waiting:
            self._displace_for(caller)
        waiter = asyncio.get_running_loop().create_future()
        self._queues.setdefault(caller, deque()).append(waiter)
        self._waiting += 1
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.done() or waiter.cancelled():
                self._leave_queue(caller, waiter)
            elif waiter.exception() is None:
                self.release(caller)  # the slot was granted at the same moment
            raise

    def release(self, caller: str = "") -> None:
        """Return a slot, and start the waiting requests that can use it."""
        self._free += 1
        remaining = self._under_way[caller] - 1
        if remaining:
            self._under_way[caller] = remaining
        else:
            del self._under_way[caller]
        while self._queues:
            turn = next((name for name in self._queues if self._may_start(name)), None)
            if turn is None:
                break
            self._start_next(turn)

    def _may_start(self, caller: str) -> bool:
        if not caller:
            return self._free > 0
        return self._under_way.get(caller, 0) < self._free * SHARE_OF_FREE

    def _start(self, caller: str) -> None:
        self._free -= 1
        self._under_way[caller] = self._under_way.get(caller, 0) + 1

    def _start_next(self, caller: str) -> None:
        """Start the first waiting request of a caller, whose next turn comes after all others."""
        queue = self._queues.pop(caller)
        waiter = queue.popleft()
        self._waiting -= 1
        if queue:
            self._queues[caller] = queue
        if not waiter.done():
            self._start(caller)
            waiter.set_result(None)

    def _leave_queue(self, caller: str, waiter: asyncio.Future[None]) -> None:
        queue = self._queues.get(caller)
        if queue is None or waiter not in queue:
            return  # its turn came after it was cancelled
        queue.remove(waiter)
        self._waiting -= 1
        if not queue:
            del self._queues[caller]

    def _displace_for(self, caller: str) -> None:
        """Make room in a full queue for a caller that has less than its share.

        Raises:
            OverloadedError: the caller already has its share.
        """
        lengths = {name: len(queue) for name, queue in self._queues.items()}
        longest = max(lengths, key=lengths.__getitem__, default="")
        if lengths.get(longest, 0) <= lengths.get(caller, 0) + 1:
            raise _make_queue_full_error()
        waiter = self._queues[longest].pop()
        self._waiting -= 1
        if not waiter.done():
            waiter.set_exception(_make_queue_full_error())


def _make_queue_full_error() -> OverloadedError:
    return OverloadedError(
        "was not sent: too many calls to this API are in progress. Try again in a moment."
    )
