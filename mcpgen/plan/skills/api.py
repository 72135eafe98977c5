"""The skill of the API as a whole: which tools are for what, and the rules that all share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from mcpgen.ir.skill_plan import SkillPlan, SkillSection, SkillText
from mcpgen.ir.tool_plan import ServerPlan, ToolGroupPlan, ToolPlan, Toolset
from mcpgen.jsonschema.types import JsonObject
from mcpgen.plan.skills.facts import ToolFacts, is_reading, iterate_chains
from mcpgen.plan.skills.tool_lines import (
    make_call_section,
    make_effect_section,
    make_example_section,
    make_identifier_section,
    make_page_section,
    write_tool_lines,
)
from mcpgen.plan.skills.toolset import sort_by_step
from mcpgen.plan.skills.writing import (
    SkillDraft,
    bullets,
    code,
    fit_sections,
    join_description,
    join_names,
    make_section,
    quote_sentence,
    quote_text,
    take_lines,
)

_MAX_REFERENCES = 400
_MAX_EXAMPLES = 3
_MAX_NOTES = 1_200
_MAX_CHAINS = 10
_REFERENCE_TOKENS = 4_400


def draft_api_skill(name: str, facts: ToolFacts, skills: Mapping[str, str]) -> SkillDraft:
    """Return the skill of the API; `skills` are the skills of toolsets and workflows, by those."""
    plan = facts.plan
    tools = sort_by_step(list(facts.tools.values()), facts)
    groups = [group for group in plan.groups if group.listed_tools][:_MAX_REFERENCES]
    title = facts.title
    introduction = [
        line
        for line in (
            quote_sentence(plan.description, 600),
            *(
                quote_sentence(line, _MAX_NOTES, is_own=True)
                for line in plan.owner_notes.splitlines()
            ),
        )
        if line
    ]
    sections = [
        make_call_section(plan, tools),
        _make_toolset_section(plan, groups, skills),
        _make_workflow_section(plan, skills),
        make_section("Order of steps", bullets(islice(iterate_chains(facts, tools), _MAX_CHAINS))),
        make_identifier_section(facts, tools, 700),
        make_page_section(tools, 500),
        make_effect_section(tools, 600),
        _make_rule_section(plan),
    ]
    chosen = _choose_examples(tools, facts)
    references = _write_references(groups, facts)

    def complete(examples: Mapping[str, JsonObject]) -> SkillPlan:
        shown = make_example_section(plan, chosen, examples, _MAX_EXAMPLES)
        text = fit_sections(introduction, [*sections, shown])
        main = SkillText("SKILL.md", title, text, tuple(introduction))
        return SkillPlan(name, _describe(plan, groups, main), (main, *references))

    return complete


def _write_references(groups: Sequence[ToolGroupPlan], facts: ToolFacts) -> list[SkillText]:
    """Return a file for each group of tools."""
    files = []
    search = "" if facts.plan.search is None else facts.plan.search.search
    for group in groups:
        lines = write_tool_lines(sort_by_step(group.listed_tools, facts), _REFERENCE_TOKENS, search)
        about = quote_sentence(group.description, 300)
        files.append(
            SkillText(
                _reference(group),
                f"{facts.title}: tools of {quote_text(group.tag, 60) or group.module}",
                fit_sections((), [make_section("Tools", bullets(lines))]),
                (about,) if about else (),
            )
        )
    return files


def _reference(group: ToolGroupPlan) -> str:
    return f"references/{group.module}.md"


_TOPICS = {  # by heading
    "Jobs in one call": "which jobs take one call",
    "Where identifiers come from": "where identifiers come from",
    "Lists and pages": "how to read lists to their end",
    "What changes or deletes data": "what changes or deletes data",
}


def _describe(plan: ServerPlan, groups: Sequence[ToolGroupPlan], main: SkillText) -> str:
    """Return for what and when a model reads the skill."""
    tags = ", ".join(quote_text(group.tag, 40) or str(group.module) for group in groups[:12])
    topics = [f"which tools are for what ({tags})"]
    topics += [_TOPICS[it.heading] for it in main.sections if it.heading in _TOPICS]
    return join_description(
        f"How to work with {main.title} through its tools.",
        quote_sentence(plan.description, 300),
        f"Use when a task needs {main.title}, before the first call. It says {'; '.join(topics)}.",
    )


def _make_toolset_section(
    plan: ServerPlan, groups: Sequence[ToolGroupPlan], skills: Mapping[str, str]
) -> SkillSection | None:
    """Return a line about each toolset."""
    by_module = {str(group.module): group for group in groups}
    lines = []
    for toolset in plan.toolsets:
        if not toolset.tools:
            continue
        more = []
        if toolset.name in by_module:
            more.append(f"Tools: {code(_reference(by_module[toolset.name]))}.")
        if toolset.name in skills:
            more.append(f"Skill: {code(skills[toolset.name])}.")
        count = len(toolset.tools)
        line = f"{code(toolset.name)} ({count:,} tool{'' if count == 1 else 's'}):"
        line += f" {_describe_purpose(toolset)}"
        lines.append(" ".join([line, *more]))
    rest = "{:,} more; see the files in `references/`."
    return make_section("Which tools to use", bullets(take_lines(lines, 1_500, rest)))


def _describe_purpose(toolset: Toolset) -> str:
    if toolset.description:
        return quote_sentence(toolset.description, 160)
    return f"{join_names(toolset.tools, 4)}."


def _make_workflow_section(plan: ServerPlan, skills: Mapping[str, str]) -> SkillSection | None:
    """Return a line about each workflow."""
    lines = [
        f"{code(flow.name)}: {quote_sentence(flow.description, 200, is_own=True)}"
        + (f" Skill: {code(skills[flow.key])}." if flow.key in skills else "")
        for flow in plan.workflows
    ]
    rest = "{:,} more; the list of tools has them."
    return make_section("Jobs in one call", bullets(take_lines(lines, 500, rest)))


def _make_rule_section(plan: ServerPlan) -> SkillSection | None:
    """Return the rules that apply to each call that fails."""
    lines = [
        "Arguments are checked before a request is sent. The error names the argument: correct it.",
        "An error of the API has its status and its message. Read the message before you repeat.",
        "404 often means a wrong identifier, and 409 a state that does not allow the call.",
        "429 and 503 mean that the API is busy: wait before you repeat the call.",
    ]
    if any(variable.secret for variable in plan.environment):
        lines.append(
            "If a credential is missing or refused, tell the user which setting the message names;"
            " no argument can replace it."
        )
    return make_section("When a call fails", bullets(lines))


def _choose_examples(tools: Sequence[ToolPlan], facts: ToolFacts) -> list[str]:
    """Return the tools whose calls are shown: lists and what adds to them, of the most used."""
    lists = [name for it in facts.identifiers for name in it.lists]
    creators = [name for it in facts.identifiers for name in it.creators]
    reading = [tool.name for tool in tools if is_reading(tool)]
    return list(dict.fromkeys([*lists[:2], *creators[:1], *lists, *reading]))
