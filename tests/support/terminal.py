"""A terminal of a given size in tmux: keys go in, and the screen is read as text."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from tests.support.programs import find_program

WAIT_SECONDS = 120.0
_STEP_SECONDS = 0.05


class Terminal:
    """One session of a separate tmux server."""

    def __init__(self, socket: Path) -> None:
        self._tmux = [find_program("tmux"), "-S", str(socket), "-f", os.devnull]

    def start(
        self, size: tuple[int, int], command: str, folder: Path, variables: Mapping[str, str]
    ) -> None:
        """Start a command in a terminal of this many columns and rows.

        tmux replaces some variables of the session, such as PATH, by those of its own process.
        """
        columns, rows = size
        options = [word for item in variables.items() for word in ("-e", "=".join(item))]
        self._run(
            *("new-session", "-d", "-x", str(columns), "-y", str(rows), "-c", str(folder)),
            *(*options, "sh", "-c", command),
            variables=variables,
        )

    def press(self, *keys: str) -> None:
        """Press keys, by tmux's names (`Enter`, `C-c`, `Down`), or type text."""
        self._run("send-keys", *keys)

    def screen(self) -> str:
        """Return the lines on the screen, without trailing blanks."""
        lines = self._run("capture-pane", "-p").splitlines()
        return "\n".join(line.rstrip() for line in lines).rstrip()

    def history(self) -> str:
        """Return the lines on the screen and the lines scrolled off it."""
        lines = self._run("capture-pane", "-p", "-S", "-1000").splitlines()
        return "\n".join(line.rstrip() for line in lines).rstrip()

    def wait_for(self, text: str) -> str:
        """Wait until the screen contains a text, and return the screen."""
        return self._wait(lambda screen: text in screen, f"no {text!r} on the screen")

    def wait_for_change(self, before: str) -> str:
        """Wait until the screen differs from `before`, and return it."""
        return self._wait(lambda screen: screen != before, "the screen did not change")

    def close(self) -> None:
        """End the session and its server."""
        subprocess.run([*self._tmux, "kill-server"], check=False, capture_output=True)

    def _wait(self, is_reached: Callable[[str], bool], fault: str) -> str:
        end = time.monotonic() + WAIT_SECONDS
        while not is_reached(screen := self.screen()):
            assert time.monotonic() < end, f"{fault}:\n{screen}"
            time.sleep(_STEP_SECONDS)
        return screen

    def _run(self, *arguments: str, variables: Mapping[str, str] = MappingProxyType({})) -> str:
        done = subprocess.run(
            [*self._tmux, *arguments],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout


@contextlib.contextmanager
def open_terminal(
    folder: Path, command: str, *, size: tuple[int, int] = (80, 24), socket_folder: Path
) -> Iterator[Terminal]:
    """Run a command in a terminal in which `mcpgen` is that of this checkout."""
    terminal = Terminal(socket_folder / "tmux")
    variables = {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "HOME": str(socket_folder),
        "CI": "",
        "COLUMNS": "",  # readline, which pytest imports, sets both behind Python's back
        "LINES": "",
        "NO_COLOR": "1",
    }
    # The pane stays open, so that its last screen can be read.
    shown = f"printf '$ %s\\n' {shlex.quote(command)}"
    kept = f"{shown}; {command}; echo exit code $?; exec sleep {WAIT_SECONDS:.0f}"
    try:
        terminal.start(size, kept, folder, variables)
        yield terminal
    finally:
        terminal.close()
