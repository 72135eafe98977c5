"""What only a new project gets: proposals in its first manifest, and its first tasks."""

from __future__ import annotations

from collections.abc import Collection

from mcpgen.diagnostics import Problems
from mcpgen.ir.file_set import FileSet
from mcpgen.ir.first_steps import FirstSteps
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.plan.cases import make_workflow_cases
from mcpgen.plan.evals.first_tasks import make_first_tasks
from mcpgen.plan.proposals.propose import add_proposals
from mcpgen.plan.tools.first_steps import first_steps
from mcpgen.render.eval_tasks import render_eval_tasks


def propose_steps(plan: ServerPlan, decided: Collection[str]) -> FirstSteps:
    """Return the examples in the first manifest; `decided` names arguments that it sets."""
    return add_proposals(first_steps(plan, decided), plan)


def render_first_tasks(plan: ServerPlan) -> FileSet:
    """Return the first `evals/tasks.yaml`; nothing if the API shows no task."""
    cases = make_workflow_cases(plan, Problems())  # the tests note cases without a sample
    return render_eval_tasks(make_first_tasks(plan, cases))
