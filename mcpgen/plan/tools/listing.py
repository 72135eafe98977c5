"""The tool list: all tools within the token budget, or else three tools to find and call them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from mcpgen.contract.snapshot import estimate_tokens
from mcpgen.contract.toolset_names import EVERYTHING, normalize_toolset_name
from mcpgen.diagnostics import Problems, did_you_mean
from mcpgen.ir.tool_plan import ToolGroupPlan, ToolPlan, ToolSearch, Toolset, WorkflowPlan
from mcpgen.jsonschema.types import JsonObject
from mcpgen.plan.policy import Policy
from mcpgen.plan.tools.entries import names_of
from mcpgen.plan.tools.extensions import list_scopes
from mcpgen.plan.tools.search_index import find_tag

AnyTool: TypeAlias = ToolPlan | WorkflowPlan

_MAX_TAGS_NAMED = 100  # of an enum that clients take


def plan_toolsets(
    groups: Sequence[ToolGroupPlan],
    workflows: Sequence[WorkflowPlan],
    policy: Policy,
    problems: Problems,
) -> tuple[Toolset, ...]:
    """Return the toolsets by name: of tags, of scopes of `x-speakeasy-mcp`, and of the manifest.

    Unknown tags and tools, and names that `--toolset` cannot select, are errors.
    """
    found = {
        str(group.module): Toolset(
            str(group.module), group.description, tuple(tool.name for tool in group.listed_tools)
        )
        for group in groups
    }
    by_tag: dict[str, set[str]] = {}
    by_scope: dict[str, set[str]] = {}
    by_name = {workflow.name: {workflow.name} for workflow in workflows}
    for group in groups:
        for tool in group.listed_tools:
            for tag in tool.operation.tags or (group.tag,):
                by_tag.setdefault(tag, set()).add(tool.name)
            for scope in list_scopes(tool.operation):
                by_scope.setdefault(scope, set()).add(tool.name)
            for name in (*names_of(tool.operation), tool.name):
                by_name[name] = {tool.name}
    for scope, in_scope in by_scope.items():
        found.setdefault(scope, Toolset(scope, "", tuple(sorted(in_scope))))
    _check_names(policy, problems)
    for name, entry in policy.manifest.toolsets.items():
        at = ("toolsets", name)
        tools = _look_up(entry.tags, by_tag, "tag", (*at, "tags"), policy, problems)
        tools |= _look_up(entry.tools, by_name, "tool", (*at, "tools"), policy, problems)
        found[name] = Toolset(name, entry.description, tuple(sorted(tools)))
    return tuple(found[name] for name in sorted(found))


def _check_names(policy: Policy, problems: Problems) -> None:
    """Report toolsets of the manifest that `--toolset` cannot name, and empty ones."""
    named: dict[str, str] = {}
    for name, entry in policy.manifest.toolsets.items():
        chosen_by = normalize_toolset_name(name)
        other = named.setdefault(chosen_by, name)
        message, hint = "", "give it a name of its own, of letters and digits"
        if not chosen_by or "," in name:
            message = f"no `--toolset` could name `{name}`"
        elif chosen_by == EVERYTHING:
            message = f"`--toolset {EVERYTHING}` lists every tool, and not the toolset `{name}`"
        elif other != name:
            message = f"`--toolset {chosen_by}` would name both `{other}` and `{name}`"
        elif not entry.tags and not entry.tools:
            message, hint = f"the toolset `{name}` is empty", "give it `tags` or `tools`"
        if message:
            problems.error(
                "toolset",
                message,
                at=policy.intent.locate(("toolsets", name)),
                why="a client could not select this toolset",
                help=hint,
            )


def _look_up(
    wanted: Iterable[str],
    known: Mapping[str, set[str]],
    kind: str,
    tokens: tuple[str, ...],
    policy: Policy,
    problems: Problems,
) -> set[str]:
    found: set[str] = set()
    for number, name in enumerate(wanted):
        if name in known:
            found |= known[name]
            continue
        problems.error(
            "toolset-unknown",
            f"`{name}` is no {kind} of this server",
            at=policy.intent.locate((*tokens, str(number))),
            why="the toolset would silently lack what was meant",
            help=did_you_mean(name, known, "`mcpgen tools` lists what there is"),
        )
    return found


def plan_search(
    title: str,
    groups: Sequence[ToolGroupPlan],
    workflows: Sequence[WorkflowPlan],
    toolsets: Sequence[Toolset],
    policy: Policy,
    problems: Problems,
) -> ToolSearch | None:
    """Return the search tools if the tool list exceeds the budget, or None.

    Workflows are listed nevertheless.
    """
    of_operations = (tool for group in groups for tool in group.listed_tools)
    tools: list[AnyTool] = sorted([*of_operations, *workflows], key=lambda tool: tool.name)
    budget = policy.manifest.budget
    if sum(tool.token_cost for tool in tools) <= budget:
        return None
    search, describe, call = _choose_names(tools)
    stated = policy.manifest.toolsets
    also_listed = {workflow.name for workflow in workflows}.union(
        *(it.tools for it in toolsets if it.name in stated and stated[it.name].listed)
    )
    others = [tool for tool in tools if tool.name not in also_listed]
    listed = (
        _make_search_tool(search, (describe, call), title, tools, len(others)),
        _make_describe_tool(describe, (search, call)),
        _make_call_tool(call, (search, describe), tools),
    )
    cost = sum(map(estimate_tokens, listed))
    cost += sum(tool.token_cost for tool in tools if tool.name in also_listed)
    if cost > budget:
        problems.warning(
            "over-budget",
            f"the tools that are always listed cost about {cost:,} tokens, and the budget is "
            f"{budget:,}",
            at=policy.intent.locate(("toolsets",)),
            why="every conversation pays for them before it begins",
            help="take `listed: true` from a toolset, or raise `budget`",
        )
    return ToolSearch(
        search=search,
        describe=describe,
        call=call,
        tools=listed,
        also_listed=tuple(sorted(also_listed)),
        token_cost=cost,
    )


def _choose_names(tools: Iterable[AnyTool]) -> tuple[str, str, str]:
    """Return the names of the search tools, with the prefix `mcp_` if the API uses one of them."""
    taken = {tool.name for tool in tools}
    taken |= {alias for tool in tools if isinstance(tool, ToolPlan) for alias in tool.aliases}
    names = ("search_tools", "describe_tool", "call_tool")
    while taken & {*names}:
        names = (f"mcp_{names[0]}", f"mcp_{names[1]}", f"mcp_{names[2]}")
    return names


def _make_tool(
    name: str, title: str, description: str, properties: JsonObject, hints: JsonObject
) -> JsonObject:
    """Return the list entry of a search tool; only the first of its arguments is required."""
    return {
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": properties,
            "required": [*properties][:1],
            "additionalProperties": False,
        },
        "annotations": {**hints, "title": title},
    }


_NAME: JsonObject = {"type": "string", "description": "The tool's name."}
_LOOKS_ONLY: JsonObject = {
    "readOnlyHint": True,
    "destructiveHint": False,
    "idempotentHint": True,
    "openWorldHint": False,
}


def _make_search_tool(
    name: str, others: tuple[str, str], title: str, tools: Sequence[AnyTool], unlisted: int
) -> JsonObject:
    describe, call = others
    tag: JsonObject = {"type": "string", "description": "Only tools of this tag."}
    tags = sorted({find_tag(tool) for tool in tools} - {""})
    if len(tags) <= _MAX_TAGS_NAMED:
        tag["enum"] = tags
    description = (
        f"Find tools of {title} by what you want to do. It has {unlisted:,} tools that are not "
        "listed. Ask in plain words, as for a task: a verb and what it is about. The answer names "
        f"tools, best first; read one with `{describe}`, then call it with `{call}`."
    )
    query = {
        "type": "string",
        "minLength": 1,
        "maxLength": 500,
        "description": "What you want to do, in 1 to 500 characters.",
    }
    limit = {
        "type": "integer",
        "minimum": 1,
        "maximum": 20,
        "default": 10,
        "description": "How many tools to name at most, 1 to 20; 10 by default.",
    }
    properties = {"query": query, "limit": limit, "tag": tag}
    return _make_tool(name, "Search tools", description, properties, _LOOKS_ONLY)


def _make_describe_tool(name: str, others: tuple[str, str]) -> JsonObject:
    search, call = others
    description = (
        f"Read the description and the JSON Schema of a tool that `{search}` named, before you "
        f"call it with `{call}`."
    )
    return _make_tool(name, "Describe a tool", description, {"name": _NAME}, _LOOKS_ONLY)


def _make_call_tool(name: str, others: tuple[str, str], tools: Sequence[AnyTool]) -> JsonObject:
    search, describe = others
    description = (
        f"Call a tool that `{search}` named. Its arguments must fit the schema that `{describe}` "
        "shows. What it does, and whether it changes or deletes something, is what the named tool "
        "does."
    )
    about_arguments = "Its arguments, by name; none by default."
    properties = {"name": _NAME, "arguments": {"type": "object", "description": about_arguments}}
    return _make_tool(name, "Call a tool", description, properties, _merge_hints(tools))


def _merge_hints(tools: Sequence[AnyTool]) -> JsonObject:
    """Return the hints that apply to all callable tools, with MCP's defaults."""
    hints = [tool.annotations for tool in tools]
    return {
        "readOnlyHint": all(hint.get("readOnlyHint", False) for hint in hints),
        "destructiveHint": any(hint.get("destructiveHint", True) for hint in hints),
        "idempotentHint": all(hint.get("idempotentHint", False) for hint in hints),
        "openWorldHint": any(hint.get("openWorldHint", True) for hint in hints),
    }
