"""What a run changes in a project: decided from the new files, the lock and the disk, by owner.

Nothing is written here. The simple form of merging: a `merged` file that the user touched is left
as it is, and said so.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mcpgen.emit.lock import LockedFile, sha256
from mcpgen.emit.ownership import STATE_FOLDER
from mcpgen.ir.file_set import FileSet, Owner, PlannedFile

BASE_FILE = f"{STATE_FOLDER}/base.json"
RESCUE_FOLDER = f"{STATE_FOLDER}/rescued"

ReadFile = Callable[[str], bytes | None]
"""Gives the content of the project's file at a path, or None where there is none."""


@dataclass(frozen=True, slots=True)
class HandEdit:
    """A generated file that somebody edited, and what the edit is, as a unified diff."""

    path: str
    diff: str


@dataclass(frozen=True, slots=True)
class Changes:
    """What a run will do, and what the lock will say of each file after it."""

    written: FileSet
    deleted: tuple[str, ...]
    hand_edits: tuple[HandEdit, ...]  # refused, unless the run was forced
    left_alone: tuple[str, ...]  # merged files that hold edits of the user's
    orphans_kept: tuple[str, ...]  # no longer made, but edited
    files: Mapping[str, LockedFile]

    @property
    def is_empty(self) -> bool:
        """Whether the project is already as it should be."""
        return not (self.written or self.deleted)


def reconcile(
    planned: FileSet, locked: Mapping[str, LockedFile], read: ReadFile, *, force: bool = False
) -> Changes:
    """Decide for each file whether it is written, left or deleted.

    `force` overwrites generated files that were edited, after keeping a copy of them.
    """
    decision = _Decision(locked, read, force=force)
    for file in planned:
        decision.decide(file)
    decision.decide_orphans({file.path for file in planned})
    decision.decide_base([file for file in planned if file.owner is Owner.MERGED])
    return decision.changes()


class _Decision:
    def __init__(self, locked: Mapping[str, LockedFile], read: ReadFile, *, force: bool) -> None:
        self._locked = locked
        self._read = read
        self._force = force
        self._written: list[PlannedFile] = []
        self._deleted: list[str] = []
        self._hand_edits: list[HandEdit] = []
        self._left_alone: list[str] = []
        self._orphans_kept: list[str] = []
        self._files: dict[str, LockedFile] = {}

    def decide(self, file: PlannedFile) -> None:
        """Decide about a file that the run makes."""
        on_disk = self._read(file.path)
        locked = self._locked.get(file.path)
        if on_disk == file.content:
            self._record(file)
        elif file.owner is Owner.OWNED:
            self._decide_owned(file, on_disk, locked)
        elif on_disk is None and locked is not None and file.owner is Owner.MERGED:
            self._files[file.path] = locked  # the user deleted it: it stays deleted
        elif on_disk is None or (locked is not None and sha256(on_disk) == locked.sha256):
            self._write(file)
        elif file.owner is Owner.MERGED:
            self._left_alone.append(file.path)
            self._files[file.path] = locked or LockedFile(file.owner, sha256(file.content))
        else:
            self._hand_edits.append(
                HandEdit(
                    file.path,
                    unified_diff(file.path, file.content, on_disk, ("mcpgen", "on disk")),
                )
            )
            self._overwrite(file, on_disk)

    def _decide_owned(
        self, file: PlannedFile, on_disk: bytes | None, locked: LockedFile | None
    ) -> None:
        if on_disk is None and locked is None:
            self._write(file)
        else:
            self._files[file.path] = locked or LockedFile(file.owner, sha256(file.content))

    def _overwrite(self, file: PlannedFile, on_disk: bytes) -> None:
        if self._force:
            rescued = f"{RESCUE_FOLDER}/{file.path}.txt"
            self._written.append(PlannedFile(rescued, on_disk, Owner.OWNED))
        self._write(file)

    def decide_orphans(self, planned: set[str]) -> None:
        """Decide about the files that an earlier run made and this one does not."""
        for path, locked in self._locked.items():
            if path in planned or path == BASE_FILE or locked.owner is Owner.OWNED:
                continue
            on_disk = self._read(path)
            if on_disk is None:
                continue
            if sha256(on_disk) == locked.sha256:
                self._deleted.append(path)
            else:
                self._orphans_kept.append(path)

    def decide_base(self, merged: list[PlannedFile]) -> None:
        """Record what the `merged` files were when the user's edits began, line by line."""
        known = _base_lines(self._read(BASE_FILE))
        base = {
            file.path: known.get(file.path, [])
            if file.path in self._left_alone
            else file.content.decode().split("\n")
            for file in merged
        }
        text = json.dumps(base, indent=1, sort_keys=True) + "\n"
        self.decide(PlannedFile(BASE_FILE, text.encode(), Owner.GENERATED))

    def _write(self, file: PlannedFile) -> None:
        self._written.append(file)
        self._record(file)

    def _record(self, file: PlannedFile) -> None:
        self._files[file.path] = LockedFile(file.owner, sha256(file.content))

    def changes(self) -> Changes:
        return Changes(
            written=tuple(sorted(self._written, key=lambda file: file.path)),
            deleted=tuple(sorted(self._deleted)),
            hand_edits=tuple(self._hand_edits),
            left_alone=tuple(self._left_alone),
            orphans_kept=tuple(sorted(self._orphans_kept)),
            files=self._files,
        )


def _base_lines(content: bytes | None) -> dict[str, list[str]]:
    try:
        base = json.loads(content or b"{}")
    except ValueError:
        return {}
    return base if isinstance(base, dict) else {}


def unified_diff(path: str, old: bytes, new: bytes, labels: tuple[str, str]) -> str:
    """Show what changes from one content of a file to another; `labels` say whose each is."""
    lines = difflib.unified_diff(
        old.decode("utf-8", "replace").splitlines(),
        new.decode("utf-8", "replace").splitlines(),
        f"{path} ({labels[0]})",
        f"{path} ({labels[1]})",
        lineterm="",
    )
    return "\n".join(lines)
