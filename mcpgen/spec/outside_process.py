"""A child process that answers one question after the other while the caller goes on."""

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
_MAX_ROOM_BYTES = 1024 * 1024  # what Linux lets a pipe hold for anyone


class OutsideProcess:
    """A program that is asked on stdin, a line with the number of bytes and then those bytes.

    It answers each with a line on stdout; one question is open at a time. Where pipes cannot be
    waited on (Windows), it answers one question and ends. It leads a process group of its own,
    which ends with this process at the latest.
    """

    def __init__(self, command: Sequence[str]) -> None:
        """Start it, in the temporary folder and with nothing of this process's environment.

        Raises:
            OSError: it cannot be started.
        """
        # Only what Windows needs to start a process at all.
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
        """Whether it runs, and is this process's own: a fork must not read another's answers."""
        return self._owner == os.getpid() and self._process.poll() is None

    def ask(self, question: bytes) -> None:
        """Send a question, as much of it as the pipe holds; `answer` sends the rest.

        Raises:
            OSError: the question cannot be sent; the process is ended.
        """
        self._unsent = memoryview(f"{len(question)}\n".encode() + question)
        if os.name == "nt":
            return
        try:
            stdin = _pipe(self._process.stdin)
            os.set_blocking(stdin, False)
            _make_room(stdin, len(self._unsent))
            with contextlib.suppress(BlockingIOError):
                while self._unsent:
                    self._unsent = self._unsent[os.write(stdin, self._unsent[:_CHUNK]) :]
        except BaseException:
            self.end()
            raise

    def answer(self, seconds: float) -> bytes:
        """Wait for the answer. A process that gives none, or no proper one, is ended.

        Raises:
            TimeoutError: there was no answer in so many seconds.
            EOFError: it ended instead, its answer has no end, or it is another process's.
            OSError: the question cannot be sent.
        """
        if self._owner != os.getpid():
            raise EOFError
        try:
            if os.name == "nt":
                return self._answer_once(seconds)
            return self._exchange(time.monotonic() + seconds)
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        """End it and what it started, whatever they are doing."""
        if self._owner != os.getpid():
            return
        atexit.unregister(self.end)
        if os.name == "nt":
            self._process.kill()
        elif self._process.returncode is None:  # or its number may be another process's by now
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        with self._process:  # closes the pipes, and waits
            pass

    def _answer_once(self, seconds: float) -> bytes:
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
                        answer += _more(stdout, _MAX_ANSWER_BYTES - len(answer))
        return answer


def _make_room(pipe: int, size: int) -> None:
    """Let the pipe hold `size` bytes, where the system can; the child reads them when it is up."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # whose user may have too many large pipes
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, min(max(size, _CHUNK), _MAX_ROOM_BYTES))


def _more(stdout: int, most: int) -> bytes:
    found = os.read(stdout, min(_CHUNK, most))
    if not found:
        raise EOFError
    return found


def _pipe(stream: IO[bytes] | None) -> int:
    if stream is None:
        raise EOFError
    return stream.fileno()
