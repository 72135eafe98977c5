"""Temporary folders; those of killed runs are removed by the next run."""

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
_MIN_AGE_SECONDS = 60  # a folder is locked long before


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield an empty temporary folder; an `OSError` without a file name gets its name."""
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

    Folders of killed runs are removed first: a run locks its folder, and the system releases the
    lock with the process. On Windows, where folders cannot be locked, they stay.
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
            with contextlib.suppress(OSError):  # the file system has no such locks
                _lock(handle)
            yield folder


def _remove_if_abandoned(folder: Path) -> None:
    # Its run may still be working or ending; a folder of another user stays.
    with contextlib.suppress(OSError):
        status = folder.stat()
        is_old = time.time() - status.st_mtime > _MIN_AGE_SECONDS
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
    """Lock an open folder; OSError if it is locked, or the file system has no such locks."""
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
