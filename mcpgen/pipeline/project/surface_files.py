"""The tool surface of a project, read from its files on the disk or at a git revision."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mcpgen.changelog import (
    SurfaceUnreadableError,
    derive_surface,
    is_surface_source,
    read_surface,
)
from mcpgen.emit.lockfile import Lock, sha256
from mcpgen.ir.surface import SURFACE_FILE, Surface
from mcpgen.pipeline.project.git import read_tree_at


def load_surface(target: Path) -> Surface | None:
    """Read the surface of the project at `target`; None if no tools were generated there.

    Raises:
        SurfaceUnreadableError: a file is missing, damaged or in a merge conflict.
        OSError: a file cannot be read.
    """
    return _parse(_read_files(target))


def require_surface(target: Path) -> Surface:
    """Read the surface of the project at `target`.

    Raises:
        SurfaceUnreadableError: no tools were generated, or a file is missing or damaged.
        OSError: a file cannot be read.
    """
    found = load_surface(target)
    if found is None:
        raise SurfaceUnreadableError("it is missing", find_listing(target))
    return found


def load_unedited_surface(target: Path, lock: Lock) -> Surface | None:
    """Read the surface of the project at `target` if its files are those that the lock records.

    Raises:
        SurfaceUnreadableError: a file is damaged.
        OSError: a file cannot be read.
    """
    files = _read_files(target)
    recorded = {path: it.sha256 for path, it in lock.files.items() if is_surface_source(path)}
    found = {path: sha256(content) for path, content in files.items() if is_surface_source(path)}
    return derive_surface(files) if found == recorded else None


def load_surface_at(folder: Path, commit: str) -> Surface | None:
    """Read the surface of the project below `folder` as a commit has it; None if it has none.

    Raises:
        SurfaceUnreadableError: a file is missing, damaged or in a merge conflict.
        GitUnusableError: git cannot supply a file.
    """
    return _parse(read_tree_at(folder, commit, ("src", SURFACE_FILE), is_surface_file))


def find_listing(target: Path) -> str:
    """Return the path in a project of the list of its tools, whether or not the file exists."""
    generated = sorted(target.glob("src/*/_generated"))
    folder = generated[0].relative_to(target).as_posix() if generated else "src/*/_generated"
    return f"{folder}/listing.json"


def is_surface_file(path: str) -> bool:
    """Whether the file at this path states the surface, in the layout of any version."""
    return path == SURFACE_FILE or is_surface_source(path)


def _parse(files: Mapping[str, bytes]) -> Surface | None:
    found = derive_surface(files)
    if found is None and SURFACE_FILE in files:
        return read_surface(files[SURFACE_FILE])
    return found


def _read_files(target: Path) -> dict[str, bytes]:
    generated = [*target.glob("src/*/_generated/*.json"), *target.glob("src/*/_generated/*/*.json")]
    paths = {path.relative_to(target).as_posix(): path for path in generated}
    paths[SURFACE_FILE] = target / SURFACE_FILE
    return {
        name: path.read_bytes()
        for name, path in sorted(paths.items())
        if is_surface_file(name) and path.is_file()
    }
