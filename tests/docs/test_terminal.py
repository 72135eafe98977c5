"""Tests that a terminal shows the screens of the documentation after the same keys.

A comment above a screen names the size, the command, and for each text that appears the keys that
are then pressed (in tmux's names); `\\n` in a text ends a line. A text that an earlier step left on
the screen would have the keys pressed too early. The screen is taken when the last text appears.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from msgspec import Struct

from tests.docs.generated.pages import DOCS, REPOSITORY
from tests.docs.page_runner import blocks_of
from tests.support.terminal import open_terminal

_SCREEN = re.compile(
    r"<!-- terminal (?P<columns>\d+)x(?P<rows>\d+): (?P<command>.*)\n(?P<steps>(?:.* ->.*\n)+)-->\n"
    r"```text\n(?P<shown>(?:(?!```).*\n)*)```\n"
)
_COPY = re.compile(r"^<!-- copy: (\S+) -->$", re.MULTILINE)
_RECORD = re.compile(r"(stages? in )\d.*")
_SECONDS = re.compile(r"\b\d+\.\d\ds\b")


class Screen(Struct, frozen=True):
    """One screen of a page."""

    path: Path
    number: int
    match: re.Match[str]

    def __str__(self) -> str:
        return f"{self.path.stem}-{self.number}"


SCREENS = [
    Screen(path, number, match)
    for path in sorted(DOCS.rglob("*.md"))
    for number, match in enumerate(_SCREEN.finditer(path.read_text("utf-8")))
]


def test_there_are_screens() -> None:
    assert SCREENS


@pytest.mark.parametrize("screen", SCREENS, ids=str)
def test_a_terminal_shows_the_documented_screen(
    screen: Screen, tmp_path: Path, updates: bool
) -> None:
    page = screen.path.read_text("utf-8")
    folder = tmp_path / "work"
    folder.mkdir()
    for name in _COPY.findall(page):
        shutil.copy(REPOSITORY / name, folder)
    for block, _ in blocks_of(page):
        if block.title:
            (folder / block.title).write_text("\n".join(block.lines) + "\n")

    shown = take_screen(screen.match, folder, tmp_path)

    if updates:
        old = list(_SCREEN.finditer(page))[screen.number]
        start, end = old.span("shown")
        screen.path.write_text(f"{page[:start]}{shown}{page[end:]}", "utf-8")
        return
    assert shown == screen.match["shown"]


def take_screen(match: re.Match[str], folder: Path, home: Path) -> str:
    """Run the command of a screen, and return the final screen."""
    size = (int(match["columns"]), int(match["rows"]))
    with open_terminal(folder, match["command"], size=size, socket_folder=home) as terminal:
        for step in match["steps"].splitlines():
            text, _, keys = step.partition("->")
            terminal.wait_for(text.strip().replace(r"\n", "\n"))
            if keys.strip():
                terminal.press(*keys.split())
        return settle(terminal.screen())


def settle(shown: str) -> str:
    """Replace times, which differ between runs, and remove the exit code of a success."""
    lines = [
        _SECONDS.sub("0.00s", _RECORD.sub(r"\1…", line))
        for line in shown.splitlines()
        if line != "exit code 0"
    ]
    return "".join(f"{line}\n" for line in lines)
