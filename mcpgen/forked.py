"""Functions that run in a fork of this process while it continues.

A fork shortens the longest commands by about a third; docs/benchmarks.md has the figures.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar

T = TypeVar("T")
Pause = Callable[[], contextlib.AbstractContextManager[None]]
"""Ends a thread of this process for a while."""

_pauses: list[Pause] = []
_MOST_SECONDS_TO_END = 0.5
_is_forbidden = False


class Forked(Generic[T]):
    """The result of `work`, which runs in a forked child.

    Without a second core, a safe way to fork or a result from the child, the work runs here when
    its result is requested. So its result and its exceptions never depend on the machine.
    """

    def __init__(
        self, work: Callable[[], T], *, is_worth_it: bool = True, inherited: int | None = None
    ) -> None:
        """Start; `work` must change nothing but caches, and its result must be picklable.

        The child has no open file of its parent except the descriptor `inherited`.
        """
        self._work = work
        self._pid = 0
        self._answer: BinaryIO | None = None
        if is_worth_it:
            with contextlib.ExitStack() as paused:
                for pause in _pauses:
                    paused.enter_context(pause())
                if _may_fork():
                    self._start(inherited)

    def __enter__(self) -> Forked[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the child if it still runs; the end of this process does that, too."""
        atexit.unregister(self.stop)
        if self._answer is not None:
            self._answer.close()
        if self._pid:
            os.kill(self._pid, signal.SIGTERM)
            os.waitpid(self._pid, 0)
            self._pid = 0

    def result(self) -> T:
        """Wait for the result, or compute it.

        Raises:
            Exception: any exception of the work.
        """
        if self._answer is not None:
            with self._answer:
                answer = self._answer.read()
            # A child that failed wrote nothing, or only a part.
            with contextlib.suppress(EOFError, pickle.UnpicklingError):
                found: T = pickle.loads(answer)  # noqa: S301 - our own child wrote it
                return found
        return self._work()

    @property
    def is_running(self) -> bool:
        """Whether a child was started."""
        return self._pid != 0

    def _start(self, inherited: int | None) -> None:
        reading, writing = os.pipe()
        # Python drops a signal that reaches the child before `os.fork` returns there.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        self._pid = os.fork()
        if self._pid:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            os.close(writing)
            self._answer = os.fdopen(reading, "rb")
            atexit.register(self.stop)
            return
        # An error is not reported here: the parent repeats the work and raises it. Nothing of the
        # parent may run in the child, least of all its clean-up.
        try:
            # Otherwise Python prints an exception that it has to ignore: SIGTERM in a destructor.
            sys.unraisablehook = lambda _: None
            # On SIGTERM from the parent, the child removes its temporary folders.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.default_int_handler)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            _close_all_but({writing} if inherited is None else {writing, inherited})
            answer = pickle.dumps(self._work(), pickle.HIGHEST_PROTOCOL)
            with os.fdopen(writing, "wb") as out:
                out.write(answer)
        finally:
            os._exit(0)


class ForkedAhead(Generic[T]):
    """A forked child that prepares for work which is assigned later.

    As with `Forked`, only the duration depends on the child.
    """

    def __init__(self, prepare: Callable[[], object], *, is_worth_it: bool = True) -> None:
        """Start a child that calls `prepare` and waits.

        If that is not worth it, because work is unlikely, `begin` starts a child.
        """
        self._prepare = prepare
        self._assigned: list[Callable[[], T]] = []  # at most one
        reading, self._writing = os.pipe()
        self._reading = reading
        self._forked = Forked(self._work, is_worth_it=is_worth_it, inherited=reading)
        os.close(reading)  # so that writing to a child that has ended is an error

    def __enter__(self) -> ForkedAhead[T]:
        return self

    def __exit__(self, *_: object) -> None:
        # Python ignores an exception in a weakref callback, such as that of an import lock. A child
        # that missed its signal there ends when it finds that no work will come.
        if self._writing >= 0:
            os.close(self._writing)
        self._forked.stop()

    def begin(self, work: Callable[[], T]) -> None:
        """Start `work`, which must be picklable."""
        self._assigned.append(work)
        if self._forked.is_running:
            with contextlib.suppress(BrokenPipeError), os.fdopen(self._writing, "wb") as child:
                self._writing = -1
                pickle.dump(work, child, pickle.HIGHEST_PROTOCOL)
        else:
            self._forked = Forked(self._work)

    def result(self) -> T:
        """Wait for the result, or compute it.

        Raises:
            Exception: any exception of the work.
        """
        return self._forked.result()

    def _work(self) -> T:
        if not self._assigned:
            self._prepare()
            with os.fdopen(self._reading, "rb") as parent:
                self._assigned.append(pickle.load(parent))  # noqa: S301 - our own parent wrote it
        return self._assigned[0]()


@contextlib.contextmanager
def pause_at_forks(pause: Pause) -> Iterator[None]:
    """Use `pause` around each fork, so that its thread does not prevent it."""
    _pauses.append(pause)
    try:
        yield
    finally:
        _pauses.remove(pause)


def forbid_forks() -> None:
    """Do all work in this process, one of several that have work for all cores."""
    global _is_forbidden  # noqa: PLW0603  (of this process alone)
    _is_forbidden = True


def _may_fork() -> bool:
    """Whether there is a second core, and no other thread that may hold a lock."""
    if _is_forbidden or sys.platform != "linux" or len(os.sched_getaffinity(0)) == 1:
        return False
    # The kernel lists a thread for a moment after it was joined.
    deadline = time.monotonic() + (_MOST_SECONDS_TO_END if _pauses else 0)
    with contextlib.suppress(OSError):
        while sum(1 for _ in Path("/proc/self/task").iterdir()) > 1:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.001)
        return True
    return False


def _close_all_but(descriptors: set[int]) -> None:
    """Close the parent's files, so that their locks end with the parent."""
    first = 3
    for descriptor in sorted(descriptors):
        os.closerange(first, descriptor)
        first = descriptor + 1
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))
