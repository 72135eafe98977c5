"""Run a coroutine inside another task, in its own copy of the context."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextvars import copy_context
from typing import Any


class IsolatedWork:
    """Awaits `work` in a copy of the context, so that its context variables do not leak.

    `when_it_waits` is called once, in the surrounding context, when `work` first waits.
    """

    __slots__ = ("_run", "_when_it_waits", "_work", "has_waited")

    def __init__(self, work: Coroutine[Any, Any, None], when_it_waits: Callable[[], None]) -> None:
        self.has_waited = False
        self._work = work
        self._when_it_waits = when_it_waits
        self._run = copy_context().run

    def __await__(self) -> Any:
        return self

    def __iter__(self) -> IsolatedWork:
        return self

    def __next__(self) -> Any:
        awaited = self._run(self._work.send, None)
        if not self.has_waited:
            self.has_waited = True
            self._when_it_waits()
        return awaited

    def throw(self, error: BaseException) -> Any:
        """Raise an error in the work; return the next awaitable."""
        return self._run(self._work.throw, error)

    def close(self) -> None:
        """Close the coroutine."""
        self._run(self._work.close)
