"""Reports of runs that the disk, another run or an interrupted run stopped."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from pathlib import Path

from msgspec import Struct

from mcpgen.diagnostics import Location, Problems, RejectedError
from mcpgen.emit.scratch import SCRATCH_PREFIX
from mcpgen.emit.write import (
    JOURNAL_FILE,
    BusyError,
    CutShortError,
    JournalDamagedError,
    OutsideTargetError,
    RefusedError,
    sync_folder,
)
from mcpgen.pipeline.options import Outcome, StoppedError

NO_TEMPORARY_FOLDER = "No usable temporary directory"
"""Start of the message of `tempfile` if it cannot write to any of the usual folders."""


class _Fault(Struct, frozen=True):
    code: str
    message: str
    help: str
    can_move: bool = False  # another folder for temporary files would help


_SPACE = "free some space there"
_ACCESS = "see to it that you can read and write there"
_PROGRAMS = "end other programs"
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
    errno.EACCES: _Fault("no-permission", "permission denied", _ACCESS),
    errno.EPERM: _Fault("no-permission", "operation not permitted", _ACCESS),
    errno.ENAMETOOLONG: _Fault(
        "name-too-long", "a path is too long for the file system", "choose a shorter path"
    ),
    errno.EMFILE: _Fault(
        "open-files-limit",
        "too many files are open in this process",
        "raise the limit: `ulimit -n 1024`",
    ),
    errno.ENFILE: _Fault("open-files-limit", "too many files are open on this machine", _PROGRAMS),
    errno.EIO: _Fault("disk-failed", "the disk failed to read or write", "check the disk"),
    errno.ENOMEM: _Fault("no-memory", "no memory left", _PROGRAMS),
    errno.EAGAIN: _Fault("process-limit", "no further process can be started", _PROGRAMS),
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

    `folder` is the place of the error, if the error does not state it.
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


def report_interrupted(target: Path, problems: Problems) -> Outcome:
    """Report that an earlier run was interrupted."""
    problems.error(
        "interrupted",
        "an earlier run was interrupted while it was writing",
        at=Location(target.as_posix()),
        why="some files are already new and some are still old",
        help="run `mcpgen generate`; it finishes that run first",
    )
    return Outcome.INTERRUPTED


def report_refused(error: OSError | RefusedError, target: Path, problems: Problems) -> Outcome:
    """Report why a project was not written, or only in part."""
    at = Location(target.as_posix())
    if isinstance(error, OSError) and is_system_fault(error):
        return report_system_fault(error, problems, target)
    match error:
        case BusyError():
            problems.error(
                "busy",
                str(error),
                at=at,
                why="two runs at once would write over each other",
                help="wait until it ends",
            )
            return Outcome.INTERRUPTED
        case CutShortError():
            problems.error(
                "interrupted",
                f"the disk refused in the middle of writing: {error}",
                at=at,
                why="some files are already new and some are still old",
                help="mend that, and run `mcpgen generate`; it finishes this run first",
            )
            return Outcome.INTERRUPTED
        case JournalDamagedError():
            problems.error(
                "journal-damaged",
                str(error),
                at=Location((target / JOURNAL_FILE).as_posix()),
                why="it states how to finish an interrupted run; mcpgen did not follow it",
                help="find out who wrote it, and delete it; `mcpgen generate` then shows which"
                " files are not as they should be",
            )
            return Outcome.INTERRUPTED
        case OutsideTargetError():
            problems.error(
                "outside-target",
                str(error),
                at=at,
                why="mcpgen changes nothing outside the project; nothing was written",
                help="put a file or a folder in the place of the link, or correct mcpgen.lock",
            )
            return Outcome.USAGE
        case _:
            problems.error(
                "target-unwritable",
                _format_error(error, "cannot read or write", target),
                at=at,
                why="a project is written as a whole or not at all; nothing was",
                help="make room, or see to it that you can read and write there",
            )
            return Outcome.USAGE


def report_unreadable(error: OSError, target: Path, problems: Problems) -> Outcome:
    """Report which file of a project cannot be read."""
    if is_system_fault(error):
        return report_system_fault(error, problems, target)
    problems.error(
        "unreadable",
        _format_error(error, "cannot read", target),
        at=Location(target.as_posix()),
        why="nothing can be said of a project that is known in part",
        help="see to it that you can read all of it",
    )
    return Outcome.USAGE


def report_stop(
    error: StoppedError | RejectedError | OSError, target: Path, problems: Problems
) -> Outcome:
    """Return the outcome of a command that an error ended; report which file is unreadable."""
    if isinstance(error, OSError):
        return report_unreadable(error, target, problems)
    return error.outcome if isinstance(error, StoppedError) else Outcome.REJECTED


def _format_error(error: OSError | RefusedError, cannot: str, target: Path) -> str:
    what = getattr(error, "filename", None) or target
    return f"{cannot} {what}: {getattr(error, 'strerror', None) or error}"


def write_atomically(place: Path, content: bytes, *, mode: int = 0o644) -> None:
    """Write a file atomically, even if the machine stops. A link is replaced.

    `mode` is that of a new file; an existing one keeps its own.

    Raises:
        OSError: the file cannot be written; nothing was written.
    """
    handle, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}-")
    staged = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if place.exists():
            shutil.copymode(place, staged)
        else:
            staged.chmod(mode)
        staged.replace(place)
    finally:
        staged.unlink(missing_ok=True)
    sync_folder(place.parent)
