"""What the user sees: the only module of the generator that prints.

Results go to stdout and problems to stderr. With `--json` one JSON object goes to stdout and
nothing else anywhere.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO

from mcpgen.cli.exit_codes import EXIT_CODES
from mcpgen.cli.output.visible import visible
from mcpgen.diagnostics import Diagnostic, Severity
from mcpgen.pipeline.outcome import Outcome

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status


@dataclass(slots=True)
class Printer:
    """Shows one command's results and problems, as text or as JSON."""

    as_json: bool = False
    is_quiet: bool = False
    is_verbose: bool = False  # lists what is only counted otherwise
    is_unattended: bool = False  # nobody watches: no progress, no questions
    stdout: TextIO = field(default_factory=lambda: sys.stdout)
    stderr: TextIO = field(default_factory=lambda: sys.stderr)
    _problems: list[Diagnostic] = field(default_factory=list, init=False)
    _facts: dict[str, Any] = field(default_factory=dict, init=False)
    _status: Status | None = field(default=None, init=False)

    @property
    def asks(self) -> bool:
        """Whether there is someone to ask."""
        return not (self.as_json or self.is_unattended) and sys.stdin.isatty()

    def result(self, line: str = "") -> None:
        """Print one line of what was asked for."""
        if not self.as_json:
            _write(self.stdout, f"{line}\n")

    def raw(self, text: str) -> None:
        """Print `text` as it stands for another program, and made visible for a terminal."""
        if self.as_json:
            return
        if self.stdout.isatty():
            text = "".join(f"{visible(line)}\n" for line in text.splitlines())
        _write(self.stdout, text)

    def log(self, text: str) -> None:
        """Print what a server wrote to its log; `--json` has its lines as `log`."""
        lines = text.splitlines()
        if lines:
            self.fact(log=lines)
        if not self.as_json:
            for line in lines:
                _write(self.stderr, f"  log: {visible(line)}\n")

    def fact(self, **facts: Any) -> None:
        """Keep what `--json` gives beside the outcome."""
        self._facts.update(facts)

    def problems(self, found: Iterable[Diagnostic]) -> None:
        """Print problems in the order given and remember them for the count.

        Cases without a sample are counted on one line, unless the user wants to read all of them.
        """
        counted_only = 0
        for problem in found:
            self._problems.append(problem)
            if self.as_json or (self.is_quiet and problem.severity is Severity.NOTE):
                continue
            if problem.code == "untested" and not self.is_verbose:
                counted_only += 1
            else:
                self._show(problem)
        if counted_only:
            cases = counted(counted_only, "test case")
            message = f"no sample generated for {cases}; --verbose lists them"
            self._show(Diagnostic("untested", Severity.NOTE, message))

    def error(self, code: str, message: str, *, why: str = "", help: str = "") -> None:
        """Print a problem that the command itself found, outside any document."""
        self.problems([Diagnostic(code, Severity.ERROR, message, None, why, help)])

    def note(self, code: str, message: str, *, why: str = "", help: str = "") -> None:
        """Print a note of the command itself."""
        self.problems([Diagnostic(code, Severity.NOTE, message, None, why, help)])

    def finish(self, outcome: Outcome, word: str = "") -> int:
        """Print the number of problems, or the JSON object, and return the exit code.

        `word` replaces the outcome in the JSON where a command has a more precise one.
        """
        if self.as_json:
            report = {
                "outcome": word or outcome.value,
                **self._facts,
                "findings": [finding(problem) for problem in self._problems],
            }
            _write(self.stdout, json.dumps(report, indent=2, ensure_ascii=True) + "\n")
        elif len(self._problems) > 1 and not self.is_quiet:
            _write(self.stderr, f"{counts(self._problems)}\n")
        return EXIT_CODES[outcome]

    @contextmanager
    def progress(self) -> Iterator[Callable[[str], None]]:
        """Show the step under way while it lasts, where someone watches a terminal."""
        is_watched = self.stderr.isatty() and not (self.is_quiet or self.is_unattended)
        if self.as_json or not is_watched:
            yield lambda _step: None
            return
        from rich.text import Text

        with _console(self.stderr).status("") as status:
            self._status = status
            try:
                yield lambda step: status.update(Text(visible(step)))
            finally:
                self._status = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop showing progress while the user answers a question."""
        if self._status is None:
            yield
            return
        self._status.stop()
        try:
            yield
        finally:
            self._status.start()

    def _show(self, problem: Diagnostic) -> None:
        from mcpgen.cli.output.problem_text import problem_text  # imports rich

        _console(self.stderr).print(problem_text(problem), soft_wrap=True)


def _write(stream: TextIO, text: str) -> None:
    """Write at once; where nobody reads on, as after `| head`, end without a word."""
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # what is left goes nowhere
        raise SystemExit(1) from None


def _console(stream: TextIO) -> Console:
    """Give what colours the output; its import takes longer than most commands need."""
    from rich.console import Console

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
