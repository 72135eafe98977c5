"""The first `evals/tasks.yaml` of a project: of a new one, and of one that has none."""

from __future__ import annotations

from pathlib import Path

from mcpgen.diagnostics import Problems
from mcpgen.ir.file_set import FileSet
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.pipeline.options import Progress
from mcpgen.pipeline.planned import plan_existing
from mcpgen.plan.cases import make_workflow_cases
from mcpgen.plan.evals.first_tasks import make_first_tasks
from mcpgen.render.eval_tasks import render_eval_tasks


def render_first_tasks(plan: ServerPlan) -> FileSet:
    """Return the file; nothing if the API shows no task."""
    cases = make_workflow_cases(plan, Problems())  # the build notes what has no sample
    return render_eval_tasks(make_first_tasks(plan, cases))


def plan_first_tasks(target: Path, problems: Problems, progress: Progress) -> FileSet:
    """Return the file for an existing project; nothing if the API shows no task.

    Raises:
        RejectedError: the project cannot be planned; `problems` contains the reasons.
    """
    return render_first_tasks(plan_existing(target, problems, progress))
