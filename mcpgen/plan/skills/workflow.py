"""The skill of a workflow: its inputs, its steps, and what to do if one of them fails."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from mcpgen.ir.skill_plan import SkillBlock, SkillPlan, SkillSection, SkillText
from mcpgen.ir.tool_plan import StepPlan, ToolPlan, WorkflowPlan
from mcpgen.ir.workflow import (
    Comparison,
    Condition,
    InputValue,
    ItemValue,
    Junction,
    ListOf,
    Literal,
    Negation,
    ObjectOf,
    OutputValue,
    ResponseValue,
    Truth,
    Value,
)
from mcpgen.jsonschema.types import JsonObject
from mcpgen.plan.skills.facts import ToolFacts, describe_effect, is_irreversible, is_reading
from mcpgen.plan.skills.tool_lines import make_example_section, quote_question
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

_MAX_ARGUMENTS = 8
_MAX_LITERAL = 60


def draft_workflow_skill(name: str, flow: WorkflowPlan, facts: ToolFacts) -> SkillDraft:
    """Return the skill of a workflow."""
    introduction = [
        quote_sentence(flow.description, 800, is_own=True),
        f"One call of {code(flow.name)} makes all calls below, in this order.",
        "Call the tools yourself only if you must decide something between two steps.",
    ]
    sections = [
        make_section("Inputs", bullets(_iterate_inputs(flow))),
        make_section("Steps", SkillBlock("steps", tuple(_iterate_steps(flow, facts)))),
        _make_result_section(flow),
        _make_effect_section(flow, facts),
        _make_failure_section(flow),
    ]
    title = quote_text(flow.title, 80, is_own=True)
    description = join_description(
        f"{title} with {facts.title}, by one call of the tool {flow.name}.",
        quote_sentence(flow.description, 500, is_own=True),
        "Use when that is the task, with this tool or step by step.",
    )

    def complete(examples: Mapping[str, JsonObject]) -> SkillPlan:
        example = make_example_section(facts.plan, [flow.name], examples, 1, heading="Example call")
        text = fit_sections(introduction, [*sections, example])
        main = SkillText("SKILL.md", title, text, tuple(introduction))
        return SkillPlan(name, description, (main,))

    return complete


def _iterate_inputs(flow: WorkflowPlan) -> Iterator[str]:
    properties = flow.input_schema.get("properties", {})
    required = set(flow.input_schema.get("required", ()))
    for name, schema in properties.items():
        about = schema.get("description", "") if isinstance(schema, dict) else ""
        need = "required" if name in required else "optional"
        yield f"{code(name)} ({need}): {quote_sentence(about, 200, is_own=True)}".removesuffix(": ")


def _iterate_steps(flow: WorkflowPlan, facts: ToolFacts) -> Iterator[str]:
    for step in flow.steps:
        tool = facts.tools.get(step.tool)
        effect = f" ({describe_effect(tool)})" if tool is not None else ""
        line = f"{code(step.id)}: call {code(step.tool)}{effect}{_describe_arguments(step, tool)}."
        if step.items is not None:
            line += f" Once for each item of {_name(step.items)}."
        if step.condition is not None:
            line += f" Only if {_describe_condition(step.condition)}."
        yield line


def _describe_arguments(step: StepPlan, tool: ToolPlan | None) -> str:
    arguments = step.arguments if tool is None else _spread_members(step.arguments, tool)
    pairs = [f"{code(path)} {_describe(value)}" for path, value in _iterate_leaves(arguments, "")]
    shown = ", ".join(pairs[:_MAX_ARGUMENTS])
    more = f" and {len(pairs) - _MAX_ARGUMENTS} more" if len(pairs) > _MAX_ARGUMENTS else ""
    return f" with {shown}{more}" if pairs else ""


def _spread_members(arguments: ObjectOf, tool: ToolPlan) -> ObjectOf:
    """Return the arguments with the members of a flat body, as clients pass them."""
    flat = tool.flat_body
    if flat is None:
        return arguments
    names = flat.names
    names |= {tool.wire_names.get(member, member): name for member, name in names.items()}
    found: list[tuple[str, Value]] = []
    for name, value in arguments.members:
        if name == flat.argument and isinstance(value, ObjectOf):
            found += [(names.get(member, member), it) for member, it in value.members]
        else:
            found.append((name, value))
    return ObjectOf(tuple(found))


def _iterate_leaves(value: Value, path: str) -> Iterator[tuple[str, Value]]:
    """Yield the leaves of a value with their paths: `body.items[0].isbn`."""
    match value:
        case ObjectOf(members=members):
            for name, member in members:
                yield from _iterate_leaves(member, f"{path}.{name}" if path else name)
        case ListOf(items=items):
            for number, item in enumerate(items):
                yield from _iterate_leaves(item, f"{path}[{number}]")
        case _:
            yield path, value


def _describe(value: Value) -> str:
    """Return the source of a value, or the value."""
    if isinstance(value, Literal):
        text = json.dumps(value.value)
        return f"= {code(text)}" if len(text) <= _MAX_LITERAL else "= a fixed value"
    return f"from {_name(value)}"


def _name(value: Value) -> str:
    match value:
        case Literal(value=literal):
            return code(json.dumps(literal)[:_MAX_LITERAL])
        case InputValue(name=name, pointer=pointer):
            return f"the input {code(name)}{_at(pointer)}"
        case ItemValue(pointer=pointer):
            return f"the item{_at(pointer)}"
        case OutputValue(step=step, output=output, pointer=pointer):
            return f"{code(output)}{_at(pointer)} of step {code(step)}"
        case ResponseValue(part="body", selector=selector, step=step):
            return f"the result of step {code(step)}{_at(selector)}"
        case ResponseValue(part="status", step=step):
            return f"the status of step {code(step)}"
        case ResponseValue(selector=selector, step=step):
            return f"the header {code(selector)} of step {code(step)}"
        case _:
            return "several values"


def _at(pointer: str) -> str:
    return f" at {code(pointer)}" if pointer else ""


_OPERATORS = {
    "==": "is",
    "!=": "is not",
    "<": "is less than",
    "<=": "is at most",
    ">": "is more than",
    ">=": "is at least",
}


def _describe_condition(condition: Condition) -> str:
    match condition:
        case Truth(value=value):
            return f"{_name(value)} is true"
        case Comparison(left=left, operator=operator, right=right):
            return f"{_name(left)} {_OPERATORS[operator]} {_name(right)}"
        case Negation(condition=inner):
            return f"it is false that {_describe_condition(inner)}"
        case Junction(word=word, conditions=conditions):
            return f" {word} ".join(_describe_condition(inner) for inner in conditions)


def _make_result_section(flow: WorkflowPlan) -> SkillSection | None:
    members = flow.output_schema.get("properties", {})
    return make_section(
        "Result", bullets([f"An object with {join_names(members)}."] if members else [])
    )


def _make_effect_section(flow: WorkflowPlan, facts: ToolFacts) -> SkillSection | None:
    steps = [(step, facts.tools[step.tool]) for step in flow.steps if step.tool in facts.tools]
    changing = [step.id for step, tool in steps if not is_reading(tool)]
    final = [step.id for step, tool in steps if is_irreversible(tool)]
    lines = ["Nothing: all steps only read."] if not changing else []
    if changing:
        lines.append(
            f"Steps that change data: {join_names(changing)}. Tell the user what will happen, and"
            " call only if the task asks for it."
        )
    if final:
        lines.append(f"Steps that cannot be undone: {join_names(final)}.")
    lines += [
        f"Step {code(step.id)} asks the user: {quote_question(tool)}"
        for step, tool in steps
        if tool.policies.confirm
    ]
    return make_section("What changes or deletes data", bullets(lines))


def _make_failure_section(flow: WorkflowPlan) -> SkillSection | None:
    lines = [
        "The error names the failed step, the results of those before it, and those not begun."
    ]
    if not is_reading(flow):
        lines.append(
            "Do not call the workflow again at once: that would repeat the steps that took effect."
            " Carry on with the tool of the failed step and those after it, with the results that"
            " the error lists."
        )
    return make_section("If a step fails", bullets(lines))
