"""Tool surfaces of a project: its current one, and an earlier one to compare with."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, NoReturn

from msgspec import Struct

from mcpgen.changelog import SurfaceUnreadableError, read_surface
from mcpgen.diagnostics import Location, Problems
from mcpgen.emit.lockfile import Lock, sha256
from mcpgen.ir.file_set import LOCK_FILE, MANIFEST_FILE
from mcpgen.ir.surface import SURFACE_FILE, Surface
from mcpgen.pipeline.inputs import Inputs
from mcpgen.pipeline.options import Outcome, StoppedError
from mcpgen.pipeline.project.git import GitUnusableError, NoRepositoryError, find_commit, read_at
from mcpgen.pipeline.project.project_folder import (
    load_surface,
    load_surface_at,
    load_unedited_surface,
    read_file,
    require_surface,
)

UNKNOWN_REVISION_HELP: Final = (
    "name a branch, a tag or a commit; in CI, fetch it first"
    " (`git fetch origin main`, or `fetch-depth: 0`)"
)
_VERSION = re.compile(r'^__version__ = "([^"\\]*)"', re.MULTILINE)

ReadFile = Callable[[str], bytes | None]
"""Reads a file of a project, in some state of the project; None if there is none."""


class EarlierSurface(Struct, frozen=True):
    """Earlier surface, the place where it was found, and the package's version there ("": none)."""

    surface: Surface
    found_in: str
    version: str = ""


def find_earlier_surface(target: Path, against: str | None, problems: Problems) -> EarlierSurface:
    """Find an earlier surface of a project.

    `against` is the folder of a server, a git revision, or a copy of the `.mcpgen/surface.json`
    that earlier versions of mcpgen wrote; a path on the disk takes precedence. Without it, the
    surface is the one committed at HEAD, or the last one that `generate` wrote if git has none.

    Raises:
        StoppedError: there is none, or it cannot be read.
    """
    if against is None:
        return _find_committed_or_last(target, problems)
    path = Path(against)
    if path.is_dir():
        return _read_on_disk(path, against, problems)
    if path.is_file():
        try:  # a copy of the file that earlier versions of mcpgen stored the surface in
            return EarlierSurface(read_surface(path.read_bytes()), against)
        except SurfaceUnreadableError as error:
            _reject(error, against, problems)
    return _read_at_revision(target, against, problems)


def read_unchanged_surface(target: Path, lock: Lock) -> Surface | None:
    """Return the surface on the disk if `generate` would write it again.

    None if that is not certain.
    """
    inputs = {**lock.inputs, MANIFEST_FILE: lock.manifest}
    contents = {path: read_file(target, path) for path in inputs}
    if lock.mcpgen != importlib.metadata.version("mcpgen") or any(
        content is None or sha256(content) != inputs[path] for path, content in contents.items()
    ):
        return None
    try:
        return load_unedited_surface(target, lock)
    except SurfaceUnreadableError:
        return None


def read_last_surface(inputs: Inputs, problems: Problems) -> Surface | None:
    """Return the surface that `generate` wrote last; without one, add a note and return None."""
    if inputs.published.surface is not None:
        return inputs.published.surface
    try:
        return require_surface(inputs.folder)
    except SurfaceUnreadableError as error:
        problems.note(
            "not-compared",
            f"cannot compare the tools: {error}",
            at=Location(error.path),
            why="it states the tools as they were",
            help="`mcpgen changelog --against REF` compares with an older state",
        )
        return None


class ProjectNames(Struct, frozen=True):
    """Name and version of a package; "" if they are not found from `pyproject.toml`."""

    name: str = ""
    version: str = ""


def find_package_version(read: ReadFile) -> str:
    """Return the version of a project's package; "" if it is not found from `pyproject.toml`."""
    return read_project_names(read).version


def read_project_names(read: ReadFile) -> ProjectNames:
    """Read the name and the version of a project's package."""
    try:
        settings = tomllib.loads((read("pyproject.toml") or b"").decode())
        project = settings.get("project", {})
        name, version = project.get("name", ""), project.get("version")
        if not isinstance(version, str):
            version = _find_version(read, settings)
    except (ValueError, KeyError, TypeError, AttributeError):
        return ProjectNames()
    return ProjectNames(name if isinstance(name, str) else "", version)


def _find_version(read: ReadFile, settings: Mapping[str, Any]) -> str:
    """Return the version in the module that hatch reads it from."""
    try:
        path = settings["tool"]["hatch"]["version"]["path"]
        found = _VERSION.search((read(path) or b"").decode())
    except (ValueError, KeyError, TypeError):
        return ""
    return found[1] if found else ""


def _find_committed_or_last(target: Path, problems: Problems) -> EarlierSurface:
    """Return the surface committed at HEAD; the one on the disk if HEAD has none."""
    try:
        commit = find_commit(target, "HEAD")
        committed = _read_at_commit(target, commit, "HEAD", problems) if commit else None
    except NoRepositoryError:
        committed = None
    except GitUnusableError as error:
        problems.error(
            "against",
            f"what is committed of {target} cannot be read: {error}",
            at=Location(target.as_posix()),
            why="compared with what `generate` wrote last, a change could seem to be none",
            help="mend that, or say what to compare with:"
            f" `--against {target.as_posix()}` is the state of the last `generate`",
        )
        raise StoppedError(Outcome.USAGE) from None
    return committed or _read_on_disk(target, "the last `generate`", problems)


def _read_at_commit(
    target: Path, commit: str, revision: str, problems: Problems
) -> EarlierSurface | None:
    """Return the surface of a commit, described as `revision`; None if the commit has none."""
    try:
        surface = load_surface_at(target, commit)
    except SurfaceUnreadableError as error:
        _reject(error, f"{revision}:{error.path}", problems)
    if surface is None:
        return None
    read = partial(read_at, target, commit)
    return EarlierSurface(surface, revision, find_package_version(read))


def _read_at_revision(target: Path, revision: str, problems: Problems) -> EarlierSurface:
    why = "there is nothing to compare the tools with"
    try:
        commit = find_commit(target, revision)
        found = _read_at_commit(target, commit, revision, problems) if commit else None
        has_lock = commit is not None and read_at(target, commit, LOCK_FILE) is not None
    except GitUnusableError as error:
        problems.error(
            "against",
            f"`{revision}` is not a file, a folder or a git revision: {error}",
            why=why,
            help="name the folder of a server, or commit this one",
        )
        raise StoppedError(Outcome.USAGE) from None
    if commit is None:
        problems.error(
            "against",
            f"`{revision}` is not a file, a folder or a git revision",
            why=why,
            help=UNKNOWN_REVISION_HELP,
        )
        raise StoppedError(Outcome.USAGE)
    if found is None:
        problems.error(
            "against",
            f"`{revision}` has no generated tools in this folder",
            why=why,
            help="name a later revision: an older mcpgen generated the server there"
            if has_lock
            else "name a later revision: the server did not exist yet",
        )
        raise StoppedError(Outcome.USAGE)
    return found


def _read_on_disk(folder: Path, found_in: str, problems: Problems) -> EarlierSurface:
    try:
        surface = load_surface(folder)
    except SurfaceUnreadableError as error:
        _reject(error, (folder / error.path).as_posix(), problems)
    if surface is None:
        problems.error(
            "against",
            f"{folder} has no generated tools",
            why="there is nothing to compare the tools with",
            help="run `mcpgen generate` there: an older mcpgen wrote the server"
            if read_file(folder, LOCK_FILE) is not None
            else "name the folder of a server that `mcpgen new` made",
        )
        raise StoppedError(Outcome.USAGE)
    return EarlierSurface(surface, found_in, find_package_version(partial(read_file, folder)))


def _reject(error: SurfaceUnreadableError, shown_as: str, problems: Problems) -> NoReturn:
    problems.error(
        "surface-unreadable",
        f"cannot compare with {shown_as}: {error}",
        at=Location(shown_as),
        why="tools that cannot be read are not assumed to be unchanged",
        help=f"name a git revision, the folder of a server, or a {SURFACE_FILE.rpartition('/')[2]}"
        " of an earlier mcpgen",
    )
    raise StoppedError(Outcome.REJECTED) from None
