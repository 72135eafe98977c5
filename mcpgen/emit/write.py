"""Writing a project: all of it or nothing, and an interrupted run can always be finished.

New contents go to `.mcpgen/stage/`; then a journal names what is to happen; only then is each file
moved into its place, the lock last. A run that is cut before the journal changed nothing; one that
is cut after it is rolled forward by the next. The journal knows what each file was, so that an edit
made between the two runs is not lost either.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from mcpgen.emit.lock import sha256
from mcpgen.emit.ownership import RESCUE_FOLDER, STATE_FOLDER
from mcpgen.ir.file_set import FileSet

if sys.platform != "win32":
    import fcntl

_JOURNAL = f"{STATE_FOLDER}/journal.json"
_STAGE = f"{STATE_FOLDER}/stage"
_RUNNING = f"{STATE_FOLDER}/running"


class OutsideTargetError(Exception):
    """A file would land outside the project's folder."""


class BusyError(Exception):
    """Another run is writing this project; says which process."""


@contextmanager
def exclusive(target: Path) -> Iterator[None]:
    """Hold the project for one run; `target` exists.

    Raises:
        BusyError: another run holds it.
    """
    mark = target / _RUNNING
    mark.parent.mkdir(exist_ok=True)
    try:
        _take(mark)
        try:
            yield
        finally:
            mark.unlink(missing_ok=True)
    finally:
        with contextlib.suppress(OSError):
            mark.parent.rmdir()  # where the run made it and put nothing there


def _take(mark: Path) -> None:
    """Put our process id into a new file at `mark`, which appears whole or not at all.

    A file that is made first and filled then would, if its process died between, name nobody who
    could be seen to be dead.
    """
    own = mark.with_name(f"{mark.name}.{os.getpid()}")
    own.unlink(missing_ok=True)
    try:
        _write_through(own, str(os.getpid()).encode(), 0o666)
        while True:
            try:
                _put(own, mark)
                break
            except FileExistsError:
                _refuse_or_clear(mark)
    finally:
        own.unlink(missing_ok=True)
    for left in mark.parent.glob(f"{mark.name}.*"):
        if not _is_running(_process(left)):
            left.unlink(missing_ok=True)


def _put(own: Path, mark: Path) -> None:
    """Let the file `own` appear at `mark`.

    Raises:
        FileExistsError: there is one.
    """
    try:
        os.link(own, mark)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links: whole in all but the rarest case
        handle = os.open(mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        with os.fdopen(handle, "wb") as file:
            file.write(own.read_bytes())


def _refuse_or_clear(mark: Path) -> None:
    """Raise if the process that `mark` names runs; remove a mark that a dead one left."""
    with _looked_at_alone(mark.parent):
        if not mark.exists():
            return
        owner = _process(mark)
        if _is_running(owner):
            raise BusyError(f"process {owner} is writing this project")
        mark.unlink(missing_ok=True)


@contextmanager
def _looked_at_alone(folder: Path) -> Iterator[None]:
    """Let one process at a time look at a mark and clear it; the system ends it with the process.

    Else one that has seen the mark of a dead process could remove the mark that another has put
    there since.
    """
    if sys.platform == "win32":  # where a mark is believed, and none is cleared
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a file system that knows no such locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _process(mark: Path) -> int:
    """Read who put a mark; 0 where it says nothing or is gone."""
    try:
        return int(mark.read_text())
    except (FileNotFoundError, ValueError):
        return 0


def _is_running(process: int) -> bool:
    if process <= 0:
        return False
    if os.name == "nt":  # no signal 0 there: believe the mark
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def is_interrupted(target: Path) -> bool:
    """Whether an earlier run was cut after it had begun to change the project."""
    return (target / _JOURNAL).is_file()


def roll_forward(target: Path) -> bool:
    """Finish an interrupted run; say whether there was one."""
    journal = target / _JOURNAL
    if not journal.is_file():
        shutil.rmtree(target / _STAGE, ignore_errors=True)
        return False
    _apply(target, json.loads(journal.read_text(encoding="utf-8")))
    return True


def write(target: Path, files: FileSet, deleted: Sequence[str]) -> None:
    """Write `files` in their order, and delete; hold `target` with `exclusive` meanwhile.

    Raises:
        OutsideTargetError: a path leads out of `target`; nothing was written.
        OSError: the disk refused while staging; nothing was written.
    """
    paths = [file.path for file in files]
    for path in (*paths, *deleted):
        _check_inside(target, path)
        _check_free(target, path)
    before = {path: _digest(target / path) for path in (*paths, *deleted)}
    stage = target / _STAGE
    try:
        shutil.rmtree(stage, ignore_errors=True)
        stage.mkdir(parents=True)
        for number, file in enumerate(files):
            _write_through(
                stage / str(number), file.content, 0o777 if file.is_executable else 0o666
            )
    except OSError:
        shutil.rmtree(stage, ignore_errors=True)
        raise
    journal = {"writes": paths, "deletes": list(deleted), "before": before}
    _write_through(stage / "journal.json", json.dumps(journal).encode(), 0o666)
    (stage / "journal.json").replace(target / _JOURNAL)
    _sync_folder(target / STATE_FOLDER)
    _apply(target, journal)


def _apply(target: Path, journal: Mapping[str, Any]) -> None:
    """Do what the journal says, as far as it is not done yet."""
    writes, deletes, before = journal["writes"], journal["deletes"], journal["before"]
    for number, path in enumerate(writes):
        content, place = target / _STAGE / str(number), target / path
        if content.exists():  # else it is in its place already, and this is a second attempt
            place.parent.mkdir(parents=True, exist_ok=True)
            if place.exists():
                _keep_a_later_edit(target, path, (before[path], _digest(content)))
                shutil.copymode(place, content)
            content.replace(place)
    for path in deletes:
        if _digest(target / path) in (before[path], None):  # else somebody wrote it since
            (target / path).unlink(missing_ok=True)
            _remove_empty_folders(target, PurePosixPath(path).parent)
    for folder in {(target / path).parent for path in writes}:
        _sync_folder(folder)
    (target / _JOURNAL).unlink()
    shutil.rmtree(target / _STAGE, ignore_errors=True)


def _keep_a_later_edit(target: Path, path: str, known: Sequence[str | None]) -> None:
    """Copy a file that somebody wrote after the plan was made and before it was carried out."""
    content = (target / path).read_bytes()
    if sha256(content) in known:
        return
    copy = target / RESCUE_FOLDER / f"{path}.later.{sha256(content)[:12]}.txt"
    copy.parent.mkdir(parents=True, exist_ok=True)
    _write_through(copy, content, 0o666)


def _digest(path: Path) -> str | None:
    try:
        return sha256(path.read_bytes())
    except FileNotFoundError:
        return None


def _remove_empty_folders(target: Path, folder: PurePosixPath) -> None:
    with contextlib.suppress(OSError):  # the first that is not empty ends it
        for each in (folder, *folder.parents):
            if each.name:
                (target / each).rmdir()


def _check_inside(target: Path, path: str) -> None:
    relative = PurePosixPath(path)
    if relative.is_absolute() or ".." in relative.parts or "\\" in path or ":" in path:
        raise OutsideTargetError(path)
    if not (target / path).parent.resolve().is_relative_to(target.resolve()):
        raise OutsideTargetError(f"{path} lies behind a symbolic link")


def _check_free(target: Path, path: str) -> None:
    """Refuse before anything is written what would fail in the middle.

    Raises:
        OSError: a folder lies where the file has to go, or a file where its folder has to be.
    """
    if (target / path).is_dir():
        raise IsADirectoryError(errno.EISDIR, f"a folder is in the way of {path}")
    for folder in (target / path).relative_to(target).parents:
        place = target / folder
        if place.exists() and not place.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, f"{folder.as_posix()} is in the way of {path}")


def _write_through(path: Path, content: bytes, mode: int) -> None:
    handle = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | getattr(os, "O_BINARY", 0), mode)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":  # folders cannot be opened there
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
