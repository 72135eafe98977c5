"""A child process that answers requests over pipes while the caller continues."""

from __future__ import annotations

import atexit
import contextlib
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import IO

if sys.platform == "linux":
    import fcntl

_MAX_ANSWER_BYTES = 1024 * 1024
_CHUNK = 64 * 1024
_MAX_PIPE_BYTES = 1024 * 1024  # the limit of Linux for unprivileged processes


class ChildProcess:
    """A program that reads requests from stdin and writes a line to stdout for each.

    A request is a line with the number of bytes, followed by these bytes. One request is open at a
    time. On Windows, where pipes cannot be polled, the process answers one request and ends. It has
    its own process group, which ends with this process at the latest.
    """

    def __init__(self, command: Sequence[str]) -> None:
        """Start the process in the temporary folder with an empty environment.

        Raises:
            OSError: it cannot be started.
        """
        # Windows cannot start a process without this variable.
        environment = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
        self._process = subprocess.Popen(  # noqa: S603  no shell, a command of our own
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd=tempfile.gettempdir(),
            start_new_session=os.name != "nt",
        )
        self._unsent = memoryview(b"")
        self._owner = os.getpid()
        atexit.register(self.end)

    @property
    def is_usable(self) -> bool:
        """Whether it runs and was started by this process: a fork must not read its answers."""
        return self._owner == os.getpid() and self._process.poll() is None

    def send(self, request: bytes) -> None:
        """Send a request, up to the capacity of the pipe; `receive` sends the rest.

        Raises:
            OSError: the request cannot be sent; the process is ended.
        """
        self._unsent = memoryview(f"{len(request)}\n".encode() + request)
        if os.name == "nt":
            return
        try:
            stdin = _pipe(self._process.stdin)
            os.set_blocking(stdin, False)
            _enlarge_pipe(stdin, len(self._unsent))
            with contextlib.suppress(BlockingIOError):
                while self._unsent:
                    self._unsent = self._unsent[os.write(stdin, self._unsent[:_CHUNK]) :]
        except BaseException:
            self.end()
            raise

    def receive(self, seconds: float) -> bytes:
        """Wait for the answer; end the process if there is no valid one.

        Raises:
            TimeoutError: there was no answer within `seconds`.
            EOFError: the process ended, its answer is incomplete, or it belongs to another process.
            OSError: the request cannot be sent.
        """
        if self._owner != os.getpid():
            raise EOFError
        try:
            if os.name == "nt":
                return self._communicate(seconds)
            return self._exchange(time.monotonic() + seconds)
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        """Kill the process and its child processes."""
        if self._owner != os.getpid():
            return
        atexit.unregister(self.end)
        if os.name == "nt":
            self._process.kill()
        elif self._process.returncode is None:  # otherwise its id may have been reused
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        with self._process:  # closes the pipes, and waits
            pass

    def _communicate(self, seconds: float) -> bytes:
        try:
            answer, _ = self._process.communicate(bytes(self._unsent), timeout=seconds)
        except subprocess.TimeoutExpired:
            raise TimeoutError from None
        if not answer.endswith(b"\n"):
            raise EOFError
        return answer

    def _exchange(self, deadline: float) -> bytes:
        stdin, stdout = _pipe(self._process.stdin), _pipe(self._process.stdout)
        answer = b""
        with selectors.DefaultSelector() as selector:
            if self._unsent:
                selector.register(stdin, selectors.EVENT_WRITE)
            selector.register(stdout, selectors.EVENT_READ)
            while not answer.endswith(b"\n"):
                ready = selector.select(max(0.0, deadline - time.monotonic()))
                if not ready:
                    raise TimeoutError
                for key, _ in ready:
                    if key.fd == stdin:
                        self._unsent = self._unsent[os.write(stdin, self._unsent[:_CHUNK]) :]
                        if not self._unsent:
                            selector.unregister(stdin)
                    else:
                        answer += _read_chunk(stdout, _MAX_ANSWER_BYTES - len(answer))
        return answer


def _enlarge_pipe(pipe: int, size: int) -> None:
    """Set the capacity of the pipe to `size` bytes if the system allows it."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # the user may have too many large pipes
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, min(max(size, _CHUNK), _MAX_PIPE_BYTES))


def _read_chunk(stdout: int, max_bytes: int) -> bytes:
    found = os.read(stdout, min(_CHUNK, max_bytes))
    if not found:
        raise EOFError
    return found


def _pipe(stream: IO[bytes] | None) -> int:
    if stream is None:
        raise EOFError
    return stream.fileno()
