"""Watchdog thread that logs which function blocked the event loop, and for how long."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Final, Self

from mcpgen.runtime.process.log import PACKAGE_FOLDER, log

LATE_MS: Final = 100.0
SETTING: Final = "MCPGEN_WATCHDOG_MS"
"""Environment variable that overrides the threshold `LATE_MS`; 0 disables the watchdog."""
TICK_SECONDS: Final = 0.05
STOP_SECONDS: Final = 1.0
REPORT_SECONDS: Final = 10.0  # between two reports
_IDLE: Final = ("selectors.py", "asyncio/runners.py", "asyncio\\runners.py")


class Watchdog:
    """A thread that checks the event loop 20 times a second.

    A loop that waits for input is left alone. A busy loop must run a callback in time; otherwise
    its stack shows which function blocks it. Use it as a context manager in the loop's thread.
    """

    def __init__(
        self,
        *,
        late_seconds: float | None = None,
        report: Callable[[str], None] = lambda text: log("warning", text),
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._late_seconds = _read_late_seconds() if late_seconds is None else late_seconds
        self._report = report
        self._now = now
        self._ended = threading.Event()
        self._has_responded = threading.Event()
        self._next_report_at = 0.0
        self._thread: threading.Thread | None = None
        self._count = 0  # of delays that are not reported yet
        self._longest = (0.0, "")  # of these delays: seconds, and the function

    def __enter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        if self._late_seconds > 0:
            self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._has_responded.set()
        if self._thread is not None:
            self._thread.join(STOP_SECONDS)

    def _watch(self) -> None:
        self._check_until_end()
        self._next_report_at = 0.0
        self._report_longest()

    def _check_until_end(self) -> None:
        checked_at = self._now()
        while not self._ended.wait(TICK_SECONDS):
            # C code that keeps the GIL delays this thread as well.
            since, checked_at = checked_at, self._now()
            self._report_longest()
            was_delayed = checked_at - since > TICK_SECONDS + self._late_seconds
            frame = sys._current_frames().get(self._loop_thread)  # noqa: SLF001  (its public name)
            if frame is None or _is_idle(frame):
                continue
            doing = _describe(frame)
            try:
                is_late = not self._is_responsive()
            except RuntimeError:  # the loop is closed
                return
            if is_late or was_delayed:
                frame = sys._current_frames().get(self._loop_thread)  # noqa: SLF001
                if is_late and frame is not None and not _is_idle(frame):
                    doing = _describe(frame)
                del frame  # it keeps the objects of the loop's task alive
                self._has_responded.wait()
                self._record_delay(self._now() - (since if was_delayed else checked_at), doing)
            checked_at = self._now()

    def _is_responsive(self) -> bool:
        """Return whether the loop runs a callback in time."""
        self._has_responded.clear()
        if self._ended.is_set():  # the loop's thread waits for this one
            self._has_responded.set()
            return True
        self._loop.call_soon_threadsafe(self._has_responded.set)
        return self._has_responded.wait(self._late_seconds)

    def _record_delay(self, seconds: float, doing: str) -> None:
        self._count += 1
        self._longest = max(self._longest, (seconds, doing))

    def _report_longest(self) -> None:
        """Report the longest delay, at most once in `REPORT_SECONDS`."""
        if not self._count or self._now() < self._next_report_at:
            return
        seconds, doing = self._longest
        more = f"; {self._count - 1} more since the last report" if self._count > 1 else ""
        self._report(f"the event loop was late by {seconds * 1000:.0f} ms, {doing}{more}")
        self._next_report_at = self._now() + REPORT_SECONDS
        self._count, self._longest = 0, (0.0, "")


def _read_late_seconds() -> float:
    try:
        milliseconds = float(os.environ.get(SETTING, "") or LATE_MS)
    except ValueError:
        milliseconds = LATE_MS
    return milliseconds / 1000 if milliseconds > 0 else 0.0


def _is_idle(frame: FrameType) -> bool:
    return frame.f_code.co_filename.endswith(_IDLE)


def _describe(frame: FrameType) -> str:
    """Describe which function a thread executes, and for which call.

    The innermost function of mcpgen or of a generated package is named rather than one of a
    library.
    """
    inner: FrameType | None = frame
    location = _format_location(frame)
    call = ""
    is_ours = False
    while inner is not None:
        path = inner.f_code.co_filename
        if not is_ours and (path.startswith(PACKAGE_FOLDER) or "_mcp" in path):
            location, is_ours = _format_location(inner), True
        if path.startswith(PACKAGE_FOLDER) and inner.f_code.co_name == "_run":
            call = _describe_call(inner)
        inner = inner.f_back
    return f"in {location}{call}"


def _format_location(frame: FrameType) -> str:
    code = frame.f_code
    path = "/".join(code.co_filename.replace("\\", "/").rsplit("/", 3)[1:])
    return f"{code.co_qualname} ({path}:{frame.f_lineno})"


def _describe_call(frame: FrameType) -> str:
    request = frame.f_locals.get("request")  # a parameter of `Dispatcher._run`
    method, params = getattr(request, "method", ""), getattr(request, "params", {})
    name = params.get("name") or params.get("uri") or ""
    return f", for {method} {str(name)[:100]}".rstrip() if method else ""
