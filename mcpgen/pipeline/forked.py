"""Computation of a pure function in a forked process while the caller continues."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Generic, TypeVar

T = TypeVar("T")

# What the caller does meanwhile comes first: it is waited for longer than any one child.
_BEHIND_THE_CALLER = 5


class Forked(Generic[T]):
    """The result of `work`, which a forked child finds out.

    Where there is no second core, no safe way to fork, or no result from the child, the work is
    done here when its result is asked for. So its result never depends on the machine, and what it
    raises is raised here.
    """

    def __init__(
        self, work: Callable[[], T], *, is_worth_it: bool = True, reading: int | None = None
    ) -> None:
        """Start; `work` must not change anything, and its result must be picklable.

        The child holds no file of its parent's open but the descriptor `reading`.
        """
        self._work = work
        self._pid = 0
        self._answer: BinaryIO | None = None
        if is_worth_it and _may_fork():
            self._start(reading)

    def __enter__(self) -> Forked[T]:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._answer is not None:
            self._answer.close()
        if self._pid:
            os.kill(self._pid, signal.SIGTERM)
            os.waitpid(self._pid, 0)
            self._pid = 0

    def result(self) -> T:
        """Wait for the result, or find it out.

        Raises:
            Exception: whatever the work raises.
        """
        if self._answer is not None:
            with self._answer:
                told = self._answer.read()
            # What was written only in part, or not at all, cannot be read.
            with contextlib.suppress(EOFError, pickle.UnpicklingError):
                found: T = pickle.loads(told)  # noqa: S301 - our own child wrote it
                return found
        return self._work()

    @property
    def is_under_way(self) -> bool:
        """Whether a child was started."""
        return self._pid != 0

    def _start(self, kept: int | None) -> None:
        reading, writing = os.pipe()
        self._pid = os.fork()
        if self._pid:
            os.close(writing)
            self._answer = os.fdopen(reading, "rb")
            return
        # No more is told of what goes wrong here: the parent does the work again, and sees it. Nor
        # may anything of the parent run here, its clean-up least of all.
        try:
            # It ends when the parent says so, and removes its temporary folders then.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.default_int_handler)
            os.nice(_BEHIND_THE_CALLER)
            _close_all_but({writing} if kept is None else {writing, kept})
            answer = pickle.dumps(self._work(), pickle.HIGHEST_PROTOCOL)
            with os.fdopen(writing, "wb") as out:
                out.write(answer)
        finally:
            os._exit(0)


class ForkedAhead(Generic[T]):
    """Work that is named later, of a child that gets ready for it meanwhile.

    As with `Forked`, nothing but the time that it takes depends on the child.
    """

    def __init__(self, ready: Callable[[], object], *, is_worth_it: bool = True) -> None:
        """Start a child that calls `ready` and waits."""
        self._ready = ready
        self._named: list[Callable[[], T]] = []  # the one work; the child is told it
        reading, self._writing = os.pipe()
        self._reading = reading
        self._forked = Forked(self._work, is_worth_it=is_worth_it, reading=reading)
        os.close(reading)  # so that to write to a child that has ended is an error

    def __enter__(self) -> ForkedAhead[T]:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._forked.__exit__(kind, error, traceback)
        if self._writing >= 0:
            os.close(self._writing)

    def begin(self, work: Callable[[], T]) -> None:
        """Have the child do `work` while the caller goes on; as in `Forked`, and picklable."""
        self._named.append(work)
        if self._forked.is_under_way:
            with contextlib.suppress(BrokenPipeError), os.fdopen(self._writing, "wb") as child:
                self._writing = -1
                pickle.dump(work, child, pickle.HIGHEST_PROTOCOL)

    def result(self) -> T:
        """Wait for the result, or find it out.

        Raises:
            Exception: whatever the work raises.
        """
        return self._forked.result()

    def _work(self) -> T:
        if not self._named:
            self._ready()
            with os.fdopen(self._reading, "rb") as parent:
                self._named.append(pickle.load(parent))  # noqa: S301 - our own parent tells it
        return self._named[0]()


def _may_fork() -> bool:
    """Whether a child can run beside this process, and no thread may hold a lock that it needs."""
    if sys.platform != "linux":
        return False
    try:
        threads = sum(1 for _ in Path("/proc/self/task").iterdir())
    except OSError:
        return False
    return threads == 1 and len(os.sched_getaffinity(0)) > 1


def _close_all_but(kept: set[int]) -> None:
    """Let go of the parent's files, so that their locks end with the parent."""
    first = 3
    for descriptor in sorted(kept):
        os.closerange(first, descriptor)
        first = descriptor + 1
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))
