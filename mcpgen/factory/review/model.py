"""A review of a server: figures, changes, findings, waivers, and what is not verified."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from mcpgen.changelog import Change, Level
from mcpgen.diagnostics import Acceptance, Diagnostic
from mcpgen.factory.status.model import Score, WaiverState
from mcpgen.pipeline.options import Outcome, worst


class Part(enum.StrEnum):
    """Source of a finding."""

    FILES = "files"  # `mcpgen check`: hand edits, stale files, overridden operations
    LINT = "lint"
    VALIDATION = "validation"
    TESTS = "tests"
    WAIVERS = "waivers"


class Figures(Struct, frozen=True, kw_only=True):
    """Figures of a server at one time; unknown ones are None, or have no entry."""

    tools: int | None = None  # the listed ones
    tokens: int | None = None  # estimated tokens of the list
    scores: Mapping[str, Score] = field(default_factory=dict)  # by revision
    tests: str = ""
    kill_rate: float | None = None  # 0 to 1


class ReviewedChange(Struct, frozen=True):
    """A change of the tools. It `fails` if it has the level of `--fail-on` and is not waived."""

    change: Change
    fails: bool = False
    waived: Acceptance | None = None


class ReviewFinding(Struct, frozen=True):
    """A finding of a review. The review fails if it is neither waived nor a hint."""

    part: Part
    problem: Diagnostic
    fails: bool


class ReviewedWaiver(Struct, frozen=True):
    """A waiver. It `is_new` if the revision does not have the same one."""

    state: WaiverState
    is_new: bool = False


class Claim(Struct, frozen=True):
    """A check without current evidence, such as the tests, and the command that runs it."""

    subject: str  # "tests"
    reason: str
    command: str  # the command that verifies it


class Review(Struct, frozen=True, kw_only=True):
    """Review of the changes of a server since a revision."""

    server: str  # its folder, as named for the reader
    target: Path
    since: str  # the revision as the user named it, or the name of the compared state
    commit: str = ""  # "" without git
    is_new: bool = False  # the revision does not have the server
    version: str = ""  # of the package at that time
    suggested_version: str = ""
    before: Figures = Figures()
    now: Figures = Figures()
    changes: tuple[ReviewedChange, ...] = ()  # the most severe first
    findings: tuple[ReviewFinding, ...] = ()  # those that fail first
    claims: tuple[Claim, ...] = ()
    waivers: tuple[ReviewedWaiver, ...] = ()  # the new ones first
    is_edited: bool = False  # a generated file was edited by hand, or a conflict is unresolved

    @property
    def outcome(self) -> Outcome:
        """The result of the review."""
        has_failed = any(it.fails for it in self.changes) or any(it.fails for it in self.findings)
        return worst(
            [
                Outcome.FINDINGS if has_failed else Outcome.DONE,
                Outcome.CONFLICT if self.is_edited else Outcome.DONE,
            ]
        )

    def list_tools(self, *rules: str) -> tuple[str, ...]:
        """Return the tools with a change of one of these rules."""
        found = (it.change.tool for it in self.changes if it.change.rule in rules)
        return tuple(dict.fromkeys(found))

    def of_level(self, *levels: Level) -> tuple[ReviewedChange, ...]:
        """Return the changes of these levels."""
        return tuple(it for it in self.changes if it.change.level in levels)

    def of_findings(self, *, fails: bool) -> tuple[ReviewFinding, ...]:
        """Return the findings that fail the review, or the others."""
        return tuple(it for it in self.findings if it.fails is fails)


def sort_findings(findings: Iterable[ReviewFinding]) -> tuple[ReviewFinding, ...]:
    """Sort findings: those that fail first, then waived ones, then hints."""
    return tuple(sorted(findings, key=lambda it: (not it.fails, it.problem.waived is None)))


def relocate(problem: Diagnostic, folder: str) -> Diagnostic:
    """Return a problem of a server with its file relative to a parent of the server's folder."""
    at = problem.at
    if at is None or folder in ("", ".") or Path(at.file).is_absolute():
        return problem
    return replace(problem, at=replace(at, file=f"{folder}/{at.file}"))
