"""An event loop whose time passes at once: what would sleep for a minute is done now."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from typing import Any, TypeVar, TypeVarTuple

Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """A loop whose clock stands still while there is work, and jumps to the next timer when not.

    For code that waits for timers alone. What waits for a socket or a thread beside a timer would
    see the timer first; work for an executor is therefore done at once.
    """

    def __init__(self) -> None:
        self._now = 0.0
        super().__init__(_JumpingSelector(self))

    def time(self) -> float:
        """Give the seconds that have passed, had anybody waited for them."""
        return self._now

    def run_in_executor(
        self,
        executor: Executor | None,  # noqa: ARG002  (the loop's interface)
        func: Callable[[*Arguments], Result],
        *args: *Arguments,
    ) -> asyncio.Future[Result]:
        """Run a function at this very time, in the thread of the loop."""

        async def run() -> Result:
            return func(*args)

        return self.create_task(run())

    def jump(self, seconds: float) -> None:
        """Let time pass."""
        self._now += seconds


class _JumpingSelector(selectors.BaseSelector):
    """Waits for nothing: tells the loop that the time is over instead."""

    def __init__(self, loop: VirtualTimeLoop) -> None:
        self._loop = loop
        self._real = selectors.DefaultSelector()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = self._real.select(None if timeout is None else 0)
        if not ready and timeout is not None:
            self._loop.jump(timeout)
        return ready

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._real.get_map()

    def close(self) -> None:
        self._real.close()
