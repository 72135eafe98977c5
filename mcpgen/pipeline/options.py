"""The options of commands, and their reports."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from mcpgen.diagnostics import Problems

if TYPE_CHECKING:
    from mcpgen.changelog import Changelog
    from mcpgen.emit.reconcile import FileDiff
    from mcpgen.ir.findings import Decision, FoundDocument
    from mcpgen.ir.manifest_entries import CredentialEntry
    from mcpgen.ir.tool_plan import ServerPlan


class Outcome(enum.StrEnum):
    """The result of a command, the mildest first; the values are those of `outcome` in JSON."""

    DONE = "done"
    FINDINGS = "findings"  # stale, unreachable, failed tests
    USAGE = "usage"
    REJECTED = "rejected"  # the document or the manifest
    CONFLICT = "conflict"  # a hand-edited generated file, or an unresolved conflict
    INTERRUPTED = "interrupted"  # an earlier run was interrupted, or another one holds the lock
    BUG = "bug"  # in mcpgen


_SEVERITY = {outcome: number for number, outcome in enumerate(Outcome)}


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the most severe outcome, `DONE` if there is none."""
    return max(outcomes, key=_SEVERITY.__getitem__, default=Outcome.DONE)


class StoppedError(Exception):
    """The command cannot continue; its problems contain the reason."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome


Progress = Callable[[str], None]
"""Receives the name of each stage as it begins, and `StageNote`s on the current one."""


class StageNote(str):
    """Progress of the current stage: a count while it runs, or its result, which comes last."""

    __slots__ = ()


def count_operations(progress: Progress) -> Callable[[int, int], None]:
    """Return a function that notes how many operations of how many are done."""
    return lambda done, total: progress(StageNote(f"{done:,} of {total:,} operations"))


class BuildOptions(Struct, frozen=True, kw_only=True):
    """Options of every command that builds a project."""

    strict: bool = False  # a skipped operation rejects the document
    answers: Mapping[str, str] = field(default_factory=dict)  # to the skeleton's questions
    external_validator: bool | None = None  # openapi-spec-validator; None: if it takes seconds
    cache: Path | None = None  # None: the user's cache folder


class Options(BuildOptions, frozen=True, kw_only=True):
    """Options of `new`."""

    name: str = ""  # "": derived from the title of the API
    include: tuple[str, ...] = ()  # globs over tags, paths, operationIds and keys
    exclude: tuple[str, ...] = ()
    models: bool = True
    code: bool = False  # code mode
    confirmed_origins: tuple[str, ...] = ()  # that may receive credentials
    base_url: str = ""  # of the API; "": that of the document
    credentials: Mapping[str, CredentialEntry] = field(default_factory=dict)  # by security scheme


class GenerateOptions(BuildOptions, frozen=True, kw_only=True):
    """Options of `generate`. Its answers replace recorded ones."""

    dry_run: bool = False
    force: bool = False  # overwrite generated files that were edited, and keep a copy
    diff: bool = False  # write nothing, and fill `Report.diffs`
    code: bool | None = None  # turn code mode on or off in the manifest; None leaves it

    @property
    def only_shows(self) -> bool:
        """Whether the run writes nothing."""
        return self.dry_run or self.diff


class Report(Struct, frozen=True):
    """The result of `new` or `generate`.

    In a dry run `written` and `deleted` are the paths that a run would write and delete. `diffs`
    contains the changes, if requested, or the hand edits that the run refused to overwrite.
    """

    problems: Problems
    outcome: Outcome
    target: Path
    plan: ServerPlan | None = None
    written: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    diffs: tuple[FileDiff, ...] = ()
    changelog: Changelog | None = None  # of the tools; None: not comparable
    found: tuple[FoundDocument, ...] = ()  # of `new`
    decisions: tuple[Decision, ...] = ()  # of `new`


class CheckReport(Struct, frozen=True):
    """Whether a project is current; `problems` contains each reason."""

    problems: Problems
    outcome: Outcome
    target: Path
    stale: tuple[str, ...] = ()  # inputs and files that `generate` would update
    edited: tuple[str, ...] = ()  # generated files that were edited
