"""Parsing of the `evals/tasks.yaml` of a project."""

from __future__ import annotations

from mcpgen.diagnostics import Problems
from mcpgen.ir.eval_tasks import LocatedTasks
from mcpgen.manifest.tasks_file import read_tasks_file


def parse_project_tasks(content: bytes, shown_as: str, problems: Problems) -> LocatedTasks:
    """Parse the tasks of a project.

    Raises:
        RejectedError: the file is invalid, for the reasons in `problems`.
    """
    return read_tasks_file(content, shown_as, problems)
