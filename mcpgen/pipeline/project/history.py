"""Earlier states of a project in git: its tools, its evidence and its versions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field

from mcpgen.changelog import SurfaceUnreadableError
from mcpgen.diagnostics import Location, Problems
from mcpgen.ir.file_set import LOCK_FILE
from mcpgen.ir.surface import Surface
from mcpgen.ir.waivers import WAIVERS_FILE
from mcpgen.pipeline.options import Outcome, StoppedError
from mcpgen.pipeline.project.evidence import EVIDENCE_FOLDER
from mcpgen.pipeline.project.git import (
    GitUnusableError,
    NoRepositoryError,
    find_branch_point,
    find_commit,
    read_tree_at,
)
from mcpgen.pipeline.project.project_folder import is_surface_file, parse_surface
from mcpgen.pipeline.project.surfaces import (
    UNKNOWN_REVISION_HELP,
    EarlierSurface,
    find_package_version,
)

_LISTING = re.compile(r"src/[^/]+/_generated/(?:search_)?listing\.json")
_VERSION = re.compile(r"src/[^/]+/__init__\.py")
_FOLDERS = ("src", ".mcpgen", LOCK_FILE, "pyproject.toml", WAIVERS_FILE)


class EarlierProject(Struct, frozen=True):
    """A project as a commit has it."""

    revision: str  # as it was named
    commit: str
    files: Mapping[str, bytes] = field(default_factory=dict)  # those that a review reads

    @property
    def exists(self) -> bool:
        """Whether the commit has the project."""
        return LOCK_FILE in self.files

    def read_listing(self) -> bytes | None:
        """Return the file with the listed tools; None if there is none."""
        paths = [path for path in self.files if _LISTING.fullmatch(path)]
        return self.files[max(paths, key=lambda path: "search_" in path)] if paths else None

    def read_surface(self, problems: Problems) -> EarlierSurface:
        """Return the surface of the tools; an empty one if the project did not exist.

        Raises:
            StoppedError: it cannot be read.
        """
        try:
            surface = parse_surface(self.files) if self.exists else Surface({})
        except SurfaceUnreadableError as error:
            place = f"{self.revision}:{error.path}"
            problems.error(
                "surface-unreadable",
                f"cannot compare with {place}: {error}",
                at=Location(place),
                why="tools that cannot be read are not assumed to be unchanged",
                help="name another revision",
            )
            raise StoppedError(Outcome.REJECTED) from None
        if surface is None:
            problems.error(
                "against",
                f"`{self.revision}` has no generated tools in this folder",
                why="there is nothing to compare the tools with",
                help="name a later revision: an older mcpgen generated the server there",
            )
            raise StoppedError(Outcome.USAGE)
        return EarlierSurface(surface, self.revision, find_package_version(self.files.get))


def find_base(folder: Path, revision: str | None, problems: Problems) -> str | None:
    """Return the commit that a branch is reviewed against: where it left `revision`.

    The default is HEAD, so that uncommitted changes are reviewed. None if no revision is named,
    and `folder` is in no repository, or in one without a commit.

    Raises:
        StoppedError: there is no such revision, or git failed.
    """
    why = "there is nothing to compare with"
    try:
        commit = find_commit(folder, revision or "HEAD")
    except NoRepositoryError as error:
        if revision is None:
            return None
        problems.error("against", str(error), why=why, help="leave out --against")
        raise StoppedError(Outcome.USAGE) from None
    except GitUnusableError as error:
        problems.error("against", f"git cannot be asked: {error}", why=why, help="mend that")
        raise StoppedError(Outcome.USAGE) from None
    if commit is not None:
        return find_branch_point(folder, commit)
    if revision is None:
        return None
    problems.error(
        "against",
        f"`{revision}` is not a git revision",
        why=why,
        help=UNKNOWN_REVISION_HELP,
    )
    raise StoppedError(Outcome.USAGE)


def read_earlier_project(
    target: Path, revision: str, commit: str, problems: Problems
) -> EarlierProject:
    """Read what a commit has of the project at `target`; `revision` is how messages call it.

    Raises:
        StoppedError: git cannot supply a file, as in a partial clone.
    """
    try:
        files = read_tree_at(target, commit, _FOLDERS, _is_reviewed)
    except GitUnusableError as error:
        problems.error(
            "against",
            f"cannot read {revision}: {error}",
            why="there is nothing to compare with",
            help="fetch the files of the revision",
        )
        raise StoppedError(Outcome.USAGE) from None
    return EarlierProject(revision, commit, files)


def _is_reviewed(path: str) -> bool:
    return (
        path in _FOLDERS
        or is_surface_file(path)
        or path.startswith(f"{EVIDENCE_FOLDER}/")
        or bool(_LISTING.fullmatch(path) or _VERSION.fullmatch(path))
    )
