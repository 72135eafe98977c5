"""Reports of runs that the disk, another run or an interrupted run stopped."""

from __future__ import annotations

from pathlib import Path

from mcpgen.diagnostics import Location, Problems, RejectedError
from mcpgen.emit.write import (
    JOURNAL_FILE,
    BusyError,
    CutShortError,
    JournalDamagedError,
    OutsideTargetError,
    RefusedError,
)
from mcpgen.pipeline.outcome import Outcome, StoppedError
from mcpgen.pipeline.project.system_faults import is_system_fault, report_system_fault


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
