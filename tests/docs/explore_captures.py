"""Terminal captures of `mcpgen explore` for docs/how-to/explore.md.

`python -m tests.docs.explore_captures` writes the captures of the page anew. It needs tmux.
"""

from __future__ import annotations

import re
import select
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.docs.generated.pages import DOCS
from tests.support.paths import EXAMPLES
from tests.support.terminal import Terminal, open_terminal

PAGE: Final = DOCS / "how-to" / "explore.md"
# Textual prefers the variables to the size of the terminal.
COMMAND: Final = (
    f"env -u COLUMNS -u LINES {shlex.quote(sys.executable)} -m mcpgen explore petstore-mcp"
)
FOCUSED: Final = "█"  # before the input that has the focus
_STILL: Final = 6  # screens in a row that must be the same
_PAUSE_SECONDS: Final = 0.05
_BLOCK: Final = re.compile(r"(<!-- capture: (\w+) -->\n```text\n)(.*?)(\n```)", re.DOTALL)
_DURATION: Final = re.compile(r"(?<=in )(?:\d+ ms|\d+\.\d s)(?: +(?=│))?")
_PORT: Final = re.compile(r"127\.0\.0\.1:\d+")


def capture_all() -> dict[str, str]:
    """Return the captures by their names in the page."""
    captures = {}
    with running_view((80, 24)) as terminal:
        choose(terminal, "get_pet")
        terminal.press("7")
        captures["form"] = capture(terminal, f"{FOCUSED} 7")
        terminal.press("C-r")
        captures["result"] = capture(terminal, "The text is the same JSON.")
        terminal.press("F5")
        captures["request"] = capture(terminal, "< 200")
    with running_view((120, 30)) as terminal:
        choose(terminal, "list_vaccinations")
        terminal.press("7")
        terminal.wait_for(f"{FOCUSED} 7")
        terminal.press("C-r")
        terminal.wait_for("list_vaccinations: done")
        terminal.press("F2")
        captures["wide"] = capture(terminal, f"{FOCUSED} 7")
    return {name: normalize(text) for name, text in captures.items()}


@contextmanager
def running_view(size: tuple[int, int]) -> Iterator[Terminal]:
    """Run the view; quit it at the end, and require exit code 0."""
    with (
        tempfile.TemporaryDirectory() as own,
        open_terminal(EXAMPLES, COMMAND, size=size, socket_folder=Path(own)) as terminal,
    ):
        yield terminal
        terminal.press("C-q")
        terminal.wait_for("exit code 0")


def choose(terminal: Terminal, tool: str) -> None:
    """Filter the list, and move to the form of the only tool that matches.

    A key that moves the focus is awaited: what is typed at once may overtake it.
    """
    terminal.wait_for("cancel_order")
    terminal.press("C-f")
    terminal.wait_for(f"{FOCUSED} filter")
    terminal.press(tool)
    terminal.wait_for(f"│ {tool}")
    terminal.press("Enter")
    terminal.wait_for(f"{FOCUSED} omitted")


def capture(terminal: Terminal, text: str) -> str:
    """Wait until the terminal shows a text and no longer changes; return its lines."""
    last = terminal.wait_for(text)
    unchanged = 0
    while unchanged < _STILL:
        select.select([], [], [], _PAUSE_SECONDS)
        shown = terminal.wait_for(text)
        unchanged, last = (unchanged + 1 if shown == last else 0), shown
    return last


def normalize(capture: str) -> str:
    """Replace what differs between runs: ports, and durations with the spaces after them."""
    return _PORT.sub("127.0.0.1:8000", _DURATION.sub(_replace_duration, capture))


def _replace_duration(found: re.Match[str]) -> str:
    return "12 ms".ljust(len(found[0])) if found[0].endswith(" ") else "12 ms"


def write_captures(page: str, captures: dict[str, str]) -> str:
    """Return a page with these captures."""
    return _BLOCK.sub(lambda found: f"{found[1]}{captures[found[2]]}{found[4]}", page)


def list_captures(page: str) -> list[str]:
    """Return the names of the captures in a page."""
    return [found[2] for found in _BLOCK.finditer(page)]


if __name__ == "__main__":
    PAGE.write_text(write_captures(PAGE.read_text("utf-8"), capture_all()), "utf-8")
