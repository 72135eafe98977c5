"""The plan of a project that exists, without an update of the project."""

from __future__ import annotations

from pathlib import Path

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.pipeline.build import plan_project
from mcpgen.pipeline.options import GenerateOptions, Progress
from mcpgen.pipeline.project.project_folder import find_lock
from mcpgen.pipeline.project.read_inputs import read_inputs, read_intent


def plan_existing(target: Path, problems: Problems, progress: Progress) -> ServerPlan:
    """Plan the project in `target`.

    Raises:
        RejectedError: it cannot be planned; `problems` contains the reasons.
    """
    found = find_lock(target, problems)
    if found is None:
        raise RejectedError
    inputs = read_inputs(target, read_intent(target, problems), GenerateOptions(), lock=found.lock)
    return plan_project(inputs, problems, progress).plan
