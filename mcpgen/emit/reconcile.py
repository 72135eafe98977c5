"""Decision which files of a project a run writes, merges, keeps or deletes.

It compares the new files, the lock and the files on disk, by owner. Nothing is written.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field

from mcpgen.emit.lockfile import LockedFile, is_binary, sha256, with_lf
from mcpgen.emit.merge.merge import BASE_FILE, Base, Merged, Skeletons, make_base, merge
from mcpgen.ir.file_set import CONFLICT_FOLDER, RESCUE_FOLDER, FileSet, Owner, PlannedFile

ReadFile = Callable[[str], bytes | None]
"""Reads the project's file at a path; None if there is none."""


class FileDiff(Struct, frozen=True):
    """A change of one file, as a unified diff."""

    path: str
    diff: str


class Unmerged(Struct, frozen=True):
    """A file with a conflict. `offered` is the path of mcpgen's version, "" if it has markers."""

    path: str
    offered: str
    contested: tuple[str, ...]  # the keys in conflict, if the file has keys


class Changes(Struct, frozen=True):
    """The changes of a run, and the lock's records of the files after it."""

    written: FileSet
    deleted: tuple[str, ...]
    hand_edits: tuple[FileDiff, ...]  # of generated files; refused, unless the run overwrites them
    unmerged: tuple[Unmerged, ...]
    rescued: Mapping[str, str]  # edited files that were overwritten -> their copies
    in_the_way: tuple[str, ...]  # files at the path of a merged file, not written by mcpgen
    orphans_kept: tuple[str, ...]  # no longer generated, but edited
    files: Mapping[str, LockedFile]


class Earlier(Struct, frozen=True):
    """The files of earlier runs by the lock, and the replacements for lost records."""

    files: Mapping[str, LockedFile] = field(default_factory=dict)
    is_lock_lost: bool = False  # then the user may have deleted any absent file
    skeletons: Skeletons = tuple  # used if the base is lost


def reconcile(
    planned: FileSet, earlier: Earlier, read: ReadFile, *, overwrite: bool = False
) -> Changes:
    """Decide for each file whether it is written, merged, kept or deleted.

    `overwrite` rewrites generated files that were edited, and copies them first.
    """
    decision = _Decision(earlier, read, overwrite=overwrite)
    for file in planned:
        decision.decide(file)
    decision.decide_base([file for file in planned if file.owner is Owner.MERGED])
    decision.decide_orphans({file.path for file in planned})
    return decision.changes()


class _Decision:
    def __init__(self, earlier: Earlier, read: ReadFile, *, overwrite: bool) -> None:
        self._earlier = earlier
        self._read = read
        self._overwrite = overwrite
        self._base = Base(read(BASE_FILE), earlier.files, earlier.skeletons)
        self._written: list[PlannedFile] = []
        self._deleted: list[str] = []
        self._hand_edits: list[FileDiff] = []
        self._unmerged: list[Unmerged] = []
        self._rescued: dict[str, str] = {}
        self._in_the_way: list[str] = []
        self._orphans_kept: list[str] = []
        self._files: dict[str, LockedFile] = {}

    def decide(self, file: PlannedFile) -> None:
        """Decide about a file of this run."""
        on_disk = self._read(file.path)
        locked = self._earlier.files.get(file.path)
        self._files[file.path] = LockedFile(file.owner, sha256(file.content))
        if on_disk == file.content:
            return
        if file.owner is Owner.OWNED:
            self._files[file.path] = locked or self._files[file.path]
            if on_disk is None and locked is None and not self._earlier.is_lock_lost:
                self._written.append(file)
        elif on_disk is None:
            if file.owner is Owner.GENERATED or not self._is_known(file.path):
                self._written.append(file)
        elif (locked and locked.is_untouched(on_disk)) or with_lf(on_disk) == file.content:
            self._written.append(file)
        elif file.owner is Owner.MERGED:
            self._merge(file, with_lf(on_disk))
        else:
            self._refuse_or_rescue(file, on_disk)

    def _is_known(self, path: str) -> bool:
        """Whether an earlier run wrote a `merged` file; the user has deleted it if it is absent."""
        if self._earlier.is_lock_lost:
            return self._base.is_lost or self._base.is_recorded(path)
        return path in self._earlier.files

    def _merge(self, file: PlannedFile, yours: bytes) -> None:
        base = self._base.of(file.path, yours)
        if base is None or not _is_text(yours):
            if file.path not in self._earlier.files:
                self._in_the_way.append(file.path)
                return
            merged = Merged(yours, is_offered=True)
        else:
            merged = merge(file.path, base, yours, file.content)
        if merged.has_lost_lines:
            self._rescue(file.path, yours)
        if merged.content != yours:
            self._written.append(PlannedFile(file.path, merged.content, file.owner))
        if merged.has_markers:
            self._unmerged.append(Unmerged(file.path, "", merged.contested))
        if merged.is_offered:
            offered = f"{CONFLICT_FOLDER}/{file.path}"
            self._written.append(PlannedFile(offered, file.content, Owner.OWNED))
            self._unmerged.append(Unmerged(file.path, offered, merged.contested))

    def _refuse_or_rescue(self, file: PlannedFile, on_disk: bytes) -> None:
        if self._overwrite:
            self._rescue(file.path, on_disk)
        else:
            labels = ("mcpgen", "on disk")
            diff = format_diff(file.path, file.content, on_disk, labels)
            self._hand_edits.append(FileDiff(file.path, diff))
        self._written.append(file)

    def _rescue(self, path: str, content: bytes) -> None:
        """Copy a file that will be overwritten."""
        copy = rescue_copy(path, content, self._read)
        if self._read(copy.path) is None:
            self._written.append(copy)
        self._rescued[path] = copy.path

    def decide_base(self, merged: list[PlannedFile]) -> None:
        """Record the `merged` files of this run, as the base for the merges of the next run."""
        base = make_base(merged)
        if self._base.is_lost:
            self._files[base.path] = LockedFile(base.owner, sha256(base.content))
            self._written.append(base)
        else:
            self.decide(base)

    def decide_orphans(self, planned: set[str]) -> None:
        """Decide about the files that an earlier run wrote and this run does not."""
        for path, locked in self._earlier.files.items():
            if path in planned or path == BASE_FILE or locked.owner is Owner.OWNED:
                continue
            on_disk = self._read(path)
            if on_disk is None:
                continue
            if locked.is_untouched(on_disk):
                self._deleted.append(path)
            else:
                self._orphans_kept.append(path)

    def changes(self) -> Changes:
        return Changes(
            written=tuple(sorted(self._written, key=lambda file: file.path)),
            deleted=tuple(sorted(self._deleted)),
            hand_edits=tuple(self._hand_edits),
            unmerged=tuple(self._unmerged),
            rescued=self._rescued,
            in_the_way=tuple(self._in_the_way),
            orphans_kept=tuple(sorted(self._orphans_kept)),
            files=self._files,
        )


def rescue_copy(path: str, content: bytes, read: ReadFile) -> PlannedFile:
    """Return a copy for the rescue folder, at a path that is free or already has this content."""
    number = 1
    place = f"{RESCUE_FOLDER}/{path}.txt"
    while read(place) not in (None, content):
        number += 1
        place = f"{RESCUE_FOLDER}/{path}.{number}.txt"
    return PlannedFile(place, content, Owner.OWNED)


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def format_diff(path: str, old: bytes, new: bytes, labels: Sequence[str]) -> str:
    """Format the difference of two contents of a file; `labels` name the old and the new side."""
    if is_binary(old) or is_binary(new):
        return f"Binary files {path} ({labels[0]}) and {path} ({labels[1]}) differ"
    lines = difflib.unified_diff(
        old.decode("utf-8", "replace").splitlines(),
        new.decode("utf-8", "replace").splitlines(),
        f"{path} ({labels[0]})",
        f"{path} ({labels[1]})",
        lineterm="",
    )
    return "\n".join(lines)
