"""Faults of the user's system, such as a full disk: what is missing, and how to fix it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from msgspec import Struct

from mcpgen.diagnostics import Location, Problems
from mcpgen.emit.scratch import SCRATCH_PREFIX
from mcpgen.pipeline.outcome import Outcome

NO_TEMPORARY_FOLDER = "No usable temporary directory"
"""How `tempfile` begins its message where it can write to none of the usual folders."""


class _Fault(Struct, frozen=True):
    code: str
    message: str
    help: str
    can_move: bool = False  # another folder for temporary files would help


_SPACE = "free some space there"
_FAULTS = {
    errno.ENOSPC: _Fault("no-space", "no space left on the disk", _SPACE, can_move=True),
    errno.EDQUOT: _Fault(
        "no-space", "the disk quota of this user is used up", _SPACE, can_move=True
    ),
    errno.EFBIG: _Fault(
        "file-size-limit",
        "a file would exceed the limit on the size of files",
        "raise the limit: `ulimit -f unlimited`",
    ),
    errno.EROFS: _Fault(
        "not-writable",
        "the file system is read-only",
        "choose a folder that you can write to",
        can_move=True,
    ),
    errno.EACCES: _Fault(
        "no-permission", "permission denied", "see to it that you can read and write there"
    ),
    errno.EPERM: _Fault(
        "no-permission", "operation not permitted", "see to it that you can read and write there"
    ),
    errno.ENAMETOOLONG: _Fault(
        "name-too-long", "a path is too long for the file system", "choose a shorter path"
    ),
    errno.EMFILE: _Fault(
        "open-files-limit",
        "too many files are open in this process",
        "raise the limit: `ulimit -n 1024`",
    ),
    errno.ENFILE: _Fault(
        "open-files-limit", "too many files are open on this machine", "end other programs"
    ),
    errno.EIO: _Fault("disk-failed", "the disk failed to read or write", "check the disk"),
    errno.ENOMEM: _Fault("no-memory", "no memory left", "end other programs"),
    errno.EAGAIN: _Fault(
        "process-limit", "no further process can be started", "end other programs"
    ),
}
_TEMPORARY = _Fault(
    "no-temporary-folder",
    "no folder for temporary files is writable",
    "free some space in the folder of temporary files",
)


def is_system_fault(error: BaseException) -> bool:
    """Whether an error is for the user to fix, and no mistake of mcpgen."""
    return _fault_of(error) is not None


def report_system_fault(
    error: BaseException, problems: Problems, folder: Path | None = None
) -> Outcome:
    """Report the fault as an error and return the outcome.

    `folder` is where the error happened, if the error does not say so.
    """
    fault = _fault_of(error)
    if fault is None or not isinstance(error, OSError):
        raise error
    place = os.fsdecode(error.filename) if error.filename else str(folder or "")
    problems.error(
        fault.code,
        fault.message,
        at=Location(Path(place).as_posix()) if place else None,
        why="a project is written as a whole or not at all, so it is as it was",
        help=_help(fault, place),
    )
    return Outcome.FINDINGS


def _fault_of(error: BaseException) -> _Fault | None:
    if not isinstance(error, OSError):
        return None
    if error.errno == errno.ENOENT and NO_TEMPORARY_FOLDER in str(error.strerror):
        return _TEMPORARY
    return _FAULTS.get(error.errno or 0)


def _help(fault: _Fault, place: str) -> str:
    if fault is _TEMPORARY or (fault.can_move and SCRATCH_PREFIX in place):
        return f"{fault.help}, or set TMPDIR to a folder on another disk"
    return fault.help
