"""SIGTERM, SIGINT and SIGHUP: the first requests a graceful shutdown, a second exits at once.

SIGHUP never counts as the second one: a service manager may send it along with SIGTERM, and a
closing terminal sends it to all of its processes.
"""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final, NoReturn

FINAL_WRITE_SECONDS: Final = 5  # for a client that does not read its last messages


class ShutdownSignals:
    """Handlers of the shutdown signals, with or without an event loop.

    They are Python's signal handlers and not an event loop's: a tool handler that blocks the loop
    would keep the loop from seeing the second signal.
    """

    def __init__(self) -> None:
        self.is_received = False
        self._has_terminated = False  # SIGTERM or SIGINT was received
        self._callback: Callable[[], object] | None = None
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            signal.signal(signal.SIGHUP, self._on_hangup)  # `nohup` has it ignored

    def set_callback(self, callback: Callable[[], object] | None) -> None:
        """Call `callback` at the first signal, or now if that signal was already received."""
        self._callback = callback
        if self.is_received and callback is not None:
            callback()

    def _on_signal(self, number: int, _: object) -> None:
        if self._has_terminated:
            os._exit(128 + number)  # a second signal means: do not wait
        self._has_terminated = True
        self.request()

    def _on_hangup(self, _: int, __: object) -> None:
        self.request()

    def request(self) -> None:
        """Request a graceful shutdown, as the first signal does."""
        if not self.is_received:
            self.is_received = True
            if self._callback is not None:
                self._callback()


last_steps: list[Callable[[], object]] = []
"""Called before the process exits without `finally` and `atexit`; each takes a bounded time."""


def exit_abandoning_handlers() -> NoReturn:
    """Exit although handlers still run: in a thread, or ignoring their cancellation.

    Nothing else ends them, and Python would wait for them for ever.
    """
    from mcpgen.runtime.process.output_queue import flush_output  # too late for `atexit`

    for step in last_steps:
        step()
    flush_output()
    os._exit(0)
