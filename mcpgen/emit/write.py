"""Writing a project: all of it or nothing, and an interrupted run can always be finished.

New contents go to `.mcpgen/stage/`; then a journal names what is to happen; only then is each file
moved into its place, the lock last. A run that is cut before the journal changed nothing; one that
is cut after it is rolled forward by the next.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from mcpgen.emit.ownership import STATE_FOLDER
from mcpgen.ir.file_set import FileSet

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
    while True:
        try:
            handle = os.open(mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
            break
        except FileExistsError:
            _refuse_or_clear(mark)
    with os.fdopen(handle, "w") as file:
        file.write(str(os.getpid()))
    try:
        yield
    finally:
        mark.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            mark.parent.rmdir()  # where the run made it and put nothing there


def _refuse_or_clear(mark: Path) -> None:
    """Raise if the process that `mark` names runs; remove a mark that a dead one left."""
    try:
        owner = int(mark.read_text())
    except FileNotFoundError:
        return
    except ValueError:
        raise BusyError(f"another run has just begun; if not, delete {_RUNNING}") from None
    if _is_running(owner):
        raise BusyError(f"process {owner} is writing this project")
    mark.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
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
    steps = json.loads(journal.read_text(encoding="utf-8"))
    _apply(target, steps["writes"], steps["deletes"])
    return True


def write(target: Path, files: FileSet, deleted: Sequence[str]) -> None:
    """Write `files` in their order, and delete; hold `target` with `exclusive` meanwhile.

    Raises:
        OutsideTargetError: a path leads out of `target`; nothing was written.
        OSError: the disk refused while staging; nothing was written.
    """
    for path in (*(file.path for file in files), *deleted):
        _check_inside(target, path)
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
    writes = [(str(number), file.path) for number, file in enumerate(files)]
    steps = json.dumps({"writes": writes, "deletes": list(deleted)})
    _write_through(stage / "journal.json", steps.encode(), 0o666)
    (stage / "journal.json").replace(target / _JOURNAL)
    _sync_folder(target / STATE_FOLDER)
    _apply(target, writes, deleted)


def _apply(target: Path, writes: Sequence[Sequence[str]], deletes: Sequence[str]) -> None:
    for staged, path in writes:
        content = target / _STAGE / staged
        if content.exists():  # else it is in its place already, and this is a second attempt
            place = target / path
            place.parent.mkdir(parents=True, exist_ok=True)
            content.replace(place)
    for path in deletes:
        (target / path).unlink(missing_ok=True)
        _remove_empty_folders(target, PurePosixPath(path).parent)
    (target / _JOURNAL).unlink()
    shutil.rmtree(target / _STAGE, ignore_errors=True)


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
