"""Layout of problems for users."""

from __future__ import annotations

import textwrap

from rich.cells import cell_len
from rich.text import Text

from mcpgen.cli.output.visible import visible
from mcpgen.diagnostics import Diagnostic, Location, Severity

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "bold cyan"}
_INDENT = "        "  # below the labels
_LEAST_ROOM = 20
_MAX_CELLS = 100  # of a terminal, for a line; minified documents have one line


def problem_text(problem: Diagnostic, width: int = 0) -> Text:
    """Format a problem for users: the fault, its location with an excerpt, the reason and the help.

    A terminal's `width`, if known, wraps the reason and the help.
    """
    style = _STYLES[problem.severity]
    text = Text()
    text.append(f"{problem.severity.value}[{problem.code}]", style)
    text.append(f": {visible(problem.message)}")
    if problem.at is not None:
        _append_place(text, problem.at, style)
    waived = str(problem.waived) if problem.waived else ""
    for label, sentence in (("why: ", problem.why), ("help:", problem.help), ("waived", waived)):
        if sentence:
            text.append(f"\n  {label} ", "bold")
            lines = [part for line in sentence.splitlines() for part in _wrap(visible(line), width)]
            text.append(f"\n{_INDENT}".join(lines))
    return text


def _wrap(line: str, width: int) -> list[str]:
    """Break a line at its spaces; words are never broken, since they may be commands or paths."""
    if not width:
        return [line]
    room = max(width - len(_INDENT), _LEAST_ROOM)
    return textwrap.wrap(line, room, break_long_words=False, break_on_hyphens=False) or [""]


def _append_place(text: Text, at: Location, style: str) -> None:
    text.append("\n  --> ", "blue")
    text.append(visible(str(at)))
    if at.pointer:
        text.append(f"\n      {visible(at.pointer)}", "dim")
    if at.line and at.excerpt:
        before, marked, after = _window(at)
        number = f"{at.line:>5}"
        text.append(f"\n{number} | ", "blue")
        text.append(f"{before}{marked}{after}")
        text.append(f"\n{' ' * len(number)} | ", "blue")
        text.append(" " * cell_len(before))
        text.append("^" * max(1, cell_len(marked)), style)


def _window(at: Location) -> tuple[str, str, str]:
    """Return the excerpt before, at and after the marked place, cut to fit and made visible.

    A quarter of the available width is before the place, more if the text after it is shorter.
    """
    start = max(0, min(at.column - at.excerpt_column, len(at.excerpt)))
    end = start + max(1, at.width)
    before = visible(at.excerpt[:start])
    marked = _first_cells(visible(at.excerpt[start:end]), _MAX_CELLS)
    after = visible(at.excerpt[end:])
    room = _MAX_CELLS - cell_len(marked)
    shown_after = _first_cells(after, max(room - cell_len(before), room * 3 // 4))
    shown_before = _last_cells(before, room - cell_len(shown_after))
    is_cut_before = at.excerpt_column > 1 or shown_before != before
    is_cut_after = at.is_cut or shown_after != after
    return "…" * is_cut_before + shown_before, marked, shown_after + "…" * is_cut_after


def _first_cells(text: str, cells: int) -> str:
    """The start of `text` that fills at most so many cells of a terminal."""
    for end, character in enumerate(text):
        cells -= cell_len(character)
        if cells < 0:
            return text[:end]
    return text


def _last_cells(text: str, cells: int) -> str:
    """The end of `text` that fills at most so many cells; no mark without its letter."""
    start = len(text)
    for index in range(len(text) - 1, -1, -1):
        width = cell_len(text[index])
        cells -= width
        if cells < 0:
            break
        if width:
            start = index
    return text[start:]
