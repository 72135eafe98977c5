"""Reports of files that a run did not overwrite: merges, conflicts, edits and foreign files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from mcpgen.diagnostics import Location, Problems
from mcpgen.emit.merge.merge import fold, stray_markers
from mcpgen.emit.reconcile import Changes, Unmerged
from mcpgen.ir.file_set import CONFLICT_FOLDER, Owner
from mcpgen.pipeline.project.project_folder import read_file


def report_changes(
    changes: Changes, edited_tools: Mapping[str, Sequence[str]], problems: Problems
) -> None:
    """Report edits that are refused or kept, conflicts, and files in the way.

    `edited_tools` are those whose handlers were edited, by the path of their module.
    """
    for edit in changes.hand_edits:
        tools = edited_tools.get(edit.path, ())
        ways = [f"`mcpgen override {tool}` moves the edit to `handlers/`" for tool in tools]
        problems.error(
            "hand-edit",
            f"{edit.path} was edited by hand",
            at=Location(edit.path),
            why="mcpgen rewrites it, and the edit would be lost",
            help="; ".join(ways or ["move the change to `handlers/` or `mcpgen.yaml`"])
            + "; `mcpgen generate --force` overwrites it and keeps a copy in .mcpgen/rescued/",
        )
    for path, copy in changes.rescued.items():
        is_shared = changes.files[path].owner is Owner.MERGED
        where = f"a marked block of {path}" if is_shared else path
        problems.warning(
            "rescued",
            f"{where} contained text that mcpgen did not write, and was overwritten",
            at=Location(path),
            why="mcpgen rewrites it, and its text is not a version that mcpgen wrote",
            help=f"take what you need from {copy}",
        )
    for unmerged in changes.unmerged:
        _report_unmerged(unmerged, problems)
    for path in changes.in_the_way:
        problems.warning(
            "in-the-way",
            f"{path} is your own, so mcpgen's file of that name was not written",
            at=Location(path),
            why="mcpgen changes only what it wrote; from now on it merges its changes into yours",
        )
    for path in changes.orphans_kept:
        problems.warning(
            "orphan-kept",
            f"{path} is no longer generated; it is kept because it was edited",
            at=Location(path),
            help="delete it once you have taken what you need",
        )


def _report_unmerged(unmerged: Unmerged, problems: Problems) -> None:
    keys = ", ".join(f"`{key}`" for key in unmerged.contested)
    if unmerged.offered:
        where = f"your text stands; mcpgen's new version is in {unmerged.offered}"
        help_text = f"take what you need of it into {unmerged.path}, and delete it"
    else:
        where = "both stand in the file, between markers"
        help_text = "edit it to read as you want it, without the markers"
    problems.error(
        "conflict",
        f"{unmerged.path}: you and mcpgen changed the same{f', {keys}' if keys else ' lines'}",
        at=Location(unmerged.path),
        why=where,
        help=help_text,
    )


_MARKERS = ("<<<<<<< ", ">>>>>>> ")  # of a conflict, at the beginning of a line
_MERGING = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REBASE_HEAD", "REVERT_HEAD")


def find_unresolved(target: Path, paths: Iterable[str], problems: Problems) -> list[str]:
    """Report conflict markers in the files at `paths`, and new versions that are beside a file."""
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
    content = read_file(target, path) or b""
    if not path.endswith(".md") and not any(it.encode() in content for it in _MARKERS):
        return False
    lines = content.decode("utf-8", "replace").splitlines()
    if path.endswith(".md"):
        _report_stray_markers(path, lines, problems)
    # Inside a marked block all text is mcpgen's, and the next run rewrites it.
    outside = fold(lines)[0] if path.endswith(".md") else lines
    marker = next((line for line in outside if line.startswith(_MARKERS)), None)
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
    """Report files in folders of generated files that mcpgen did not write."""
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
