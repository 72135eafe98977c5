"""What a run is asked for, and what it reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from mcpgen.diagnostics import Problems

if TYPE_CHECKING:  # `check` makes none of these, and starts quicker without them
    from mcpgen.changelog import Changelog
    from mcpgen.emit.base import Skeletons
    from mcpgen.ir.file_set import FileSet
    from mcpgen.ir.tool_plan import ServerPlan

Progress = Callable[[str], None]
"""Hears what the run is doing now, in a few words."""

DONE, STALE, USAGE, REJECTED, CONFLICT, INTERRUPTED = 0, 1, 2, 3, 4, 5


class Options(Struct, frozen=True):
    """What `new` is asked for."""

    name: str = ""  # "" calls the server after the API
    include: tuple[str, ...] = ()  # globs over tags, paths, operationIds and keys
    exclude: tuple[str, ...] = ()
    models: bool = True
    strict: bool = False  # an operation that is left out refuses the document
    answers: Mapping[str, str] = field(default_factory=dict)  # to the skeleton's questions
    outside_judge: bool | None = None  # openapi-spec-validator; None: where it takes seconds
    cache: Path | None = None  # None: the user's cache folder


class GenerateOptions(Struct, frozen=True):
    """What `generate` is asked for."""

    dry_run: bool = False
    force: bool = False  # overwrite generated files that were edited, after keeping a copy
    strict: bool = False
    diff: bool = False  # write nothing, and fill `Report.diffs`
    answers: Mapping[str, str] = field(default_factory=dict)  # in place of recorded ones
    outside_judge: bool | None = None
    cache: Path | None = None

    @property
    def only_shows(self) -> bool:
        """Whether the run writes nothing."""
        return self.dry_run or self.diff


class Project(Struct, frozen=True):
    """A project in memory: everything but its lock."""

    plan: ServerPlan
    files: FileSet
    skeletons: Skeletons  # where the base of a merge was lost


class FileDiff(Struct, frozen=True):
    """How a run changes one file, as a unified diff."""

    path: str
    diff: str


class Report(Struct, frozen=True):
    """What a run found and did. `written` and `deleted` are what it would do, where it writes not.

    `diffs` show what it changes where that was asked for, and the hand edits that it refused.
    """

    problems: Problems
    exit_code: int
    target: Path
    plan: ServerPlan | None = None
    written: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    diffs: tuple[FileDiff, ...] = ()
    changelog: Changelog | None = None  # of the tools; None where nothing could be compared


class CheckReport(Struct, frozen=True):
    """Whether a project is current. Each reason stands in `problems`."""

    problems: Problems
    exit_code: int
    target: Path
    stale: tuple[str, ...] = ()  # inputs and files for which `generate` has work to do
    edited: tuple[str, ...] = ()  # generated files that somebody edited
