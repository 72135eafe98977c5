"""What mcpgen asks of git, which it never writes to: files as a revision has them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

_TIMEOUT_SECONDS = 30


class GitUnusableError(Exception):
    """Git cannot answer; says why."""


def find_commit(folder: Path, revision: str) -> str | None:
    """Give the hash of the commit that a revision means in the repository around `folder`.

    None where the repository has no such revision.

    Raises:
        GitUnusableError: git is not installed, or `folder` lies in no repository.
    """
    if _git(folder, "rev-parse", "--git-dir") is None:
        raise GitUnusableError(f"{folder} lies in no git repository")
    # `--end-of-options`: a revision that begins with a dash is none of git's own options.
    found = _git(
        folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"
    )
    return None if found is None else found.decode().strip()


def read_at(folder: Path, commit: str, path: str) -> bytes | None:
    """Give the file at `path` below `folder` as a commit has it; None where it has none."""
    return _git(folder, "show", f"{commit}:./{path}")


def _git(folder: Path, *arguments: str) -> bytes | None:
    """Give what a git command prints; None where it fails."""
    program = shutil.which("git")
    if program is None:
        raise GitUnusableError("git is not installed")
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(  # noqa: S603  git itself, no shell, and a revision never an option
            [program, "-C", str(folder), *arguments],
            capture_output=True,
            check=False,
            env=environment,
            stdin=subprocess.DEVNULL,
            timeout=_TIMEOUT_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitUnusableError(f"git does not answer: {error}") from None
    return done.stdout if done.returncode == 0 else None
