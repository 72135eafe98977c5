"""What `generate` knows without looking: that this very mcpgen has nothing to do in a project.

A run that leaves a project current, and warns of nothing, notes so in the user's cache, by the lock
and by the code that ran. Where both are the same again, and every input and file is as the lock
says, a new run would make the same bytes, so none is needed. Nothing of it lies in the project.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import sys
from pathlib import Path

import mcpgen
from mcpgen.diagnostics import Severity
from mcpgen.emit.lock import sha256
from mcpgen.ir.file_set import LOCK_FILE
from mcpgen.ir.templates import template_root
from mcpgen.pipeline.check import check
from mcpgen.pipeline.options import DONE, Report
from mcpgen.pipeline.project_folder import read_file


def user_cache() -> Path:
    """Give mcpgen's folder in the user's cache."""
    if os.name == "nt":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "mcpgen"


def note_current(report: Report, cache: Path | None) -> None:
    """Note that a run left its project current, if it had nothing to tell that a next one must.

    A warning, as of an operation that is left out, is told by every run. A cache that cannot be
    written costs time.
    """
    is_silent = all(problem.severity is Severity.NOTE for problem in report.problems)
    if report.exit_code != DONE or not is_silent:
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
    return found.exit_code == DONE and not len(found.problems)


def _note(target: Path, cache: Path | None) -> Path | None:
    lock = read_file(target, LOCK_FILE)
    if lock is None:
        return None
    key = sha256(code_digest().encode() + lock)
    return (cache or user_cache()) / "current" / key


def code_digest() -> str:
    """Hash the code and the templates of this very mcpgen."""
    return _digest(tuple(_sources()))


@functools.cache  # a process runs one code, and may ask for each of many servers
def _digest(paths: tuple[Path, ...]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _sources() -> list[Path]:
    """The code and the templates that decide what is generated."""
    package = Path(mcpgen.__file__).parent
    templates = [path for path in template_root().rglob("*") if path.is_file()]
    return sorted([*package.rglob("*.py"), *templates])
