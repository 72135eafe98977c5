"""Writing one file of the workspace's root."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from mcpgen.diagnostics import Location, Problems
from mcpgen.factory.workspace.members import WorkspaceRefusedError
from mcpgen.pipeline.options import USAGE


def replace_file(path: Path, content: bytes) -> None:
    """Write a file as a whole or not at all; its mode stays, and a link stays one.

    Raises:
        WorkspaceRefusedError: the disk refused; nothing was written.
    """
    try:
        _replace(path.resolve(), content)
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


def _replace(place: Path, content: bytes) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}-")
    staged = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        if place.exists():
            shutil.copymode(place, staged)
        else:
            staged.chmod(0o644)
        staged.replace(place)
    finally:
        staged.unlink(missing_ok=True)
