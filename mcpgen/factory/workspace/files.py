"""Replacement of one file at the root of a workspace."""

from __future__ import annotations

from pathlib import Path

from mcpgen.diagnostics import Problems
from mcpgen.factory.workspace.members import WorkspaceRefusedError
from mcpgen.pipeline.project.atomic_write import write_atomically
from mcpgen.pipeline.project.system_faults import report_system_fault


def replace_file(path: Path, content: bytes) -> None:
    """Replace a file atomically; its mode is kept, and a link remains a link.

    Raises:
        WorkspaceRefusedError: a system error; nothing was written.
    """
    try:
        place = path.resolve()
        place.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(place, content)
    except OSError as error:
        problems = Problems()
        outcome = report_system_fault(error, problems, path)
        raise WorkspaceRefusedError(problems, outcome) from None
