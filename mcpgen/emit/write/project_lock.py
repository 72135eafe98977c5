"""Lock that lets only one run at a time write a project.

The file `.mcpgen/running` contains the process id and is locked by that process. The operating
system releases the lock when the process ends. A file that a killed run leaves therefore blocks
nobody, even if its process id is in use again, which is common in containers.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mcpgen.emit.write.ownership import STATE_FOLDER
from mcpgen.emit.write.write import RefusedError

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
    """Open the file and lock it.

    Raises:
        BusyError: another process has locked it.
    """
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
    """Lock the open file.

    Raises:
        BusyError: another process has locked it.
    """
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
    """Whether the open file still has its path: another run may have removed it."""
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
