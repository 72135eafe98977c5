"""Diagnostics of the generator: a problem with its location, consequence and remedy.

Stages add problems to a `Problems` collection. Only the command line prints them.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from typing import TypedDict, Unpack

import msgspec
from msgspec import Struct


class Severity(enum.StrEnum):
    """Severity of a problem. An error stops the run, a warning or a note does not."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Location(Struct, frozen=True):
    """A place in a source file.

    `line` and `column` count from 1; 0 means that no line is known (an unreadable file). `pointer`
    is the JSON Pointer in that file's own document. `excerpt` is the text of the line; `width`
    characters of it, from `column`, are underlined. A very long line is cut to a part that begins
    at `excerpt_column`; `is_cut` means that the line continues after the part.
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
    """A node's JSON Pointer, resolved to a `Location` only when a problem is reported.

    Resolving costs more than reading the node, and most nodes have no problem.
    """

    pointer: str
    locate: Callable[[str], Location] = field(repr=False, compare=False)

    def location(self) -> Location:
        """Find the place in the text."""
        return self.locate(self.pointer)


class Repair(Struct, frozen=True):
    """The interpretation of an invalid value at a problem's location."""

    is_dropped: bool = False
    declares: str = ""  # the name of a parameter that was added


DROPPED = Repair(is_dropped=True)


class Acceptance(Struct, frozen=True):
    """The decision of an owner to accept a problem for a time."""

    reason: str
    owner: str  # `@user`, `@org/team` or an e-mail address
    expires: date  # the last day on which it holds, in UTC

    def __str__(self) -> str:
        return f"until {self.expires} by {self.owner}: {self.reason}"

    def as_json(self) -> dict[str, str]:
        """Return the acceptance for `--json`."""
        return {"reason": self.reason, "owner": self.owner, "expires": self.expires.isoformat()}


class Diagnostic(Struct, frozen=True):
    """One problem. `code` names the fault in kebab-case and is stable between releases."""

    code: str
    severity: Severity
    message: str
    at: Location | None = None
    why: str = ""
    help: str = ""
    repair: Repair | None = None
    waived: Acceptance | None = None  # a problem that does not fail the command

    @property
    def sort_key(self) -> tuple[str, int, int, str, str]:
        """File, position, code and message: the same order in every run."""
        at = self.at or Location("")
        return (at.file, at.line, at.column, self.code, self.message)


class Details(TypedDict, total=False):
    """The optional parts of a problem."""

    at: Location | Place | None
    why: str
    help: str
    repair: Repair | None


class Problems(Struct):
    """Collection of the problems of a run, without duplicates.

    Background work may still add problems: iterating waits for it.
    """

    _found: dict[Diagnostic, None] = msgspec.field(default_factory=dict)
    _pending: list[Callable[[Problems], None]] = msgspec.field(default_factory=list)

    def error(self, code: str, message: str, **details: Unpack[Details]) -> None:
        """Add a problem that stops the run."""
        self._add(Severity.ERROR, code, message, **details)

    def warning(self, code: str, message: str, **details: Unpack[Details]) -> None:
        """Add a problem for which something was repaired, ignored or skipped."""
        self._add(Severity.WARNING, code, message, **details)

    def note(self, code: str, message: str, **details: Unpack[Details]) -> None:
        """Add information that needs no action."""
        self._add(Severity.NOTE, code, message, **details)

    def _add(
        self,
        severity: Severity,
        code: str,
        message: str,
        *,
        at: Location | Place | None = None,
        why: str = "",
        help: str = "",
        repair: Repair | None = None,
    ) -> None:
        found = at.location() if isinstance(at, Place) else at
        self.add(Diagnostic(code, severity, message, found, why, help, repair))

    def add(self, problem: Diagnostic) -> None:
        """Add a problem."""
        self._found[problem] = None

    def extend(self, others: Problems) -> None:
        """Move the problems of another collection into this one."""
        self._found.update(others._found)
        self._pending += others._pending
        others._pending.clear()

    def add_later(self, add: Callable[[Problems], None]) -> None:
        """Register a callback that waits for background work and adds its problems, no errors."""
        self._pending.append(add)

    def join(self) -> None:
        """Wait for the background work and add its problems."""
        while self._pending:
            self._pending.pop(0)(self)

    @property
    def has_errors(self) -> bool:
        """Whether a problem found so far is an error."""
        return any(problem.severity is Severity.ERROR for problem in self._found)

    def so_far(self) -> Iterable[Diagnostic]:
        """Return the problems found so far, in the order of their discovery; do not wait."""
        return self._found.keys()

    def __iter__(self) -> Iterator[Diagnostic]:
        self.join()
        return iter(sorted(self._found, key=lambda problem: problem.sort_key))

    def __len__(self) -> int:
        """Count the problems found so far."""
        return len(self._found)


class RejectedError(Exception):
    """Stop of the pipeline after errors, which are in `Problems`; only the pipeline catches it."""


class OperationRefusedError(Exception):
    """An operation that cannot be served, with the parts of a diagnostic.

    A stage that processes operations catches it and skips the operation.
    """

    def __init__(self, code: str, message: str, at: Location | Place, help: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.at = at
        self.help = help


def did_you_mean(written: str, known: Iterable[str], otherwise: str) -> str:
    """Return the help for an unknown name: "did you mean ...?", or `otherwise` if none is close."""
    from difflib import get_close_matches  # imported only if there is a problem

    near = get_close_matches(written, known, n=1, cutoff=0.5)
    return f"did you mean `{near[0]}`?" if near else otherwise
