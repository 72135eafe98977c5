"""An event loop with a virtual clock: timers fire immediately, in order."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar, TypeVarTuple

Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """A loop whose clock stands still while there is work, and else jumps to the next timer.

    For code that waits only for timers. Code that waits for a socket or a thread beside a timer
    would see the timer first; work for an executor is therefore done immediately.
    """

    def __init__(self) -> None:
        self.now = 0.0
        super().__init__(_JumpingSelector(self))

    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self.now

    def run_in_executor(
        self,
        executor: Executor | None,  # noqa: ARG002  (the loop's interface)
        func: Callable[[*Arguments], Result],
        *args: *Arguments,
    ) -> asyncio.Future[Result]:
        """Run a function in the thread of the loop, without advancing the clock."""

        async def run() -> Result:
            return func(*args)

        return self.create_task(run())


class _JumpingSelector(selectors.DefaultSelector):
    """A selector that advances the clock of its loop by the timeout instead of waiting."""

    def __init__(self, loop: VirtualTimeLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(None if timeout is None else 0)
        if not ready and timeout is not None:
            self._loop.now += timeout
        return ready
