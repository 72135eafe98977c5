"""What every stage reports with: problems that say what, where, why and how to mend it."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import msgspec
from msgspec import Struct


class Severity(enum.StrEnum):
    """How much a problem stops: all, one operation's exactness, or nothing."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Location(Struct, frozen=True):
    """A place in a source file.

    `line` and `column` count from 1; 0 means that the place has no line of its own (a file that
    cannot be read). `pointer` is the JSON Pointer in that file's own document. `excerpt` is the
    text of the line and `width` how many of its characters, from `column`, are meant. Of a very
    long line only a part is kept: `excerpt_column` is the column where that part begins, and
    `is_cut` says whether the line goes on after it.
    """

    file: str
    line: int = 0
    column: int = 0
    pointer: str = ""
    excerpt: str = ""
    width: int = 1
    excerpt_column: int = 1
    is_cut: bool = False

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclass(frozen=True, slots=True)  # a `Struct` cannot leave a field out of its comparison
class Place:
    """Where a node stands in its document, looked up in the text only when a problem is told.

    Most nodes never have one, and in a large text each look-up costs more than reading the node.
    """

    pointer: str
    locate: Callable[[str], Location] = field(repr=False, compare=False)

    def location(self) -> Location:
        """The place in the text."""
        return self.locate(self.pointer)


class Diagnostic(Struct, frozen=True):
    """One problem. `code` names the fault in kebab-case and is stable between releases."""

    code: str
    severity: Severity
    message: str
    at: Location | None = None
    why: str = ""
    help: str = ""

    @property
    def sort_key(self) -> tuple[str, int, int, str, str]:
        """By file, then place, then code and text, so that every run prints the same order."""
        at = self.at or Location("")
        return (at.file, at.line, at.column, self.code, self.message)


class Problems(Struct):
    """The problems found so far. Stages add to it; only the command line prints it.

    Some are found by work that goes on elsewhere; to go through the problems waits for it.
    """

    _found: dict[Diagnostic, None] = msgspec.field(default_factory=dict)  # each is told once
    _pending: list[Callable[[Problems], None]] = msgspec.field(default_factory=list)

    def error(
        self,
        code: str,
        message: str,
        *,
        at: Location | Place | None = None,
        why: str = "",
        help: str = "",
    ) -> None:
        """Record what stops the run."""
        self._add(Severity.ERROR, code, message, at, why, help)

    def warning(
        self,
        code: str,
        message: str,
        *,
        at: Location | Place | None = None,
        why: str = "",
        help: str = "",
    ) -> None:
        """Record what was repaired, dropped or left out; the rest goes on."""
        self._add(Severity.WARNING, code, message, at, why, help)

    def note(
        self,
        code: str,
        message: str,
        *,
        at: Location | Place | None = None,
        why: str = "",
        help: str = "",
    ) -> None:
        """Record what is worth knowing and needs no action."""
        self._add(Severity.NOTE, code, message, at, why, help)

    def _add(
        self,
        severity: Severity,
        code: str,
        message: str,
        at: Location | Place | None,
        why: str,
        help: str,
    ) -> None:
        found = at.location() if isinstance(at, Place) else at
        self._found[Diagnostic(code, severity, message, found, why, help)] = None

    def extend(self, others: Problems) -> None:
        """Take over what was collected apart."""
        self._found.update(others._found)
        self._pending += others._pending
        others._pending.clear()

    def add_later(self, add: Callable[[Problems], None]) -> None:
        """Have `add` wait for work that is under way and add what it found; never an error."""
        self._pending.append(add)

    def join(self) -> None:
        """Wait for what is added later."""
        while self._pending:
            self._pending.pop(0)(self)

    @property
    def has_errors(self) -> bool:
        """Whether anything found so far stops the run."""
        return any(problem.severity is Severity.ERROR for problem in self._found)

    def so_far(self) -> Iterable[Diagnostic]:
        """Return the problems found so far, in the order in which they were found."""
        return self._found.keys()

    def __iter__(self) -> Iterator[Diagnostic]:
        self.join()
        return iter(sorted(self._found, key=lambda problem: problem.sort_key))

    def __len__(self) -> int:
        """Count the problems found so far."""
        return len(self._found)


class RejectedError(Exception):
    """A stage has nothing to hand on. The reasons are in its `Problems`, never in this exception.

    Caught in one place, the pipeline.
    """


class OperationRefusedError(Exception):
    """One operation cannot be served; says so as a diagnostic does.

    The stages that go through operations catch it for each, and leave that one out.
    """

    def __init__(self, code: str, message: str, at: Location | Place, help: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.at = at
        self.help = help


def did_you_mean(written: str, known: Iterable[str], otherwise: str) -> str:
    """Give the help for a name that is not known: which of the `known` is near, or `otherwise`."""
    from difflib import get_close_matches  # only on the way to a problem

    near = get_close_matches(written, known, n=1, cutoff=0.5)
    return f"did you mean `{near[0]}`?" if near else otherwise
