"""What `generate` knows without looking: that this very mcpgen has nothing to do in a project.

A run that leaves a project current, and warns of nothing, notes so in the user's cache, by the lock
and by the code that ran. Where both are the same again, and every input and file is as the lock
says, a new run would make the same bytes, so none is needed. The types of calls that the user's
code names are such an input, which the lock does not record. Nothing of it lies in the project.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from mcpgen.diagnostics import Severity
from mcpgen.emit.lockfile.lockfile import sha256
from mcpgen.ir.file_set import LOCK_FILE
from mcpgen.pipeline.commands.check import check
from mcpgen.pipeline.options import Report
from mcpgen.pipeline.outcome import Outcome
from mcpgen.pipeline.project.overrides import find_named_call_types
from mcpgen.pipeline.project.project_folder import read_file
from mcpgen.pipeline.user_cache import code_digest, user_cache


def note_current(report: Report, cache: Path | None) -> None:
    """Note that a run left its project current, if it had nothing to tell that a next one must.

    A warning, as of an operation that is left out, is told by every run. A cache that cannot be
    written costs time.
    """
    is_silent = all(problem.severity is Severity.NOTE for problem in report.problems)
    if report.outcome is not Outcome.DONE or not is_silent:
        return
    note = _note(report.target, cache)
    if note is not None:
        with contextlib.suppress(OSError):
            note.parent.mkdir(parents=True, exist_ok=True)
            note.touch()


def is_known_current(target: Path, cache: Path | None) -> bool:
    """Whether a run that was asked for nothing special would change nothing and tell nothing."""
    note = _note(target, cache)
    if note is None or not note.exists():
        return False
    # What the user may edit may be anything: bringing it together with what it was merged with
    # already leaves it as it is.
    found = check(target, inputs_decide=True)
    return found.outcome is Outcome.DONE and not len(found.problems)


def _note(target: Path, cache: Path | None) -> Path | None:
    lock = read_file(target, LOCK_FILE)
    if lock is None:
        return None
    named = " ".join(sorted(find_named_call_types(target)))
    key = sha256(code_digest().encode() + lock + named.encode())
    return (cache or user_cache()) / "current" / key
