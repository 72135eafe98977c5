"""Read-only git queries: the files of a project at a revision."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

_TIMEOUT_SECONDS = 30
# These variables name a hook's repository; the one around a server is found without them.
_OF_A_HOOK = ("GIT_COMMON_DIR", "GIT_DIR", "GIT_PREFIX", "GIT_WORK_TREE")


class GitUnusableError(Exception):
    """Git failed; the message states why."""


class NoRepositoryError(GitUnusableError):
    """The folder is not in a git repository."""


def find_commit(folder: Path, revision: str) -> str | None:
    """Return the hash of the commit that a revision names in the repository around `folder`.

    None if the repository has no such revision.

    Raises:
        NoRepositoryError: `folder` is in no repository.
        GitUnusableError: git is not installed, or fails for the repository.
    """
    if find_root(folder) is None:
        raise NoRepositoryError(f"{folder} lies in no git repository")
    _require_success(_git(folder, "rev-parse", "--git-dir"))
    # `--end-of-options`: a revision that begins with a dash is not an option of git.
    found = _git(
        folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"
    )
    return found.stdout.decode().strip() if found.returncode == 0 else None


def find_branch_point(folder: Path, commit: str) -> str:
    """Return the commit where HEAD left the history of `commit`; `commit` itself if unknown.

    It is unknown in a shallow clone, and if the two have no commit in common.
    """
    found = _git(folder, "merge-base", commit, "HEAD")
    return found.stdout.decode().strip() if found.returncode == 0 else commit


def find_root(folder: Path) -> Path | None:
    """Return the root of the repository around `folder`; None if it is in no repository."""
    place = folder.resolve()
    return next((each for each in (place, *place.parents) if (each / ".git").exists()), None)


def list_changed_paths(folder: Path, commit: str) -> list[str]:
    """Return the paths below `folder` that differ from a commit, or are new and not ignored.

    Raises:
        GitUnusableError: git does not answer.
    """
    compared = ("diff", "--no-ext-diff", "--no-renames", "--name-only", "--relative", "-z", commit)
    listed = [
        _require_success(_git(folder, *arguments, "--", "."))
        for arguments in (compared, ("ls-files", "--others", "--exclude-standard", "-z"))
    ]
    paths = b"".join(listed).decode("utf-8", "surrogateescape").split("\0")[:-1]
    return sorted(set(paths))


def read_at(folder: Path, commit: str, path: str) -> bytes | None:
    """Return the file at `path` below `folder` in a commit; None if the commit does not have it.

    Raises:
        GitUnusableError: git cannot read it, as in a clone without all contents.
    """
    if not _require_success(_git(folder, "ls-tree", commit, "--", path)):
        return None
    return _require_success(_git(folder, "show", f"{commit}:./{path}"))


def read_tree_at(
    folder: Path, commit: str, paths: Sequence[str], is_wanted: Callable[[str], bool]
) -> dict[str, bytes]:
    """Return the files below `paths` that are wanted as a commit has them, by path in `folder`.

    Raises:
        GitUnusableError: git cannot supply the content of one, as in a partial clone.
    """
    listed = _require_success(_git(folder, "ls-tree", "-r", "-z", commit, "--", *paths))
    hashes: dict[str, bytes] = {}
    for entry in listed.decode("utf-8", "surrogateescape").split("\0")[:-1]:
        about, _, path = entry.partition("\t")
        if is_wanted(path):
            hashes[path] = about.split(" ")[2].encode()
    if not hashes:
        return {}
    content = _require_success(
        _git(folder, "cat-file", "--batch", stdin=b"\n".join(hashes.values()))
    )
    found: dict[str, bytes] = {}
    for path in hashes:
        header, _, content = content.partition(b"\n")
        if header.endswith(b" missing"):
            raise GitUnusableError(f"git says: {header.decode()}")
        size = int(header.split(b" ")[2])
        found[path], content = content[:size], content[size + 1 :]
    return found


def _require_success(done: subprocess.CompletedProcess[bytes]) -> bytes:
    """Return what a git command printed; GitUnusableError, with its first line, if it failed."""
    if done.returncode == 0:
        return done.stdout
    message = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
    raise GitUnusableError(f"git says: {message}")


def _git(folder: Path, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    program = shutil.which("git")
    if program is None:
        raise GitUnusableError("git is not installed")
    environment = {name: value for name, value in os.environ.items() if name not in _OF_A_HOOK}
    environment |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        return subprocess.run(  # noqa: S603  git itself, no shell, and a revision never an option
            [program, "-C", str(folder), *arguments],
            capture_output=True,
            check=False,
            env=environment,
            input=stdin,
            timeout=_TIMEOUT_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitUnusableError(f"git does not answer: {error}") from None
