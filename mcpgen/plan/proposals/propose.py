"""The proposals that a new manifest has as comments."""

from __future__ import annotations

from msgspec.structs import replace

from mcpgen.ir.first_steps import FirstSteps
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.plan.proposals.find_then_act import find_workflows
from mcpgen.plan.proposals.similar import find_similar

_MAX_MERGED = 20
_MAX_WORKFLOWS = 6


def add_proposals(steps: FirstSteps, plan: ServerPlan) -> FirstSteps:
    """Return first steps that propose merged tools, and workflows that find an item and act on it.

    Tools that merge the most operations come first.
    """
    merged = sorted(find_similar(plan), key=lambda it: (-len(it.members), it.name))
    flows = find_workflows(plan, {it.name for it in merged})
    return replace(
        steps,
        merged={it.name: it.entry for it in merged[:_MAX_MERGED]},
        workflows={it.name: it.entry for it in flows[:_MAX_WORKFLOWS]},
        more_merged=max(len(merged) - _MAX_MERGED, 0),
        more_workflows=max(len(flows) - _MAX_WORKFLOWS, 0),
    )
