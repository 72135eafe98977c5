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
_FAR_BEHIND = 1024  # the byte to lock on Windows, where nobody else may read what is locked


class BusyError(RefusedError):
    """Another run is writing this project; says which process."""


@contextmanager
def exclusive(target: Path) -> Iterator[None]:
    """Hold the project for one run; `target` exists.

    Raises:
        BusyError: another run holds it.
        OSError: the disk refused the mark.
    """
    mark = target / _RUNNING
    try:
        handle = _taken(mark)
        try:
            os.ftruncate(handle, 0)
            os.lseek(handle, 0, os.SEEK_SET)
            os.write(handle, str(os.getpid()).encode())
            yield
        finally:
            _let_go(mark, handle)
    finally:
        with contextlib.suppress(OSError):
            mark.parent.rmdir()  # where the run made it and put nothing there


def _taken(mark: Path) -> int:
    """Open the mark and lock it.

    Raises:
        BusyError: another process has it locked.
    """
    while True:
        # Not `exist_ok`, which looks again, when the run before may have removed the folder.
        with contextlib.suppress(FileExistsError):
            mark.parent.mkdir()
        try:
            handle = os.open(mark, os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0), 0o666)
        except FileNotFoundError:
            continue  # the run before this one removed the folder, too
        try:
            _lock(handle, mark)
            if _is_still_there(handle, mark):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _lock(handle: int, mark: Path) -> None:
    """Lock the open mark for this process.

    Raises:
        BusyError: another one has it locked.
    """
    try:
        if sys.platform == "win32":
            os.lseek(handle, _FAR_BEHIND, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        raise _busy(_process(mark)) from None
    except OSError:  # a disk without locks: there it counts whom the mark names
        if _is_running(_process(mark)):
            raise _busy(_process(mark)) from None


def _busy(process: int) -> BusyError:
    who = f"process {process}" if process else "another process"
    return BusyError(f"{who} is writing this project")


def _is_still_there(handle: int, mark: Path) -> bool:
    """Whether what was opened is the mark; its last holder may have removed that meanwhile."""
    try:
        return os.path.samestat(os.fstat(handle), mark.lstat())
    except FileNotFoundError:
        return False


def _let_go(mark: Path, handle: int) -> None:
    if sys.platform == "win32":  # where an open file cannot be removed
        os.close(handle)
        with contextlib.suppress(PermissionError):  # another run opened it already
            mark.unlink(missing_ok=True)
    else:
        mark.unlink(missing_ok=True)
        os.close(handle)


def _process(mark: Path) -> int:
    """Read who put a mark; 0 where it says nothing."""
    try:
        return int(mark.read_text())
    except (FileNotFoundError, ValueError):
        return 0


def _is_running(process: int) -> bool:
    if process <= 0 or process == os.getpid():
        return False
    if sys.platform == "win32":  # which has no signal that only asks
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
