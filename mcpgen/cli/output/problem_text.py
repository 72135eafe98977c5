"""Layout of problems for users."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from rich.cells import cell_len

from mcpgen.cli.output.visible import visible
from mcpgen.diagnostics import Diagnostic, Location, Severity

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "bold cyan"}
_INDENT = "        "  # below the labels
_LEAST_ROOM = 20
_MAX_CELLS = 100  # of a terminal, for a line; minified documents have one line


Part = tuple[str, str]
"""A piece of text, and its style; "" for none."""


def lay_out_problem(problem: Diagnostic, width: int = 0) -> Iterator[Part]:
    """Yield the text of a problem: the fault, its location with an excerpt, reason and help.

    A terminal's `width`, if known, wraps the reason and the help.
    """
    style = _STYLES[problem.severity]
    yield f"{problem.severity.value}[{problem.code}]", style
    yield f": {visible(problem.message)}", ""
    if problem.at is not None:
        yield from _lay_out_place(problem.at, style)
    waived = str(problem.waived) if problem.waived else ""
    for label, sentence in (("why: ", problem.why), ("help:", problem.help), ("waived", waived)):
        if sentence:
            yield f"\n  {label} ", "bold"
            lines = [part for line in sentence.splitlines() for part in _wrap(visible(line), width)]
            yield f"\n{_INDENT}".join(lines), ""


def _wrap(line: str, width: int) -> list[str]:
    """Break a line at its spaces; words are never broken, since they may be commands or paths."""
    if not width:
        return [line]
    room = max(width - len(_INDENT), _LEAST_ROOM)
    return textwrap.wrap(line, room, break_long_words=False, break_on_hyphens=False) or [""]


def _lay_out_place(at: Location, style: str) -> Iterator[Part]:
    yield "\n  --> ", "blue"
    yield visible(str(at)), ""
    if at.pointer:
        yield f"\n      {visible(at.pointer)}", "dim"
    if at.line and at.excerpt:
        before, marked, after = _window(at)
        number = f"{at.line:>5}"
        yield f"\n{number} | ", "blue"
        yield f"{before}{marked}{after}", ""
        yield f"\n{' ' * len(number)} | ", "blue"
        yield " " * cell_len(before), ""
        yield "^" * max(1, cell_len(marked)), style


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
