"""A worker thread for long responses, and a budget for the bytes that are decoded at once."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Final, ParamSpec, TypeVar

from mcpgen.runtime.upstream.http.messages import MAX_RESPONSE_BYTES

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


decoding_budget: Final = DecodingBudget(MAX_RESPONSE_BYTES)
