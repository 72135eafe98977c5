"""What the user sees: the only module of the generator that prints.

Results go to stdout and problems to stderr. With `--json` one JSON object goes to stdout and
nothing else anywhere.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from mcpgen.diagnostics import Diagnostic, Location, Severity

if TYPE_CHECKING:
    from rich.console import RenderableType

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "bold cyan"}
_MAX_EXCERPT = 100  # characters of a line that are shown; minified documents have one line
_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


def visible(text: str) -> str:
    """Give `text` on one line, with what could steer a terminal or hide from a reader spelled out.

    Texts of documents reach the terminal through here: an escape sequence in one must not.
    """
    return _UNPRINTABLE.sub(
        lambda found: " " if found[0] == "\t" else f"\\u{ord(found[0]):04x}", text
    )


@dataclass(slots=True)
class Printer:
    """Shows one command's results and problems, as text or as JSON."""

    as_json: bool = False
    is_quiet: bool = False
    is_unattended: bool = False  # nobody watches: no progress, no questions
    stdout: TextIO = field(default_factory=lambda: sys.stdout)
    stderr: TextIO = field(default_factory=lambda: sys.stderr)
    _problems: list[Diagnostic] = field(default_factory=list, init=False)
    _facts: dict[str, Any] = field(default_factory=dict, init=False)

    @property
    def asks(self) -> bool:
        """Whether there is someone to ask."""
        return not (self.as_json or self.is_unattended) and sys.stdin.isatty()

    def result(self, line: RenderableType = "") -> None:
        """Print one line, or one table, of what was asked for."""
        if not self.as_json:
            shown = Text(line) if isinstance(line, str) else line
            self._console(self.stdout).print(shown, soft_wrap=True)

    def raw(self, text: str) -> None:
        """Print `text` as it stands for another program, and made visible for a terminal."""
        if self.as_json:
            return
        if self.stdout.isatty():
            text = "".join(f"{visible(line)}\n" for line in text.splitlines())
        self.stdout.write(text)

    def fact(self, **facts: Any) -> None:
        """Keep what `--json` gives beside the outcome."""
        self._facts.update(facts)

    def problems(self, found: Iterable[Diagnostic]) -> None:
        """Print problems in the order given and remember them for the count."""
        for problem in found:
            self._problems.append(problem)
            if self.as_json or (self.is_quiet and problem.severity is Severity.NOTE):
                continue
            self._console(self.stderr).print(diagnostic_text(problem), soft_wrap=True)

    def error(self, code: str, message: str, *, why: str = "", help: str = "") -> None:
        """Print a problem that the command itself found, outside any document."""
        self.problems([Diagnostic(code, Severity.ERROR, message, None, why, help)])

    def finish(self, outcome: str, exit_code: int) -> int:
        """Count several problems, or print the whole JSON object; give `exit_code` back."""
        if self.as_json:
            report = {
                "outcome": outcome,
                **self._facts,
                "findings": [finding(problem) for problem in self._problems],
            }
            json.dump(report, self.stdout, indent=2, ensure_ascii=True)
            self.stdout.write("\n")
        elif len(self._problems) > 1 and not self.is_quiet:
            self._console(self.stderr).print(Text(counts(self._problems)), soft_wrap=True)
        return exit_code

    @contextmanager
    def progress(self) -> Iterator[Callable[[str], None]]:
        """Show the step under way while it lasts, where someone watches a terminal."""
        console = self._console(self.stderr)
        if self.as_json or self.is_quiet or self.is_unattended or not console.is_terminal:
            yield lambda _step: None
            return
        with console.status("") as status:
            yield lambda step: status.update(Text(visible(step)))

    def _console(self, stream: TextIO) -> Console:
        return Console(file=stream, highlight=False, markup=False, emoji=False)


def counted(number: int, noun: str) -> str:
    """Spell a number of things: "1 tool", "1,223 operations"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def counts(problems: Iterable[Diagnostic]) -> str:
    """Count problems by severity: "2 errors, 1 warning"."""
    found = Counter(problem.severity for problem in problems)
    return ", ".join(
        counted(found[severity], severity.value) for severity in Severity if found[severity]
    )


def finding(problem: Diagnostic) -> Mapping[str, Any]:
    """Give a problem as JSON carries it; a place that has no line has null there."""
    at = problem.at
    return {
        "rule": problem.code,
        "severity": problem.severity.value,
        "file": at.file if at else None,
        "line": (at.line or None) if at else None,
        "column": (at.column or None) if at else None,
        "pointer": at.pointer if at else None,
        "message": problem.message,
        "why": problem.why,
        "help": problem.help,
    }


def diagnostic_text(problem: Diagnostic) -> Text:
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
