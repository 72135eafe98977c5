"""Comparison of the files of a project with its lock, in one pass and without reports.

`mcpgen check` reports each difference, and also loads the handlers.
"""

from __future__ import annotations

import importlib.metadata
from functools import cache

from msgspec import Struct

from mcpgen.diagnostics import Problems
from mcpgen.emit.lockfile import Lock, LockTooNewError, LockUnreadableError, parse_lock, sha256
from mcpgen.emit.write import is_interrupted
from mcpgen.ir.file_set import ANSWERS_FILE, CONFLICT_FOLDER, LOCK_FILE, MANIFEST_FILE, Owner
from mcpgen.pipeline.project.input_hashes import ProjectFiles
from mcpgen.pipeline.project.project_folder import toolchain
from mcpgen.pipeline.project.report_changes import find_unresolved


class LockState(Struct, frozen=True, kw_only=True):
    """Differences between the files of a project and its lock."""

    is_interrupted: bool = False  # an earlier run was interrupted; nothing else is known
    unreadable: str = ""  # why there is no lock to compare with; nothing else is known
    is_merge: bool = False  # it is unreadable because of the conflicts of a merge
    files: int = 0  # that the lock records
    edited: tuple[str, ...] = ()  # generated files that were edited by hand
    unresolved: tuple[str, ...] = ()  # files with conflict markers, and versions beside a file
    missing: tuple[str, ...] = ()  # generated files that were deleted
    changed: tuple[str, ...] = ()  # kinds of inputs, and tools of another version


def compare_with_lock(files: ProjectFiles) -> LockState:
    """Return how the files of a project differ from its lock.

    Raises:
        OSError: a file cannot be read.
    """
    if is_interrupted(files.target):
        return LockState(is_interrupted=True)
    content = files.read(LOCK_FILE)
    if content is None:
        return LockState(unreadable=f"no {LOCK_FILE}")
    lock = files.lock
    if lock is None:
        return LockState(unreadable=_explain(content), is_merge=_has_markers(content))
    missing, edited = _compare_files(files, lock)
    return LockState(
        files=len(lock.files),
        edited=tuple(edited),
        unresolved=tuple(_list_unresolved(files, lock)),
        missing=tuple(missing),
        changed=tuple(_list_changed(files, lock)),
    )


def _explain(content: bytes) -> str:
    """Return why a lock cannot be read."""
    try:
        parse_lock(content)
    except (LockTooNewError, LockUnreadableError) as error:
        return str(error)
    return ""


def _compare_files(files: ProjectFiles, lock: Lock) -> tuple[list[str], list[str]]:
    """Return the generated files that are missing, and those that were edited."""
    inputs = {*lock.inputs, ANSWERS_FILE}
    missing: list[str] = []
    edited: list[str] = []
    for path, locked in lock.files.items():
        if locked.owner is Owner.GENERATED and path not in inputs:
            content = files.read(path)
            if content is None:
                missing.append(path)
            elif sha256(content) != locked.sha256:
                edited.append(path)
    return missing, edited


def _list_changed(files: ProjectFiles, lock: Lock) -> list[str]:
    """Return the kinds of inputs that changed since the project was generated."""
    kinds = {
        "document": {path: it for each in lock.documents for path, it in each.sha256.items()},
        "manifest": {MANIFEST_FILE: lock.manifest},
        "answers": {ANSWERS_FILE: lock.answers},
        "overlays": lock.overlays,
        "arazzo": lock.arazzo,
    }
    changed = [
        kind
        for kind, recorded in kinds.items()
        if any(
            (content := files.read(path)) is None or sha256(content) != digest
            for path, digest in recorded.items()
        )
    ]
    versions, now = {"mcpgen": lock.mcpgen, **lock.toolchain}, _find_versions()
    return changed + sorted(it for it in {*versions, *now} if versions.get(it) != now.get(it))


@cache
def _find_versions() -> dict[str, str]:
    """Return the versions of mcpgen and of the tools that decide bytes of the output."""
    return {"mcpgen": importlib.metadata.version("mcpgen"), **toolchain()}


def _list_unresolved(files: ProjectFiles, lock: Lock) -> list[str]:
    merged = [path for path, file in lock.files.items() if file.owner is Owner.MERGED]
    paths = [*merged, MANIFEST_FILE, ANSWERS_FILE, *(each.root for each in lock.documents)]
    marked = [path for path in paths if _has_markers(files.read(path) or b"")]
    if not marked and not (files.target / CONFLICT_FOLDER).is_dir():
        return []
    return find_unresolved(files.target, marked, Problems())


def _has_markers(content: bytes) -> bool:
    """Return whether a file may have conflict markers, which `find_unresolved` decides."""
    return b"<<<<<<< " in content or b">>>>>>> " in content
