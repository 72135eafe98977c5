"""Conflicts and foreign files in a project, which only its user can resolve."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from mcpgen.diagnostics import Location, Problems
from mcpgen.emit.merge.merge import fold, stray_markers
from mcpgen.ir.file_set import CONFLICT_FOLDER
from mcpgen.pipeline.project.project_folder import read_file

_MARKER = re.compile(r"(<{7}|>{7}) ")
_MERGING = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REBASE_HEAD", "REVERT_HEAD")


def find_unresolved(target: Path, paths: Iterable[str], problems: Problems) -> list[str]:
    """Report conflict markers in the files at `paths`, and new versions that wait beside a file."""
    marked = [path for path in sorted(set(paths)) if _report_markers(target, path, problems)]
    folder = target / CONFLICT_FOLDER
    left = sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else []
    offered = [path.relative_to(target).as_posix() for path in left]
    for path in offered:
        own = path.removeprefix(f"{CONFLICT_FOLDER}/")
        problems.error(
            "conflict",
            f"{own} conflicts with mcpgen's new version of it",
            at=Location(path),
            why=f"{own} has your text; mcpgen's is in {path}",
            help=f"take what you need of it into {own}, and delete {path}",
        )
    return [*marked, *offered]


def _report_markers(target: Path, path: str, problems: Problems) -> bool:
    lines = (read_file(target, path) or b"").decode("utf-8", "replace").splitlines()
    if path.endswith(".md"):
        _report_stray_markers(path, lines, problems)
    # Inside a marked block all text is mcpgen's, and the next run rewrites it.
    outside = fold(lines)[0] if path.endswith(".md") else lines
    marker = next((line for line in outside if _MARKER.match(line)), None)
    if marker is None:
        return False
    problems.error(
        "conflict",
        f"{path} has the markers of an unresolved conflict",
        at=Location(path, lines.index(marker) + 1, 1, excerpt=marker, width=7),
        why="mcpgen merges its changes into this file, and would keep the markers as text",
        help="edit it to read as you want it, without the markers",
    )
    return True


def _report_stray_markers(path: str, lines: Sequence[str], problems: Problems) -> None:
    stray = stray_markers(lines)
    if stray:
        line = lines[stray[0]]
        problems.warning(
            "stray-marker",
            f"{path} has a block marker without its counterpart",
            at=Location(path, stray[0] + 1, 1, excerpt=line, width=len(line)),
            why="mcpgen updates the text between a begin marker and an end marker",
            help="add the missing marker, or delete this one",
        )


def is_merging(target: Path) -> bool:
    """Whether git is merging, rebasing or picking in the repository around `target`."""
    for folder in (target.resolve(), *target.resolve().parents):
        git = folder / ".git"
        if git.is_file():  # a worktree or a submodule: names the folder
            text = git.read_text(encoding="utf-8", errors="replace")
            git = folder / text.removeprefix("gitdir:").strip()
        if git.is_dir():
            return any((git / name).exists() for name in _MERGING)
    return False


def find_foreign(target: Path, known: Iterable[str], problems: Problems) -> None:
    """Tell of files among the generated ones that mcpgen did not write."""
    ours = set(known)
    for folder in (*target.glob("src/*/_generated"), target / "tests" / "generated"):
        for path in sorted(folder.rglob("*")):
            relative = path.relative_to(target).as_posix()
            if relative in ours or "__pycache__" in path.parts or not path.is_file():
                continue
            problems.warning(
                "foreign-file",
                f"{relative} is in a folder of generated files, but mcpgen did not write it",
                at=Location(relative),
                why="mcpgen does not change it, but programs that read the folder may load it",
                help="move it to `handlers/` or `tests/`, or delete it",
            )
