"""Supervisor of `--workers`: processes that serve one socket, restarted when they die.

The supervisor opens the listening sockets and forks. Connections that wait to be accepted survive
the death of a worker, since the others accept from the same queue; with a socket for each worker
(SO_REUSEPORT) the kernel would reset them. The supervisor has no event loop, thread or handlers, so
forking is safe and a restart is quick.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mcpgen.runtime.process.log import log

if TYPE_CHECKING:
    from socket import socket
    from types import FrameType

FIRST_DELAY_SECONDS: Final = 0.5
MAX_DELAY_SECONDS: Final = 30.0
STABLE_SECONDS: Final = 60.0  # after which a death counts as the first one again
KILL_AFTER_SECONDS: Final = 15.0  # after the time that workers have for their end
_POLL_SECONDS: Final = 1.0
_SIGNALS: Final = ("SIGTERM", "SIGINT", "SIGHUP")


@dataclass(frozen=True, slots=True)
class WorkerLink:
    """The connection of a worker to its supervisor."""

    number: int
    sockets: Sequence[socket]
    parent_fd: int
    """Becomes readable when the supervisor has ended."""
    ready_fd: int

    def report_ready(self) -> None:
        """Report to the supervisor that this worker serves."""
        with contextlib.suppress(OSError):
            os.write(self.ready_fd, b"1")
        os.close(self.ready_fd)


@dataclass(slots=True)
class _Worker:
    number: int
    pid: int = 0  # 0 if it is not running
    ready_fd: int = -1
    started_at: float = 0.0
    deaths: int = 0  # since it was last stable
    due: float = 0.0  # when to start it again


class Supervisor:
    """Parent of the workers; `serve` runs in each of them and returns its exit code."""

    def __init__(
        self,
        count: int,
        sockets: Sequence[socket],
        serve: Callable[[WorkerLink], int],
        *,
        on_ready: Callable[[], None],
        stop_seconds: float,
        first_delay_seconds: float = FIRST_DELAY_SECONDS,
    ) -> None:
        self._workers = [_Worker(number) for number in range(1, count + 1)]
        self._sockets = sockets
        self._serve = serve
        self._on_ready = on_ready
        self._stop_seconds = stop_seconds
        self._first_delay_seconds = first_delay_seconds
        self._is_stopping = False
        self._was_ready = False  # a worker has served
        self._codes: list[int] = []  # with which workers ended after the request to stop
        self._kill_at = 0.0

    def run(self) -> int:
        """Keep the workers running until a signal ends them; return the exit code.

        In a worker, this returns the exit code of `serve`.
        """
        self._alive = os.pipe()  # its write end closes when this process ends, however it ends
        self._wakeup = os.pipe()
        for fd in self._wakeup:
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(self._wakeup[1], warn_on_full_buffer=False)
        for name in _SIGNALS:
            number = getattr(signal, name)
            if name != "SIGHUP" or signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._on_signal)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # wakes `select`
        while True:
            link = self._start_due_workers()
            if link is not None:
                return self._serve(link)
            self._wait()
            self._reap()
            if self._is_stopping and not any(worker.pid for worker in self._workers):
                return max(self._codes, default=0)

    # -- workers -------------------------------------------------------------------------------

    def _start_due_workers(self) -> WorkerLink | None:
        """Start workers that should run; return the link in each of the new processes.

        Until the first one is ready no other is started: a server that cannot start says so once.
        """
        now = time.monotonic()
        for worker in self._workers:
            if self._is_stopping or (not self._was_ready and worker.number > 1):
                break
            if not worker.pid and now >= worker.due:
                link = self._fork(worker)
                if link is not None:
                    return link
        return None

    def _fork(self, worker: _Worker) -> WorkerLink | None:
        # A signal waits until the child has its own handlers, and the parent knows the child.
        numbers = [getattr(signal, name) for name in _SIGNALS]
        signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
        try:
            if self._is_stopping:  # by a signal that arrived since the caller looked
                return None
            ready, ready_fd = os.pipe()
            try:
                pid = os.fork()
            except OSError as error:  # too many processes, or too little memory
                os.close(ready)
                os.close(ready_fd)
                self._on_failed_start(worker, error.strerror or "")
                return None
            if pid == 0:
                self._become_worker(ready)
                return WorkerLink(worker.number, self._sockets, self._alive[0], ready_fd)
            worker.pid, worker.ready_fd, worker.started_at = pid, ready, time.monotonic()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)
        os.close(ready_fd)
        os.set_blocking(ready, False)
        return None

    def _become_worker(self, ready: int) -> None:
        signal.set_wakeup_fd(-1)
        for name in (*_SIGNALS, "SIGCHLD"):
            number = getattr(signal, name)
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        # Ctrl-C in a terminal reaches the supervisor alone, which drains the workers together.
        with contextlib.suppress(OSError):
            os.setpgid(0, 0)
        others = [it.ready_fd for it in self._workers if it.ready_fd >= 0]
        for fd in (ready, self._alive[1], *self._wakeup, *others):
            os.close(fd)

    def _wait(self) -> None:
        """Wait for a signal, a worker that is ready, or the time of the next start."""
        now = time.monotonic()
        due = [it.due - now for it in self._workers if not it.pid and not self._is_stopping]
        seconds = max(0.0, min([_POLL_SECONDS, *(it for it in due if it > 0)]))
        ready = {it.ready_fd: it for it in self._workers if it.ready_fd >= 0}
        readable, _, _ = select.select([self._wakeup[0], *ready], [], [], seconds)
        for fd in readable:
            if fd in ready:
                self._read_ready(ready[fd])
            else:
                with contextlib.suppress(BlockingIOError):
                    os.read(fd, 4096)
        if self._is_stopping and now >= self._kill_at:
            self._send(signal.SIGKILL)

    def _read_ready(self, worker: _Worker) -> None:
        is_ready = os.read(worker.ready_fd, 1)
        os.close(worker.ready_fd)
        worker.ready_fd = -1
        if is_ready and not self._was_ready:
            self._was_ready = True
            self._on_ready()

    def _reap(self) -> None:
        for worker in self._workers:
            if not worker.pid:
                continue
            pid, status = os.waitpid(worker.pid, os.WNOHANG)
            if pid:
                if worker.ready_fd >= 0:
                    self._read_ready(worker)
                worker.pid = 0
                self._on_death(worker, pid, os.waitstatus_to_exitcode(status))

    def _on_death(self, worker: _Worker, pid: int, code: int) -> None:
        if self._is_stopping:
            self._codes.append(code if code >= 0 else 1)
            return
        if not self._was_ready:
            self._is_stopping = True
            self._codes.append(code if code > 0 else 1)
            return
        if time.monotonic() - worker.started_at >= STABLE_SECONDS:
            worker.deaths = 0
        how = f"ended with exit code {code}" if code >= 0 else f"was killed by signal {-code}"
        self._delay_start(worker, f"(process {pid}) {how}")

    def _on_failed_start(self, worker: _Worker, reason: str) -> None:
        if self._was_ready:
            self._delay_start(worker, f"was not started ({reason})")
        else:
            log("error", f"no worker can be started: {reason}")
            self._is_stopping = True
            self._codes.append(1)

    def _delay_start(self, worker: _Worker, reason: str) -> None:
        """Start a worker later, after a time that doubles with each of its failures."""
        worker.deaths += 1
        delay = min(MAX_DELAY_SECONDS, self._first_delay_seconds * 2 ** (worker.deaths - 1))
        worker.due = time.monotonic() + delay
        log("error", f"worker {worker.number} {reason}; it is started again in {delay:g} s")

    # -- the end -------------------------------------------------------------------------------

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        if not self._is_stopping:
            self._is_stopping = True
            self._kill_at = time.monotonic() + self._stop_seconds + KILL_AFTER_SECONDS
            for each in self._sockets:  # workers accept the connections that wait
                each.close()
            self._send(signal.SIGTERM)
        elif number != getattr(signal, "SIGHUP", None):  # which may come along with SIGTERM
            self._send(signal.SIGKILL)
            os._exit(128 + number)

    def _send(self, number: int) -> None:
        for worker in self._workers:
            if worker.pid:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(worker.pid, number)
