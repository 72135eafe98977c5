"""Writing one file of the workspace's root."""

from __future__ import annotations

from pathlib import Path

from mcpgen.diagnostics import Location, Problems
from mcpgen.factory.workspace.members import WorkspaceRefusedError
from mcpgen.pipeline.options import USAGE
from mcpgen.pipeline.replace_whole import replace_whole


def replace_file(path: Path, content: bytes) -> None:
    """Write a file as a whole or not at all; its mode stays, and a link stays one.

    Raises:
        WorkspaceRefusedError: the disk refused; nothing was written.
    """
    try:
        place = path.resolve()
        place.parent.mkdir(parents=True, exist_ok=True)
        replace_whole(place, content)
    except OSError as error:
        problems = Problems()
        problems.error(
            "unwritable",
            f"cannot write {path}: {error.strerror}",
            at=Location(path.as_posix()),
            why="it is as it was",
            help="make room, or see to it that you can write there",
        )
        raise WorkspaceRefusedError(problems, USAGE) from None
