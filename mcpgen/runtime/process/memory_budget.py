"""Memory budget for large API responses, from reading them until their results are sent.

A call whose response turns out to be large reserves memory before it continues to read, and waits
for its turn if none is free. Calls with small responses never wait.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from functools import cache, partial
from typing import Any, Final, NamedTuple, ParamSpec, TypeVar

from mcpgen.contract.limits import DEFAULT_LIMITS

LARGE_RESPONSE_BYTES: Final = 256 * 1024
"""A response up to this size is read without a reservation."""
COPIES: Final = 3  # the body, the result built from it, and the intermediate values

calling_client: Final[ContextVar[str]] = ContextVar("calling_client", default="")
"""The client whose call the current task executes; clients take turns."""


class _Waiter(NamedTuple):
    size: int
    granted: asyncio.Future[None]


class MemoryBudget:
    """Budget from which clients reserve memory in turn. A reservation ends with its task.

    The task of a call ends when the transport has the result; from then on the bytes count as
    buffered, until the client has read them.
    """

    def __init__(self, max_bytes: int = DEFAULT_LIMITS.max_buffered_bytes) -> None:
        self._max_bytes = max_bytes
        self._taken_bytes = 0  # reserved or buffered
        self._by_task: dict[asyncio.Task[Any], int] = {}
        self._waiting: dict[str, deque[_Waiter]] = {}  # by client, the next one first

    def resize(self, max_bytes: int) -> None:
        """Set the size, before the first call: for large responses and for buffered output."""
        self._max_bytes = max_bytes

    @property
    def is_short(self) -> bool:
        """Whether a call waits for memory."""
        return bool(self._waiting)

    @property
    def is_reserved(self) -> bool:
        """Whether the current task has a reservation."""
        return asyncio.current_task() in self._by_task

    async def reserve(self, body_bytes: int) -> None:
        """Wait until a response of this size fits, and reserve memory for it and its result.

        A task that already has a reservation never waits: two such tasks could deadlock.
        """
        task = asyncio.current_task()
        if task is None:
            return
        size = min(COPIES * body_bytes, self._max_bytes)
        if task not in self._by_task:
            if self._waiting or not self._fits(size):
                await self._wait(size)
            else:
                self._taken_bytes += size
            task.add_done_callback(self._release)
            self._by_task[task] = size
        else:
            self._taken_bytes += size
            self._by_task[task] += size

    def change_buffered(self, change: int) -> None:
        """Add a change, positive or negative, to the bytes that are buffered for clients."""
        self._taken_bytes += change
        if change < 0 and self._waiting:
            self._grant()

    async def _wait(self, size: int) -> None:
        waiter = _Waiter(size, asyncio.get_running_loop().create_future())
        self._waiting.setdefault(calling_client.get(), deque()).append(waiter)
        try:
            await waiter.granted
        except asyncio.CancelledError:
            if not waiter.granted.cancelled():
                self._taken_bytes -= size  # granted, but the call has ended
            self._grant()
            raise

    def _grant(self) -> None:
        """Grant memory to waiting calls, one of each client in turn, until none is left."""
        while self._waiting:
            client = next(iter(self._waiting))
            waiters = self._waiting[client]
            while waiters and waiters[0].granted.done():
                waiters.popleft()  # its call was cancelled
            if waiters and not self._fits(waiters[0].size):
                return
            del self._waiting[client]
            if waiters:
                waiter = waiters.popleft()
                self._taken_bytes += waiter.size
                waiter.granted.set_result(None)
            if waiters:
                self._waiting[client] = waiters  # after the other clients

    def _fits(self, size: int) -> bool:
        return self._taken_bytes + size <= self._max_bytes or not self._taken_bytes

    def _release(self, task: asyncio.Task[Any]) -> None:
        self.change_buffered(-self._by_task.pop(task))


response_budget: Final = MemoryBudget()
"""The budget of this process."""


Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


async def run_in_worker(
    function: Callable[Parameters, Result], *args: Parameters.args, **kwargs: Parameters.kwargs
) -> Result:
    """Run a function in the single worker thread, after the functions that already wait.

    A function that has started continues even if the caller is cancelled.
    """
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_executor(), partial(function, *args, **kwargs))


@cache
def _executor() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="long-responses")


class DecodingBudget:
    """Limit on the bytes of large responses that are decoded in memory, over all calls.

    A value takes up to 8 times the memory of its text (`memory_budget` counts the text itself).
    An owner that already has bytes never waits: it would wait for itself.
    """

    def __init__(self, size: int) -> None:
        self._left = size
        self._size = size
        self.taken: dict[object, int] = {}
        """The bytes of each owner."""
        self._waiting: deque[tuple[object, int, asyncio.Future[None]]] = deque()

    def resize(self, size: int) -> None:
        """Set the size, before the first call."""
        self._left += size - self._size
        self._size = size

    async def take(self, owner: object, size: int) -> None:
        """Wait for the owner's turn until `size` bytes are free, and take them."""
        size = min(size, self._size)
        if owner in self.taken or (not self._waiting and size <= self._left):
            self._grant(owner, size)
            return
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = (owner, size, granted)
        self._waiting.append(waiting)
        try:
            await granted
        except asyncio.CancelledError:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
                self._grant_waiting()
            raise  # granted bytes are released when the owner ends

    def release(self, owner: object) -> None:
        """Release all bytes of an owner."""
        size = self.taken.pop(owner, 0)
        if size:
            self._left += size
            self._grant_waiting()

    def _grant(self, owner: object, size: int) -> None:
        self.taken[owner] = self.taken.get(owner, 0) + size
        self._left -= size

    def _grant_waiting(self) -> None:
        while self._waiting and self._waiting[0][1] <= self._left:
            owner, size, granted = self._waiting.popleft()
            if not granted.done():
                self._grant(owner, size)
                granted.set_result(None)


decoding_budget: Final = DecodingBudget(DEFAULT_LIMITS.max_response_bytes)
