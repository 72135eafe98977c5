"""Output of commands: the only module of the generator that prints.

Results go to stdout and problems to stderr. With `--json` one JSON object goes to stdout and
nothing else anywhere.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO

from mcpgen.cli.exit_codes import EXIT_CODES
from mcpgen.cli.output.visible import visible
from mcpgen.diagnostics import Diagnostic, Severity
from mcpgen.pipeline.options import Outcome, StageNote
from mcpgen.text.counts import format_count

if TYPE_CHECKING:
    from threading import Thread

    from rich.console import Console, RenderableType
    from rich.live import Live

    from mcpgen.cli.output.stages import Stage, Stages

_COLOUR_VARIABLES = {"FORCE_COLOR", "TTY_COMPATIBLE"}
"""With one of them, rich may write colours although the output is no terminal."""


@dataclass(slots=True)
class Printer:
    """Output of one command's results and problems, as text or as JSON."""

    as_json: bool = False
    is_quiet: bool = False
    is_verbose: bool = False  # lists items that are only counted by default
    is_unattended: bool = False  # no progress, no questions
    stdout: TextIO = field(default_factory=lambda: sys.stdout)
    stderr: TextIO = field(default_factory=lambda: sys.stderr)
    _problems: list[Diagnostic] = field(default_factory=list, init=False)
    _facts: dict[str, Any] = field(default_factory=dict, init=False)
    _live: Live | None = field(default=None, init=False)
    _animated: Callable[[], RenderableType] | None = field(default=None, init=False)
    _threads: Set[Thread] = field(default=frozenset(), init=False)  # of the animation

    @property
    def can_ask(self) -> bool:
        """Whether commands may ask questions."""
        return not (self.as_json or self.is_unattended) and sys.stdin.isatty()

    def result(self, line: str = "") -> None:
        """Print one line of the result."""
        if not self.as_json:
            _write(self.stdout, f"{line}\n")

    def section(self, heading: str, rows: Iterable[tuple[str, str]]) -> None:
        """Print a heading, and rows of a label and a text; a terminal wraps the texts.

        A text without a label is a command, which is not wrapped: it can be pasted.
        """
        if self.as_json:
            return
        rows = [(visible(label), visible(text)) for label, text in rows]
        if self.stdout.isatty():
            from mcpgen.cli.output.sections import print_section  # imports rich

            print_section(_console(self.stdout), heading, rows)
            return
        width = max((len(label) for label, _ in rows), default=0)
        self.result(f"\n{heading}:")
        for label, text in rows:
            self.result(f"  {label:<{width}}  {text}".rstrip() if width else f"  {text}")

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
        """Show the current stage on a terminal."""
        if not self._animates:
            yield lambda _stage: None
            return
        from rich.spinner import Spinner
        from rich.text import Text

        spinner = Spinner("dots")
        with self._animate(lambda: spinner):
            yield (
                lambda stage: (
                    None
                    if isinstance(stage, StageNote)
                    else spinner.update(text=Text(visible(stage)))
                )
            )

    @contextmanager
    def stages(self) -> Iterator[Stages]:
        """Show all stages of a run on a terminal; one line remains, or all if the run fails.

        With `--verbose` all remain, and are printed as plain lines without a terminal.
        """
        from mcpgen.cli.output.stages import Stages

        if not self._animates:
            is_shown = self.is_verbose and not (self.as_json or self.is_quiet)
            stages = Stages(self._print_stage if is_shown else None)
            with stages.run():
                yield stages
            return
        from rich.spinner import Spinner

        spinner, stages = Spinner("dots"), Stages()
        try:
            with self._animate(lambda: stages.render(spinner)), stages.run():
                yield stages
        except KeyboardInterrupt:  # no stage failed
            raise
        except BaseException:
            _console(self.stderr).print(stages.render(spinner))
            raise
        if stages.has_failed or self.is_verbose:
            _console(self.stderr).print(stages.render(spinner))
        else:
            _write(self.stderr, f"{stages.record()}\n")

    @contextmanager
    def pause_progress(self) -> Iterator[None]:
        """Stop showing progress while the user answers a question."""
        render = self._animated
        if self._live is None or render is None:
            yield
            return
        self._live.stop()
        for thread in self._threads:  # which ends a moment later
            thread.join()
        try:
            yield
        finally:
            self._start(render)

    @property
    def _animates(self) -> bool:
        is_silent = self.as_json or self.is_quiet or self.is_unattended
        return not is_silent and self.stderr.isatty() and os.environ.get("TERM") != "dumb"

    @contextmanager
    def _animate(self, render: Callable[[], RenderableType]) -> Iterator[None]:
        from mcpgen.forked import pause_at_forks

        self._animated = render
        self._start(render)
        try:
            with pause_at_forks(self.pause_progress):
                yield
        finally:
            if self._live is not None:
                self._live.stop()
            self._live = self._animated = None

    def _start(self, render: Callable[[], RenderableType]) -> None:
        """Start an animation below what the terminal shows; a stopped one would overwrite it."""
        import threading

        from rich.live import Live

        others = {*threading.enumerate()}
        self._live = Live(
            console=_console(self.stderr),
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
            get_renderable=render,
        )
        self._live.start()
        self._threads = {*threading.enumerate()} - others

    def _print_stage(self, stage: Stage) -> None:
        _write(self.stderr, f"{stage.describe()}\n")

    def _show(self, problem: Diagnostic) -> None:
        from mcpgen.cli.output.problem_text import lay_out_problem

        if not (self.stderr.isatty() or _COLOUR_VARIABLES & os.environ.keys()):
            _write(self.stderr, "".join(text for text, _ in lay_out_problem(problem)) + "\n")
            return
        from rich.text import Text

        console = _console(self.stderr)
        width = console.width if self.stderr.isatty() else 0
        console.print(Text.assemble(*lay_out_problem(problem, width)), soft_wrap=True)


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


def format_counts(problems: Iterable[Diagnostic]) -> str:
    """Count problems by severity: "2 errors, 1 warning, 3 waived"."""
    found = Counter(None if problem.waived else problem.severity for problem in problems)
    counts = [
        format_count(found[severity], severity.value) for severity in Severity if found[severity]
    ]
    return ", ".join([*counts, f"{found[None]:,} waived"] if found[None] else counts)


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
        **({"waived": problem.waived.as_json()} if problem.waived else {}),
    }
