"""Skills of a planned server: their texts, with example calls that the generated tests make."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mcpgen.ir.skill_plan import SkillPlan, SkillSubject
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.ir.workflow import WORKFLOW_PREFIX
from mcpgen.jsonschema.types import JsonObject
from mcpgen.plan.skills.api import draft_api_skill
from mcpgen.plan.skills.facts import ToolFacts
from mcpgen.plan.skills.toolset import draft_toolset_skill
from mcpgen.plan.skills.workflow import draft_workflow_skill
from mcpgen.plan.skills.writing import SkillDraft


def draft_skills(plan: ServerPlan) -> Callable[[Mapping[str, JsonObject]], tuple[SkillPlan, ...]]:
    """Write the skills of a server without examples; return a function that adds them.

    It takes arguments of calls that the generated tests make, by tool and workflow, and returns the
    skills in the order of `plan.skills`.
    """
    facts = ToolFacts(plan)
    drafts = [_draft_skill(subject, facts) for subject in plan.skills]
    return lambda examples: tuple(complete(examples) for complete in drafts)


def _draft_skill(subject: SkillSubject, facts: ToolFacts) -> SkillDraft:
    plan = facts.plan
    if subject.kind == "api":
        names = {
            f"{WORKFLOW_PREFIX}{it.of}" if it.kind == "workflow" else it.of: it.name
            for it in plan.skills
        }
        return draft_api_skill(subject.name, facts, names)
    if subject.kind == "toolset":
        toolset = next(it for it in plan.toolsets if it.name == subject.of)
        return draft_toolset_skill(subject.name, toolset, facts)
    flow = next(it for it in plan.workflows if it.name == subject.of)
    return draft_workflow_skill(subject.name, flow, facts)
