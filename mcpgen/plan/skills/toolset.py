"""The skill of a toolset: its tools, the order of their steps, and what to heed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mcpgen.ir.skill_plan import SkillBlock, SkillPlan, SkillSection, SkillText
from mcpgen.ir.tool_plan import ServerPlan, ToolPlan, Toolset
from mcpgen.jsonschema.types import JsonObject
from mcpgen.plan.skills.facts import ToolFacts, is_irreversible, is_reading
from mcpgen.plan.skills.tool_lines import (
    make_call_section,
    make_effect_section,
    make_example_section,
    make_failure_section,
    make_identifier_section,
    make_page_section,
    write_tool_lines,
)
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
)

_MAX_EXAMPLES = 5
_MAX_MORE_EXAMPLES = 40
_EXAMPLES = "references/examples.md"


def draft_toolset_skill(name: str, toolset: Toolset, facts: ToolFacts) -> SkillDraft:
    """Return the skill of a toolset."""
    plan = facts.plan
    tools = sort_by_step([facts.tools[it] for it in toolset.tools if it in facts.tools], facts)
    title = f"{facts.title}: {toolset.name.replace('_', ' ')}"
    about = quote_sentence(toolset.description, 300)
    flows = [
        flow.name
        for flow in plan.workflows
        if any(step.tool in toolset.tools for step in flow.steps) or flow.name in toolset.tools
    ]
    introduction = [about, _count(tools)]
    if flows:
        introduction.append(
            f"Where one of them fits the task, prefer a workflow, which makes several calls in one:"
            f" {join_names(flows)}."
        )
    sections = [
        make_call_section(plan, tools),
        make_section(
            "Tools",
            bullets(
                write_tool_lines(tools, 1_800, "" if plan.search is None else plan.search.search)
            ),
        ),
        make_section("Order of steps", SkillBlock("steps", tuple(_iterate_steps(tools, facts)))),
        make_identifier_section(facts, tools, 450),
        make_page_section(tools, 350),
        make_effect_section(tools, 450),
        make_failure_section(facts, tools, 400),
    ]
    introduction = [line for line in introduction if line]
    description = _describe(toolset, tools, facts)
    main = _choose_main_examples(tools, facts)

    def complete(examples: Mapping[str, JsonObject]) -> SkillPlan:
        shown, more = _make_example_sections(plan, tools, main, examples)
        text = fit_sections(introduction, [*sections, shown])
        files = [SkillText("SKILL.md", title, text, tuple(introduction))]
        if more is not None:
            text = fit_sections((), [more])
            files.append(SkillText(_EXAMPLES, f"{title}, more example calls", text))
        return SkillPlan(name, description, tuple(files))

    return complete


def _make_example_sections(
    plan: ServerPlan,
    tools: Sequence[ToolPlan],
    main: list[str],
    examples: Mapping[str, JsonObject],
) -> tuple[SkillSection | None, SkillSection | None]:
    """Return two sections of example calls: for `SKILL.md`, and for `references/examples.md`.

    `main` are the names of the tools that are shown if they have examples.
    """
    others = [tool.name for tool in tools if examples.get(tool.name) and tool.name not in main]
    if not any(examples.get(name) for name in main):  # nothing would refer to the others
        main, others = others[:_MAX_EXAMPLES], others[_MAX_EXAMPLES:]
    more = make_example_section(plan, others, examples, _MAX_MORE_EXAMPLES, heading="Calls")
    file = _EXAMPLES if more is not None else ""
    return make_example_section(plan, main, examples, _MAX_EXAMPLES, more=file), more


def _count(tools: Sequence[ToolPlan]) -> str:
    reading = sum(map(is_reading, tools))
    number = f"{len(tools):,} tool{'' if len(tools) == 1 else 's'}"
    if reading in (0, len(tools)):
        return f"{number}; {'all only read' if reading else 'all change data'}."
    return f"{number}; {reading:,} of them only read{'s' if reading == 1 else ''}."


def _describe(toolset: Toolset, tools: Sequence[ToolPlan], facts: ToolFacts) -> str:
    """Return for what and when a model reads the skill."""
    names = (quote_text(tool.title, 60).rstrip(".") or tool.name for tool in tools[:8])
    titles = "; ".join(names)
    about = quote_sentence(toolset.description, 200)
    return join_description(
        f"How to use the {toolset.name.replace('_', ' ')} tools of {facts.title}.",
        about,
        f"Use when a task is like one of these: {titles}.",
    )


def sort_by_step(tools: Sequence[ToolPlan], facts: ToolFacts) -> list[ToolPlan]:
    """Return tools in the order in which a task needs them: find, read, create, change, delete."""
    return sorted(tools, key=lambda tool: (_ORDER.index(_classify(tool, facts)), tool.name))


_ORDER = ("find", "create", "read", "act", "change", "replace", "delete")


def _classify(tool: ToolPlan, facts: ToolFacts) -> str:
    method = tool.operation.method
    if is_reading(tool):
        has_path = any(item.location == "path" for item in tool.arguments)
        is_list = tool.name in facts.lists or tool.pagination is not None
        return "find" if is_list or not has_path else "read"
    if tool.name in facts.creators:
        return "create"
    return {"PATCH": "change", "PUT": "replace", "DELETE": "delete"}.get(method, "act")


def _iterate_steps(tools: Sequence[ToolPlan], facts: ToolFacts) -> Iterator[str]:
    """Yield the steps of a task with these tools."""
    by_step: dict[str, list[str]] = {}
    for tool in tools:
        by_step.setdefault(_classify(tool, facts), []).append(tool.name)
    own = {tool.name for tool in tools}
    needed = [
        it for it in facts.identifiers if it.users & own and not own & {*it.lists, *it.creators}
    ]
    if needed:
        first = "; ".join(
            f"{code(it.argument)} from {join_names([*it.lists, *it.creators], 3)}"
            for it in needed[:6]
        )
        yield f"Get what comes from other tools: {first}."
    if found := by_step.get("find"):
        identifiers = [it.argument for it in facts.identifiers if {*found} & {*it.lists}]
        result = f" The items have the {join_names(identifiers, 6)} that other calls take."
        yield f"Find what the task is about: {join_names(found)}.{result if identifiers else ''}"
    if found := by_step.get("create"):
        identifiers = [it.argument for it in facts.identifiers if {*found} & {*it.creators}]
        yield (
            f"If it does not exist yet, create it: {join_names(found)}. The result has the"
            f" {join_names(identifiers, 6)} that other calls take."
        )
    if found := by_step.get("read"):
        first = "Read more" if all(map(is_reading, tools)) else "Read it before you change it"
        yield f"{first}: {join_names(found)}."
    if found := by_step.get("act"):
        yield f"Act: {join_names(found)}."
    if found := by_step.get("change"):
        yield f"Change a part: {join_names(found)}. Send only what changes."
    if found := by_step.get("replace"):
        yield (
            f"Set or replace: {join_names(found)}. The new value takes the place of the old one, so"
            " send all that must stay."
        )
    if found := by_step.get("delete"):
        yield f"Delete: {join_names(found)}. Last, and only if the user asked for it."


def _choose_main_examples(tools: Sequence[ToolPlan], facts: ToolFacts) -> list[str]:
    """Return the tools whose examples come first: one of each step, then the others."""
    firsts: dict[str, str] = {}
    for tool in tools:
        if not is_irreversible(tool):
            firsts.setdefault(_classify(tool, facts), tool.name)
    chosen = list(firsts.values())
    chosen += [it.name for it in tools if it.name not in chosen and not is_irreversible(it)]
    return chosen[:_MAX_EXAMPLES]
