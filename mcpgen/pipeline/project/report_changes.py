"""What a run has to say about the files that it did not simply write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mcpgen.diagnostics import Location, Problems
from mcpgen.emit.reconcile import Changes, Unmerged
from mcpgen.ir.file_set import Owner


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
