"""Output of commands: the only module of the generator that prints.

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
from mcpgen.pipeline.options import Outcome

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status


@dataclass(slots=True)
class Printer:
    """Output of one command's results and problems, as text or as JSON."""

    as_json: bool = False
    is_quiet: bool = False
    is_verbose: bool = False  # lists what is only counted by default
    is_unattended: bool = False  # no progress, no questions
    stdout: TextIO = field(default_factory=lambda: sys.stdout)
    stderr: TextIO = field(default_factory=lambda: sys.stderr)
    _problems: list[Diagnostic] = field(default_factory=list, init=False)
    _facts: dict[str, Any] = field(default_factory=dict, init=False)
    _status: Status | None = field(default=None, init=False)

    @property
    def asks(self) -> bool:
        """Whether commands may ask questions."""
        return not (self.as_json or self.is_unattended) and sys.stdin.isatty()

    def result(self, line: str = "") -> None:
        """Print one line of the result."""
        if not self.as_json:
            _write(self.stdout, f"{line}\n")

    def raw(self, text: str) -> None:
        """Print `text` unchanged, or escaped to a terminal."""
        if self.as_json:
            return
        if self.stdout.isatty():
            text = "".join(f"{visible(line)}\n" for line in text.splitlines())
        _write(self.stdout, text)

    def log(self, text: str) -> None:
        """Print the log of a server; `--json` has its lines as `log`."""
        lines = text.splitlines()
        if lines:
            self.fact(log=lines)
        if not self.as_json:
            for line in lines:
                _write(self.stderr, f"  log: {visible(line)}\n")

    def fact(self, **facts: Any) -> None:
        """Store members of the JSON object."""
        self._facts.update(facts)

    def problems(self, found: Iterable[Diagnostic]) -> None:
        """Print problems in their order and store them for the count.

        Without `--verbose`, test cases without a sample are only counted.
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
            cases = format_count(counted_only, "test case")
            message = f"no sample generated for {cases}; --verbose lists them"
            self._show(Diagnostic("untested", Severity.NOTE, message))

    def error(self, code: str, message: str, *, why: str = "", help: str = "") -> None:
        """Print an error of the command itself, without a location."""
        self.problems([Diagnostic(code, Severity.ERROR, message, None, why, help)])

    def note(self, code: str, message: str, *, why: str = "", help: str = "") -> None:
        """Print a note of the command itself, without a location."""
        self.problems([Diagnostic(code, Severity.NOTE, message, None, why, help)])

    def finish(self, outcome: Outcome, word: str = "") -> int:
        """Print the number of problems, or the JSON object, and return the exit code.

        `word` replaces the outcome in the JSON where a command has a more precise one.
        """
        if self.as_json:
            report = {
                "outcome": word or outcome.value,
                **self._facts,
                "findings": [
                    *self._facts.get("findings", ()),  # of commands whose findings have more fields
                    *(format_problem_json(problem) for problem in self._problems),
                ],
            }
            _write(self.stdout, json.dumps(report, indent=2, ensure_ascii=True) + "\n")
        elif len(self._problems) > 1 and not self.is_quiet:
            _write(self.stderr, f"{format_counts(self._problems)}\n")
        return EXIT_CODES[outcome]

    @contextmanager
    def progress(self) -> Iterator[Callable[[str], None]]:
        """Show the current step on a terminal."""
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
    def pause_progress(self) -> Iterator[None]:
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
    """Write and flush; end the process silently if the reader has closed, as after `| head`."""
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # for the output that is left
        raise SystemExit(1) from None


def _console(stream: TextIO) -> Console:
    """Return a console with colours; its import takes longer than most commands."""
    from rich.console import Console

    return Console(file=stream, highlight=False, markup=False, emoji=False)


def format_count(number: int, noun: str) -> str:
    """Format a number of things: "1 tool", "1,223 operations"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def format_counts(problems: Iterable[Diagnostic]) -> str:
    """Count problems by severity: "2 errors, 1 warning"."""
    found = Counter(problem.severity for problem in problems)
    return ", ".join(
        format_count(found[severity], severity.value) for severity in Severity if found[severity]
    )


def format_problem_json(problem: Diagnostic) -> Mapping[str, Any]:
    """Return a problem for `--json`; an unknown line or column is null."""
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
