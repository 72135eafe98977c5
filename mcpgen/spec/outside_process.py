"""A child process that answers one question after the other, each within a time of its own."""

from __future__ import annotations

import atexit
import os
import selectors
import subprocess
import tempfile
import time
from collections.abc import Sequence
from typing import IO

_MAX_ANSWER_BYTES = 1024 * 1024
_CHUNK = 64 * 1024


class OutsideProcess:
    """A program that is asked on stdin, a line with the number of bytes and then those bytes.

    It answers each with a line on stdout. Where pipes cannot be waited on (Windows), it answers
    one question and ends. It ends with this process at the latest.
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
        )
        self._owner = os.getpid()
        atexit.register(self.end)

    @property
    def is_usable(self) -> bool:
        """Whether it runs, and is this process's own: a fork must not read another's answers."""
        return self._owner == os.getpid() and self._process.poll() is None

    def ask(self, question: bytes, seconds: float) -> bytes:
        """Give the answer. A process that gives none, or no proper one, is ended.

        Raises:
            TimeoutError: there was no answer in so many seconds.
            EOFError: it ended instead, or its answer has no end.
            OSError: the question cannot be put.
        """
        announced = f"{len(question)}\n".encode() + question
        try:
            if os.name == "nt":
                return self._ask_once(announced, seconds)
            return self._exchange(announced, time.monotonic() + seconds)
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        """End it, whatever it is doing."""
        if self._owner != os.getpid():
            return
        atexit.unregister(self.end)
        self._process.kill()
        with self._process:  # closes the pipes, and waits
            pass

    def _ask_once(self, announced: bytes, seconds: float) -> bytes:
        try:
            answer, _ = self._process.communicate(announced, timeout=seconds)
        except subprocess.TimeoutExpired:
            raise TimeoutError from None
        if not answer.endswith(b"\n"):
            raise EOFError
        return answer

    def _exchange(self, announced: bytes, deadline: float) -> bytes:
        stdin, stdout = _pipe(self._process.stdin), _pipe(self._process.stdout)
        os.set_blocking(stdin, False)
        waiting, answer = memoryview(announced), b""
        with selectors.DefaultSelector() as selector:
            selector.register(stdin, selectors.EVENT_WRITE)
            selector.register(stdout, selectors.EVENT_READ)
            while not answer.endswith(b"\n"):
                ready = selector.select(max(0.0, deadline - time.monotonic()))
                if not ready:
                    raise TimeoutError
                for key, _ in ready:
                    if key.fd == stdin:
                        waiting = waiting[os.write(stdin, waiting[:_CHUNK]) :]
                        if not waiting:
                            selector.unregister(stdin)
                    else:
                        answer += _more(stdout, _MAX_ANSWER_BYTES - len(answer))
        return answer


def _more(stdout: int, most: int) -> bytes:
    found = os.read(stdout, min(_CHUNK, most))
    if not found:
        raise EOFError
    return found


def _pipe(stream: IO[bytes] | None) -> int:
    if stream is None:
        raise EOFError
    return stream.fileno()
