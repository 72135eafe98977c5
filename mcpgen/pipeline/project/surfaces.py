"""The tool surfaces of a project: the one it has now, and one that it had before."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path

from msgspec import Struct

from mcpgen.changelog import SurfaceUnreadableError, read_surface
from mcpgen.diagnostics import Location, Problems
from mcpgen.emit.lockfile.lockfile import Lock, sha256
from mcpgen.emit.write.ownership import SURFACE_FILE
from mcpgen.ir.file_set import LOCK_FILE, MANIFEST_FILE
from mcpgen.ir.surface import Surface
from mcpgen.pipeline.outcome import Outcome, StoppedError
from mcpgen.pipeline.project.git import GitUnusableError, NoRepositoryError, find_commit, read_at
from mcpgen.pipeline.project.project_folder import read_file

_VERSION = re.compile(r'^__version__ = "([^"\\]*)"', re.MULTILINE)

ReadFile = Callable[[str], bytes | None]
"""Gives the content of a project's file, in whatever state of the project."""


class EarlierSurface(Struct, frozen=True):
    """What clients relied on, where that was found, and the package's version there ("": none)."""

    surface: Surface
    found_in: str
    version: str = ""


def find_earlier_surface(target: Path, against: str | None, problems: Problems) -> EarlierSurface:
    """Find the surface that a project had before.

    `against` is a file that `generate` wrote as `.mcpgen/surface.json`, the folder of a server, or
    a git revision; what lies on the disk wins. Without it, what is committed at HEAD is meant; and
    where git has nothing of it, what `generate` wrote last.

    Raises:
        StoppedError: there is none, or it cannot be read.
    """
    if against is None:
        return _find_committed_or_last(target, problems)
    path = Path(against)
    if path.is_dir():
        return _read_on_disk(path, against, problems)
    if path.is_file():
        surface = _parse(path.read_bytes(), against, problems)
        return EarlierSurface(surface, against)
    return _read_at_revision(target, against, problems)


def read_unchanged_surface(target: Path, lock: Lock) -> Surface | None:
    """Give the surface on the disk, if `generate` with what lies beside it would write the same.

    None where that is not certain.
    """
    inputs = {**lock.inputs, MANIFEST_FILE: lock.manifest, SURFACE_FILE: lock.surface}
    contents = {path: read_file(target, path) for path in inputs}
    if lock.mcpgen != importlib.metadata.version("mcpgen") or any(
        content is None or sha256(content) != inputs[path] for path, content in contents.items()
    ):
        return None
    try:
        return read_surface(contents[SURFACE_FILE] or b"")
    except SurfaceUnreadableError:
        return None


def read_last_surface(target: Path, problems: Problems) -> Surface | None:
    """Give the surface that `generate` wrote last; None, and a note why, where there is none."""
    content = read_file(target, SURFACE_FILE)
    try:
        if content is not None:
            return read_surface(content)
        reason = "it is missing"
    except SurfaceUnreadableError as error:
        reason = str(error)
    problems.note(
        "not-compared",
        f"cannot compare the tools: {reason}",
        at=Location(SURFACE_FILE),
        why="it holds the tools as they were",
        help="`mcpgen changelog --against REF` compares with an older state",
    )
    return None


def find_package_version(read: ReadFile) -> str:
    """Give the version of a project's package; "" where `pyproject.toml` does not lead to it."""
    try:
        settings = tomllib.loads((read("pyproject.toml") or b"").decode())
        stated = settings.get("project", {}).get("version")
        if isinstance(stated, str):
            return stated
        found = _VERSION.search(
            (read(settings["tool"]["hatch"]["version"]["path"]) or b"").decode()
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return ""
    return found[1] if found else ""


def _find_committed_or_last(target: Path, problems: Problems) -> EarlierSurface:
    """Give what is committed at HEAD, or what lies on the disk where HEAD knows nothing of it."""
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
            f" `--against {(target / SURFACE_FILE).as_posix()}` is that of the last `generate`",
        )
        raise StoppedError(Outcome.USAGE) from None
    return committed or _read_on_disk(target, "the last `generate`", problems)


def _read_at_commit(
    target: Path, commit: str, revision: str, problems: Problems
) -> EarlierSurface | None:
    """Give what a commit has, which is called `revision`; None where it has nothing."""
    read = partial(read_at, target, commit)
    content = read(SURFACE_FILE)
    if content is None:
        return None
    surface = _parse(content, f"{revision}:{SURFACE_FILE}", problems)
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
            help=f"name a folder with a server in it, or its {SURFACE_FILE}",
        )
        raise StoppedError(Outcome.USAGE) from None
    if commit is None:
        problems.error(
            "against",
            f"`{revision}` is not a file, a folder or a git revision",
            why=why,
            help="name a branch, a tag or a commit; in CI, fetch it first"
            " (`git fetch origin main`, or `fetch-depth: 0`)",
        )
        raise StoppedError(Outcome.USAGE)
    if found is None:
        problems.error(
            "against",
            f"`{revision}` has no {SURFACE_FILE} in this folder",
            why=why,
            help="name a later revision: an older mcpgen generated the server there"
            if has_lock
            else "name a later revision: the server did not exist yet",
        )
        raise StoppedError(Outcome.USAGE)
    return found


def _read_on_disk(folder: Path, found_in: str, problems: Problems) -> EarlierSurface:
    content = read_file(folder, SURFACE_FILE)
    if content is None:
        problems.error(
            "against",
            f"{folder} has no {SURFACE_FILE}",
            why="there is nothing to compare the tools with",
            help="run `mcpgen generate` there: an older mcpgen wrote the server"
            if read_file(folder, LOCK_FILE) is not None
            else "name the folder of a server that `mcpgen new` made",
        )
        raise StoppedError(Outcome.USAGE)
    surface = _parse(content, (folder / SURFACE_FILE).as_posix(), problems)
    return EarlierSurface(surface, found_in, find_package_version(partial(read_file, folder)))


def _parse(content: bytes, shown_as: str, problems: Problems) -> Surface:
    try:
        return read_surface(content)
    except SurfaceUnreadableError as error:
        problems.error(
            "surface-unreadable",
            f"{shown_as} cannot be compared with: {error}",
            at=Location(shown_as),
            why="what cannot be read is not taken for unchanged",
            help="name another revision, or run `mcpgen generate` to write it anew",
        )
        raise StoppedError(Outcome.REJECTED) from None
