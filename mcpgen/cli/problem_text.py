"""How a problem is laid out for people."""

from __future__ import annotations

from rich.cells import cell_len
from rich.text import Text

from mcpgen.cli.report import visible
from mcpgen.diagnostics import Diagnostic, Location, Severity

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "bold cyan"}
_MAX_EXCERPT = 100  # characters of a line that are shown; minified documents have one line


def problem_text(problem: Diagnostic) -> Text:
    """Lay a problem out for people: what, where with an excerpt, why, and how to mend it."""
    style = _STYLES[problem.severity]
    text = Text()
    text.append(f"{problem.severity.value}[{problem.code}]", style)
    text.append(f": {visible(problem.message)}")
    if problem.at is not None:
        _append_place(text, problem.at, style)
    for label, sentence in (("why: ", problem.why), ("help:", problem.help)):
        if sentence:
            text.append(f"\n  {label} ", "bold")
            text.append("\n        ".join(visible(line) for line in sentence.splitlines()))
    return text


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
    """Cut the excerpt before, at and after the marked place, each made visible."""
    start = max(0, min(at.column - 1, len(at.excerpt)))
    width = min(max(1, at.width), _MAX_EXCERPT)
    left = 0 if len(at.excerpt) <= _MAX_EXCERPT else max(0, start - _MAX_EXCERPT // 4)
    right = max(left + _MAX_EXCERPT, start + width)
    before = ("…" if left else "") + visible(at.excerpt[left:start])
    marked = visible(at.excerpt[start : start + width])
    after = visible(at.excerpt[start + width : right]) + ("…" if right < len(at.excerpt) else "")
    return before, marked, after
