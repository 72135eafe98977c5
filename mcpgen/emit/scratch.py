"""Temporary folders, which outlive a run that is killed no longer than until the next one."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if sys.platform != "win32":
    import fcntl

SCRATCH_PREFIX = "mcpgen-scratch-"
_NOT_LOCKED_YET_SECONDS = 60  # far more than lies between making a folder and locking it


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield an empty folder as `_scratch_folder`; errors of the disk there name it."""
    with _scratch_folder() as folder:
        try:
            yield folder
        except OSError as error:
            if error.errno is not None and not error.filename:
                error.filename = str(folder)
            raise


@contextmanager
def _scratch_folder() -> Iterator[Path]:
    """Create an empty folder in the system's temporary directory, and remove it afterwards.

    What killed runs left there is removed first. A run locks its folder, and the system ends the
    lock with the process; on Windows, which knows no such locks, what they left stays.
    """
    if sys.platform == "win32":
        with tempfile.TemporaryDirectory(prefix=SCRATCH_PREFIX) as name:
            yield Path(name)
        return
    for left in Path(tempfile.gettempdir()).glob(f"{SCRATCH_PREFIX}*"):
        _remove_if_abandoned(left)
    with tempfile.TemporaryDirectory(prefix=SCRATCH_PREFIX) as name:
        folder = Path(name)
        with _open_folder(folder) as handle:
            with contextlib.suppress(OSError):  # a file system that knows no such locks
                _lock(handle)
            yield folder


def _remove_if_abandoned(folder: Path) -> None:
    # Its run may be at work, or be ending; another user's is none of ours.
    with contextlib.suppress(OSError):
        status = folder.stat()
        is_old = time.time() - status.st_mtime > _NOT_LOCKED_YET_SECONDS
        if is_old and status.st_uid == os.getuid():
            with _open_folder(folder) as handle:
                _lock(handle)
                shutil.rmtree(folder)


@contextmanager
def _open_folder(folder: Path) -> Iterator[int]:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield handle
    finally:
        os.close(handle)


def _lock(handle: int) -> None:
    """Lock an open folder.

    Raises:
        OSError: another process holds it, or the file system knows no such locks.
    """
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
