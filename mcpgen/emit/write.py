"""Atomic writing of a project: all files or none, and recovery of an interrupted run.

New contents go to `.mcpgen/stage/`, then a journal lists the changes, and only then each file is
moved into its place, the lock last. A run that stops before the journal exists changed nothing; the
next run completes one that stops after it. The journal contains the hash of each file to replace,
so that an edit between the two runs is not lost. Its content is checked like other untrusted input,
since a folder may come from somebody else.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TypeVar

import msgspec

from mcpgen.emit.lockfile import sha256
from mcpgen.ir.file_set import RESCUE_FOLDER, STATE_FOLDER, FileSet

JOURNAL_FILE = f"{STATE_FOLDER}/journal.json"
_STAGE = f"{STATE_FOLDER}/stage"
_THREADS = 8  # a disk flushes several files in the time of one
_FEW_ITEMS = 16  # which take less time than starting threads
T = TypeVar("T")


class RefusedError(Exception):
    """A project cannot be written, or not completely, for a reason that the user can fix."""


class OutsideTargetError(RefusedError):
    """A file is outside the project's folder; the message states which. Nothing was written."""


class CutShortError(RefusedError):
    """Writing failed after some changes; the message states why. The next run continues."""


class JournalDamagedError(RefusedError):
    """The journal of an interrupted run is damaged, so that the run cannot be completed."""


class _Journal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The changes of a run; `before` has the earlier hash of each file by path (None: no file)."""

    writes: tuple[str, ...]
    deletes: tuple[str, ...]
    before: Mapping[str, str | None]


def is_interrupted(target: Path) -> bool:
    """Return whether an earlier run was interrupted after it had begun to change the project."""
    return (target / JOURNAL_FILE).is_file()


def roll_forward(target: Path) -> bool:
    """Complete an interrupted run; return whether there was one.

    Raises:
        JournalDamagedError: the journal is not one of mcpgen; nothing was changed.
        CutShortError: writing failed again.
    """
    if not is_interrupted(target):
        shutil.rmtree(target / _STAGE, ignore_errors=True)
        return False
    _carry_out(target, _read_journal(target))
    return True


def _read_journal(target: Path) -> _Journal:
    try:
        journal = msgspec.json.decode((target / JOURNAL_FILE).read_bytes(), type=_Journal)
        _check_places(target, journal.writes, journal.deletes)
    except (msgspec.DecodeError, RecursionError):
        raise JournalDamagedError(f"{JOURNAL_FILE} is not what mcpgen writes") from None
    except OutsideTargetError as error:
        raise JournalDamagedError(f"{JOURNAL_FILE} leads out of the project: {error}") from None
    return journal


def write(target: Path, files: FileSet, deleted: Sequence[str]) -> None:
    """Write `files` in their order, and delete `deleted`; to be called within `lock_project`.

    A file that is a link within `target` stays a link: its target is written.

    Raises:
        OutsideTargetError: a path leads out of `target`; nothing was written.
        OSError: staging failed; nothing was written.
        CutShortError: a later step failed.
    """
    paths = tuple(file.path for file in files)
    _check_places(target, paths, deleted)
    _check_free(target, (*paths, *deleted))
    before = {path: _digest(target / path) for path in (*paths, *deleted)}
    journal = _Journal(paths, tuple(deleted), before)
    stage = target / _STAGE
    try:
        shutil.rmtree(stage, ignore_errors=True)
        stage.mkdir(parents=True)
        contents = {str(number): file.content for number, file in enumerate(files)}
        contents["journal.json"] = msgspec.json.encode(journal)
        _for_each([*contents], lambda name: _write_through(stage / name, contents[name]))
    except OSError:
        shutil.rmtree(stage, ignore_errors=True)
        raise
    (stage / "journal.json").replace(target / JOURNAL_FILE)
    sync_folder(target / STATE_FOLDER)
    _carry_out(target, journal)


def _carry_out(target: Path, journal: _Journal) -> None:
    """Make the changes in the journal that have not been made yet."""
    try:
        _apply(target, journal)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise CutShortError(f"{where}{error.strerror or error}") from error


def _apply(target: Path, journal: _Journal) -> None:
    for number, path in enumerate(journal.writes):
        content, place = target / _STAGE / str(number), target / path
        if content.exists():  # else it has been moved by an earlier attempt
            place = place.resolve() if place.is_symlink() else place
            place.parent.mkdir(parents=True, exist_ok=True)
            if place.exists():
                _preserve_later_edit(target, path, (journal.before.get(path), _digest(content)))
                shutil.copymode(place, content)
            content.replace(place)
    for path in journal.deletes:
        if _digest(target / path) in (journal.before.get(path), None):  # else it is newer
            (target / path).unlink(missing_ok=True)
            _remove_empty_folders(target, PurePosixPath(path).parent)
    _for_each([*{(target / path).parent for path in journal.writes}], sync_folder)
    (target / JOURNAL_FILE).unlink()
    shutil.rmtree(target / _STAGE, ignore_errors=True)


def _preserve_later_edit(target: Path, path: str, known: Sequence[str | None]) -> None:
    """Copy a file that was changed between the planning and the writing of this run."""
    content = (target / path).read_bytes()
    if sha256(content) in known:
        return
    copy = target / RESCUE_FOLDER / f"{path}.later.{sha256(content)[:12]}.txt"
    copy.parent.mkdir(parents=True, exist_ok=True)
    _write_through(copy, content)


def _digest(path: Path) -> str | None:
    try:
        return sha256(path.read_bytes())
    except FileNotFoundError:
        return None


def _remove_empty_folders(target: Path, folder: PurePosixPath) -> None:
    with contextlib.suppress(OSError):  # ends at the first folder that is not empty
        for each in (folder, *folder.parents):
            if each.name:
                (target / each).rmdir()


def _check_places(target: Path, writes: Sequence[str], deletes: Sequence[str]) -> None:
    """Reject changes of anything outside the project."""
    root = target.resolve()
    inside: set[Path] = set()  # folders of earlier paths
    for path in (*writes, *deletes):
        relative = PurePosixPath(path)
        if relative.is_absolute() or ".." in relative.parts or "\\" in path or ":" in path:
            raise OutsideTargetError(f"{path} is not a path inside the project")
        folder = (target / relative).parent
        if folder not in inside and not folder.resolve().is_relative_to(root):
            raise OutsideTargetError(
                f"{path} lies behind a symbolic link that leads out of the project"
            )
        inside.add(folder)
    for path in writes:  # a deleted link leaves its target as it is
        place = target / path
        if place.is_symlink() and not place.resolve().is_relative_to(root):
            raise OutsideTargetError(f"{path} is a symbolic link that leads out of the project")


def _check_free(target: Path, paths: Sequence[str]) -> None:
    """Reject paths that could not be written, before anything is written."""
    free: set[PurePosixPath] = set()  # with all folders above them
    for path in paths:
        if (target / path).is_dir():
            raise IsADirectoryError(errno.EISDIR, f"a folder is in the way of {path}")
        for folder in PurePosixPath(path).parents:
            if folder in free:
                break
            place = target / folder
            if place.exists() and not place.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, f"{folder} is in the way of {path}")
            free.add(folder)


def _write_through(path: Path, content: bytes) -> None:
    flags = os.O_CREAT | os.O_WRONLY | os.O_TRUNC | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        error.filename = error.filename or str(path)  # if the disk is full, the error has no path
        raise


def sync_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk."""
    if os.name == "nt":  # folders cannot be opened there
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _for_each(items: Sequence[T], work: Callable[[T], None]) -> None:
    """Call `work` with each item; with many in threads, so that the waits for the disk overlap."""
    if len(items) <= _FEW_ITEMS:
        for item in items:
            work(item)
        return
    # Imported here: it imports `logging`, and `check` writes nothing.
    from concurrent.futures import ThreadPoolExecutor

    def work_on(part: Sequence[T]) -> None:
        for item in part:
            work(item)

    parts = [items[number::_THREADS] for number in range(min(_THREADS, len(items)))]
    with ThreadPoolExecutor(_THREADS) as threads:
        for _ in threads.map(work_on, parts):
            pass  # raises what a part raised


if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_RUNNING = f"{STATE_FOLDER}/running"
_LOCKED_BYTE = 1024  # beyond the text: on Windows, other processes cannot read a locked byte


class BusyError(RefusedError):
    """Another run is writing this project; the text names its process."""


@contextmanager
def lock_project(target: Path) -> Iterator[None]:
    """Lock the project in the existing folder `target` for one run.

    Raises:
        BusyError: another run has locked it.
        OSError: the file cannot be written.
    """
    mark = target / _RUNNING
    try:
        handle = _open_locked(mark)
        try:
            os.ftruncate(handle, 0)
            os.lseek(handle, 0, os.SEEK_SET)
            os.write(handle, str(os.getpid()).encode())
            yield
        finally:
            _release(mark, handle)
    finally:
        with contextlib.suppress(OSError):
            mark.parent.rmdir()  # unless it has other files


def _open_locked(mark: Path) -> int:
    """Open the file and lock it; BusyError if another process has locked it."""
    while True:
        # `exist_ok` would check again, when another run may have removed the folder.
        with contextlib.suppress(FileExistsError):
            mark.parent.mkdir()
        try:
            handle = os.open(mark, os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0), 0o666)
        except FileNotFoundError:
            continue  # another run removed the folder
        try:
            _lock(handle, mark)
            if _is_current(handle, mark):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _lock(handle: int, mark: Path) -> None:
    """Lock the open file."""
    try:
        if sys.platform == "win32":
            os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        raise _busy(_read_process(mark)) from None
    except OSError:  # the file system has no locks; the process id decides
        if _is_running(_read_process(mark)):
            raise _busy(_read_process(mark)) from None


def _busy(process: int) -> BusyError:
    who = f"process {process}" if process else "another process"
    return BusyError(f"{who} is writing this project")


def _is_current(handle: int, mark: Path) -> bool:
    """Return whether the open file still has its path: another run may have removed it."""
    try:
        return os.path.samestat(os.fstat(handle), mark.lstat())
    except FileNotFoundError:
        return False


def _release(mark: Path, handle: int) -> None:
    if sys.platform == "win32":  # an open file cannot be removed
        os.close(handle)
        with contextlib.suppress(PermissionError):  # another run has opened it
            mark.unlink(missing_ok=True)
    else:
        mark.unlink(missing_ok=True)
        os.close(handle)


def _read_process(mark: Path) -> int:
    """Read the process id from the file; 0 if it has none."""
    try:
        return int(mark.read_text())
    except (FileNotFoundError, ValueError):
        return 0


def _is_running(process: int) -> bool:
    if process <= 0 or process == os.getpid():
        return False
    if sys.platform == "win32":  # there is no signal 0
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
