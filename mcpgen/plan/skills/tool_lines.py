"""Sections about tools that several skills have: purposes, pages, effects, examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from mcpgen.ir.skill_plan import SkillBlock, SkillSection
from mcpgen.ir.tool_plan import ServerPlan, ToolPlan
from mcpgen.jsonschema.types import JsonObject
from mcpgen.plan.skills.facts import (
    ToolFacts,
    describe_effect,
    describe_failures,
    describe_needs,
    describe_pages,
    describe_source,
    is_irreversible,
    is_reading,
)
from mcpgen.plan.skills.writing import (
    bullets,
    code,
    join_names,
    make_section,
    paragraph,
    quote_sentence,
    take_lines,
    write_json,
)
from mcpgen.plan.tools.descriptions import DELETE_NOTE
from mcpgen.text.prose import plain_line, split_sentences

_MAX_PURPOSE = 180
_MAX_QUESTION = 160
_MAX_TITLE = 60
_KEY_HEADER = "idempotency-key"


def write_tool_lines(tools: Sequence[ToolPlan], tokens: int, search: str) -> tuple[str, ...]:
    """Return a line for each tool, shorter ones if there are many; the rest is counted.

    `search` is the name of the tool that finds tools, or "".
    """
    rest = f"{{:,}} more; find them with {code(search)}." if search else "{:,} more."
    taken = take_lines(tools, tokens, rest, write=_write_tool_line)
    if len(taken) >= len(tools):
        return taken
    return take_lines(tools, tokens, rest, write=_write_short_tool_line)


def _write_tool_line(tool: ToolPlan) -> str:
    line = f"{code(tool.name)} ({describe_effect(tool)}; {describe_needs(tool)})"
    return f"{line}: {_describe_purpose(tool)}".removesuffix(": ")


def _write_short_tool_line(tool: ToolPlan) -> str:
    line = f"{code(tool.name)} ({describe_effect(tool)})"
    return f"{line}: {quote_sentence(tool.title, _MAX_TITLE)}".removesuffix(": ")


def _describe_purpose(tool: ToolPlan) -> str:
    entry = tool.stated.entry
    return _write_purpose(tool.description, tool.operation.key, entry.description, entry.append)


@lru_cache(maxsize=16_384)  # the skill of the server and that of a toolset show the same tools
def _write_purpose(description: str, operation: str, stated: str, appended: str) -> str:
    """Return the purpose of a tool: two sentences of its description, and the manifest's text.

    The rest of a document's description is in the list of tools. It may be long, and may try to
    steer a model, which would give it more weight in a skill.
    """
    if stated:
        return quote_sentence(f"{stated} {appended}", 2 * _MAX_PURPOSE, is_own=True)
    text = description.replace(f" (`{operation}`)", "").replace(DELETE_NOTE, "")
    text = text.replace(plain_line(appended), "") if appended else text
    about = quote_sentence(" ".join(split_sentences(plain_line(text))[:2]), _MAX_PURPOSE)
    return f"{about} {quote_sentence(appended, _MAX_PURPOSE, is_own=True)}".strip()


def make_call_section(plan: ServerPlan, tools: Iterable[ToolPlan]) -> SkillSection | None:
    """Return how to call tools that are not listed; None if all are listed."""
    search = plan.search
    if search is None or all(tool.name in search.also_listed for tool in tools):
        return None
    lines = (
        "Most tools of this server are not listed. If one of them is, call it as usual.",
        f"If not, read its arguments with {code(search.describe)}.",
        f"Then call {code(search.call)} with its `name` and its `arguments`.",
        f"{code(search.search)} finds tools by what you want to do, where none below fits.",
    )
    return make_section("How to call these tools", bullets(lines))


def make_identifier_section(
    facts: ToolFacts, tools: Sequence[ToolPlan], tokens: int
) -> SkillSection | None:
    """Return where the identifiers come from that these tools take."""
    names = {tool.name for tool in tools}
    lines = [describe_source(it) for it in facts.identifiers if names & it.users]
    taken = take_lines(lines, tokens, "{:,} more identifiers; their descriptions say which.")
    if not taken:
        return None
    advice = "Never guess an identifier. Take it from an earlier result:"
    return make_section("Where identifiers come from", paragraph(advice), bullets(taken))


def make_page_section(tools: Sequence[ToolPlan], tokens: int) -> SkillSection | None:
    """Return how to read lists to their end, and which results are cut."""
    by_text: dict[str, list[str]] = {}
    for tool in tools:
        for text in (describe_pages(tool), *_iterate_bounds(tool)):
            if text:
                by_text.setdefault(text, []).append(tool.name)
    lines = [f"{join_names(names)}: {text}" for text, names in by_text.items()]
    rest = "{:,} more lists have pages; `max_pages` joins them."
    return make_section("Lists and pages", bullets(take_lines(lines, tokens, rest)))


def quote_question(tool: ToolPlan) -> str:
    """Return the question that the manifest has a tool ask."""
    return quote_sentence(tool.policies.confirm, _MAX_QUESTION, is_own=True)


def _iterate_bounds(tool: ToolPlan) -> Iterator[str]:
    """Yield which results are cut."""
    policies = tool.policies
    bounds = []
    if policies.max_items is not None:
        bounds.append(f"{policies.max_items:,} items")
    if policies.max_bytes is not None:
        bounds.append(f"{policies.max_bytes:,} bytes")
    if bounds:
        rest = " A note names the call for the rest." if tool.continuation else ""
        yield f"at most {' and '.join(bounds)}.{rest}"
    if policies.select:
        yield "only some members of what the API sends."


def make_effect_section(tools: Sequence[ToolPlan], tokens: int) -> SkillSection | None:
    """Return which tools change or delete something, and what to do before and after."""
    lines = []
    changing = [tool for tool in tools if not is_reading(tool)]
    final = [tool.name for tool in changing if is_irreversible(tool)]
    if final:
        lines.append(
            f"Delete something, or cannot be undone: {join_names(final, 20)}. Tell the user what"
            " will be lost, and call only after a clear yes."
        )
    lines += [
        f"{code(tool.name)} asks the user first: {quote_question(tool)}"
        for tool in changing
        if tool.policies.confirm
    ]
    if any(tool.policies.confirm for tool in changing):
        lines.append("A client that cannot show such a question gets an error; nothing is sent.")
    others = [tool.name for tool in changing if tool.name not in final]
    if others:
        lines.append(f"Change data: {join_names(others, 20)}.")
    repeated = [
        tool.name
        for tool in changing
        if tool.operation.method == "POST"
        and not tool.annotations.get("idempotentHint", False)
        and not _takes_key(tool)
    ]
    if repeated:
        lines.append(
            f"Take effect each time: {join_names(repeated, 20)}. After a time-out, look whether the"
            " first call took effect before you repeat it."
        )
    if keyed := [tool.name for tool in changing if _takes_key(tool)]:
        lines.append(
            f"Take an idempotency key: {join_names(keyed)}. Use a new one for each purpose, and the"
            " same one to repeat a call."
        )
    if outdated := [tool.name for tool in tools if tool.operation.deprecated]:
        lines.append(f"Deprecated, to be avoided: {join_names(outdated)}.")
    if not changing:
        lines.insert(0, "Nothing: all of these tools only read.")
    return make_section(
        "What changes or deletes data", bullets(take_lines(lines, tokens, "{:,} more rules."))
    )


def _takes_key(tool: ToolPlan) -> bool:
    return any(item.wire_name.lower() == _KEY_HEADER for item in tool.arguments)


def make_failure_section(
    facts: ToolFacts, tools: Iterable[ToolPlan], tokens: int
) -> SkillSection | None:
    """Return what the errors of the API mean."""
    lines = take_lines(
        list(describe_failures(tools, facts)), tokens, "{:,} more; the error says which."
    )
    return make_section("When a call fails", bullets(lines))


def make_example_section(
    plan: ServerPlan,
    tools: Iterable[str],
    examples: Mapping[str, JsonObject],
    most: int,
    *,
    heading: str = "Example calls",
    more: str = "",
) -> SkillSection | None:
    """Return calls that the generated tests make, with their arguments as JSON.

    `more` is the path of a file with others, or "".
    """
    blocks: list[SkillBlock] = []
    for name in tools:
        if len(blocks) >= 2 * most:
            break
        if examples.get(name):
            caption, value = show_call(plan, name, examples[name])
            if (lines := write_json(value)) is not None:
                blocks += [paragraph(caption), SkillBlock("json", lines)]
    if not blocks:
        return None
    note = "The values are examples. Identifiers must come from results of your own calls."
    if more:
        note += f" {code(more)} has calls of the other tools."
    return make_section(heading, paragraph(note), *blocks)


def show_call(plan: ServerPlan, name: str, arguments: JsonObject) -> tuple[str, JsonObject]:
    """Return the caption and the arguments of a call, or of the tool that makes it."""
    search = plan.search
    if search is None or name in search.also_listed:
        return f"{code(name)} with these arguments:", arguments
    return (
        f"{code(name)}, by {code(search.call)} with these arguments:",
        {"name": name, "arguments": arguments},
    )
