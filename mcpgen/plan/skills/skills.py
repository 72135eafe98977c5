"""Skills of a planned server: their texts, with example calls that the generated tests make."""

from __future__ import annotations

from collections.abc import Mapping

from mcpgen.ir.skill_plan import SkillPlan, SkillSubject
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.ir.workflow import WORKFLOW_PREFIX
from mcpgen.jsonschema.types import JsonObject
from mcpgen.plan.skills.api import write_api_skill
from mcpgen.plan.skills.facts import ToolFacts
from mcpgen.plan.skills.toolset import write_toolset_skill
from mcpgen.plan.skills.workflow import write_workflow_skill


def write_skills(plan: ServerPlan, examples: Mapping[str, JsonObject]) -> tuple[SkillPlan, ...]:
    """Return the skills of a server, in the order of `plan.skills`.

    `examples` are arguments of calls that the generated tests make, by tool and workflow.
    """
    facts = ToolFacts(plan)
    return tuple(_write_skill(subject, facts, examples) for subject in plan.skills)


def _write_skill(
    subject: SkillSubject, facts: ToolFacts, examples: Mapping[str, JsonObject]
) -> SkillPlan:
    plan = facts.plan
    if subject.kind == "api":
        names = {
            f"{WORKFLOW_PREFIX}{it.of}" if it.kind == "workflow" else it.of: it.name
            for it in plan.skills
        }
        return write_api_skill(subject.name, facts, examples, names)
    if subject.kind == "toolset":
        toolset = next(it for it in plan.toolsets if it.name == subject.of)
        return write_toolset_skill(subject.name, toolset, facts, examples)
    flow = next(it for it in plan.workflows if it.name == subject.of)
    return write_workflow_skill(subject.name, flow, facts, examples)
