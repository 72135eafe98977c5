"""SIGTERM and SIGINT: the first asks the server to leave, the second ends the process at once."""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final, NoReturn

LAST_WORDS_SECONDS: Final = 5  # for a client that does not read what was left for it


class Departure:
    """Hears both signals from now on, one event loop or none: no signal falls in between.

    It does so in Python's own way, and not in an event loop's, which a handler that never gives
    way would keep from hearing the second one.
    """

    def __init__(self) -> None:
        self.is_asked = False
        self._act: Callable[[], object] | None = None
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)

    def when_asked(self, act: Callable[[], object] | None) -> None:
        """Have the first signal do this from now on, and do it now if that signal has come."""
        self._act = act
        if self.is_asked and act is not None:
            act()

    def _on_signal(self, number: int, _: object) -> None:
        if self.is_asked:
            os._exit(128 + number)  # whoever sends it twice will not wait
        self.is_asked = True
        if self._act is not None:
            self._act()


def leave_handlers_behind() -> NoReturn:
    """End the process although handlers still run: in a thread, or ignoring that they must stop.

    Nothing else ends them, and Python would wait for them for ever.
    """
    if sys.stderr is not None:
        sys.stderr.flush()
    os._exit(0)
