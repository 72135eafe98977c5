"""Bounded queues for stdout and stderr, so that a reader that stops reading blocks no call.

If stderr is a full pipe, `write` blocks for ever. Here a thread blocks instead. Output of Python
code passes through the queues; output that a C library or a child process writes to the
descriptors does not.
"""

from __future__ import annotations

import atexit
import io
import logging
import os
import sys
import threading
import time
import warnings
from collections import deque
from typing import Any, Final, TextIO

from mcpgen.runtime.process.log import (
    LineLimit,
    describe_error,
    format_line,
    log,
    mask,
    send_lines_to,
)

MAX_QUEUED_LINES: Final = 1_000
MAX_QUEUED_BYTES: Final = 256 * 1024
FLUSH_SECONDS: Final = 0.5
"""Time for which the process waits at exit for a reader that does not read."""
_MESSAGE_CHARACTERS: Final = 200
_WRITE_BYTES: Final = 4_096  # small, so that the count of queued bytes follows the reader
_RETRY_SECONDS: Final = 0.05  # of a descriptor that another process made non-blocking


class OutputQueue:
    """Queue of lines for a file descriptor, written by a thread.

    A line that does not fit is dropped and counted; a line with the count precedes the next line
    that fits.
    """

    def __init__(self, fd: int, name: str) -> None:
        self._fd = fd
        self._name = name
        self._changed = threading.Condition()
        self._lines: deque[bytes] = deque()
        self._bytes = 0  # of `_lines`, and of what is being written
        self._dropped = 0
        self._has_thread = False
        self._is_closed = False  # the reader closed its end

    def put(self, data: bytes) -> None:
        """Queue a line, or drop it. A line longer than the queue is accepted by an empty queue."""
        with self._changed:
            if self._is_closed:
                return
            is_full = self._bytes + len(data) > MAX_QUEUED_BYTES
            if self._bytes and (is_full or len(self._lines) >= MAX_QUEUED_LINES):
                self._dropped += data.count(b"\n") or 1
                return
            self._report_dropped()
            self._append(data)
            self._changed.notify_all()
            if not self._has_thread:
                self._start_thread()

    def flush(self, seconds: float) -> bool:
        """Wait at most `seconds` until everything is written; return whether it is."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._bytes or self._is_closed, seconds)

    def _start_thread(self) -> None:
        thread = threading.Thread(target=self._write_all, name=self._name, daemon=True)
        try:
            thread.start()
        except RuntimeError:  # no more threads: the next line tries again
            return
        self._has_thread = True

    def _append(self, data: bytes) -> None:
        self._lines.append(data)
        self._bytes += len(data)

    def _report_dropped(self) -> None:
        if self._dropped:
            lines = "1 line was" if self._dropped == 1 else f"{self._dropped:,} lines were"
            line = format_line("warning", f"{lines} dropped because {self._name} was not read")
            self._dropped = 0
            self._append(line.encode())

    def _write_all(self) -> None:
        while True:
            with self._changed:
                if not self._lines:
                    self._report_dropped()
                while not self._lines:
                    self._changed.wait()
                data = self._lines.popleft()
            try:
                self._write(data)
            except OSError:  # the reader closed its end
                with self._changed:
                    self._is_closed = True
                    self._lines.clear()
                    self._changed.notify_all()
                return

    def _write(self, data: bytes) -> None:
        unwritten = memoryview(data)
        while unwritten:
            try:
                written = os.write(self._fd, unwritten[:_WRITE_BYTES])
            except BlockingIOError:
                time.sleep(_RETRY_SECONDS)
                continue
            unwritten = unwritten[written:]
            with self._changed:
                self._bytes -= written
                self._changed.notify_all()


class _QueuedBytes(io.RawIOBase):
    """The binary layer of a queued `sys.stdout` or `sys.stderr`."""

    def __init__(self, queue: OutputQueue, fd: int) -> None:
        self._queue = queue
        self._fd = fd

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._fd

    def write(self, data: Any) -> int:
        line = bytes(data)
        self._queue.put(line)
        return len(line)


_queues: list[OutputQueue] = []
_replaced: dict[str, TextIO] = {}  # the original streams, by "stdout" and "stderr"


def queue_output() -> None:
    """Write log and print output of this process through queues.

    Log records, warnings and unhandled exceptions become one line each. A terminal is written to
    directly, and a replaced `sys.stderr` is left alone.
    """
    if sys.stderr is None or sys.stderr is not sys.__stderr__:
        return
    for name in ("stderr", "stdout"):
        stream: TextIO | None = getattr(sys, name)
        if stream is not None and stream is getattr(sys, f"__{name}__") and not stream.isatty():
            _queue_stream(name, stream)
    if _queues:
        atexit.register(flush_output)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_write_directly)
    send_lines_to(LineLimit().write)
    _report_on_one_line()


def _queue_stream(name: str, stream: TextIO) -> None:
    stream.flush()
    fd = stream.fileno()
    if _queues and os.path.sameopenfile(fd, sys.stderr.fileno()):
        queue = _queues[0]  # one queue, so that printed and logged lines stay in order
    else:
        queue = OutputQueue(fd, name)
        _queues.append(queue)
    raw: Any = _QueuedBytes(queue, fd)
    queued = io.TextIOWrapper(raw, "utf-8", "backslashreplace", line_buffering=True)
    _replaced[name] = stream
    setattr(sys, name, queued)
    _move_log_handlers(stream, queued)


def flush_output() -> None:
    """Write the queued output, as far as the readers accept it within `FLUSH_SECONDS`."""
    for name in _replaced:
        stream: TextIO = getattr(sys, name)
        stream.flush()
    due = time.monotonic() + FLUSH_SECONDS
    for queue in _queues:
        queue.flush(max(0.0, due - time.monotonic()))


def _write_directly() -> None:
    """Restore the original streams in a forked child, which lacks the parent's threads."""
    for name, stream in _replaced.items():
        _move_log_handlers(getattr(sys, name), stream)
        setattr(sys, name, stream)
    _queues.clear()
    _replaced.clear()


def _move_log_handlers(old: TextIO, new: TextIO) -> None:
    """Redirect `logging` handlers that a module in `handlers/` configured to the new stream."""
    loggers = [logging.getLogger(), *logging.getLogger().manager.loggerDict.values()]
    for logger in loggers:
        for handler in getattr(logger, "handlers", ()):  # a placeholder has none
            if isinstance(handler, logging.StreamHandler) and handler.stream is old:
                handler.setStream(new)


def _report_on_one_line() -> None:
    logging.lastResort = _OneLineHandler(logging.WARNING)  # used if no handler was configured
    warnings.showwarning = _show_warning
    threading.excepthook = _report_thread
    sys.unraisablehook = _report_unraisable


class _OneLineHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = record.getMessage()
        except Exception:  # noqa: BLE001  (arguments that do not fit the message)
            text = str(record.msg)
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            # The rest (in asyncio: the task) would leave no room for the error.
            summary = mask(text.partition("\n")[0])[:_MESSAGE_CHARACTERS]
            text = f"{summary}: {describe_error(error)}"
        log(record.levelname.lower(), f"{record.name}: {text}")


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,  # noqa: ARG001  (the signature of `warnings`)
    line: str | None = None,  # noqa: ARG001
) -> None:
    log("warning", f"{category.__name__} at {filename}:{lineno}: {message}")


def _report_thread(caught: threading.ExceptHookArgs) -> None:
    if caught.exc_value is not None and not isinstance(caught.exc_value, SystemExit):
        name = caught.thread.name if caught.thread is not None else "?"
        log("error", f"thread {name} ended: {describe_error(caught.exc_value)}")


def _report_unraisable(caught: sys.UnraisableHookArgs) -> None:
    if caught.exc_value is not None:
        where = caught.err_msg or "exception ignored"
        log("error", f"{where}: {describe_error(caught.exc_value)}")
