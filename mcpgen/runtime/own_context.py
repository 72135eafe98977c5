"""A coroutine that runs inside a task as if it had one of its own."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextvars import copy_context
from typing import Any


class InOwnContext:
    """Awaits `work` in a copy of the context, so that what it sets there stays its own.

    `when_it_waits` is called in the context around it, once, if it has to wait for something.
    """

    __slots__ = ("_run", "_when_it_waits", "_work", "has_waited")

    def __init__(self, work: Coroutine[Any, Any, None], when_it_waits: Callable[[], None]) -> None:
        self.has_waited = False
        self._work = work
        self._when_it_waits = when_it_waits
        self._run = copy_context().run

    def __await__(self) -> Any:  # what a generator is to those who await
        return self

    def __iter__(self) -> InOwnContext:
        return self

    def __next__(self) -> Any:
        awaited = self._run(self._work.send, None)
        if not self.has_waited:
            self.has_waited = True
            self._when_it_waits()
        return awaited

    def throw(self, error: BaseException) -> Any:
        """Go on with the work, where this is raised; gives what it waits for."""
        return self._run(self._work.throw, error)

    def close(self) -> None:
        """End the work where it is."""
        self._run(self._work.close)
