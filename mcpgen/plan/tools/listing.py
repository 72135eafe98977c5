"""The tool list: all tools within the token budget, or else few tools to find and call them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from mcpgen.contract.code_mode import MAX_CODE, CodeBounds
from mcpgen.contract.snapshot import estimate_tokens
from mcpgen.contract.toolset_names import EVERYTHING, normalize_toolset_name
from mcpgen.diagnostics import Problems, did_you_mean
from mcpgen.ir.tool_plan import (
    HandlesPlan,
    ToolGroupPlan,
    ToolPlan,
    ToolSearch,
    Toolset,
    WorkflowPlan,
)
from mcpgen.jsonschema.types import JsonObject
from mcpgen.plan.policy import Policy
from mcpgen.plan.tools.entries import names_of
from mcpgen.plan.tools.extensions import list_scopes
from mcpgen.plan.tools.search_index import find_tag
from mcpgen.search.query import CHANGE, READ, REMOVE

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
    merged = [tool for group in groups for tool in group.merged]
    found = {
        str(group.module): Toolset(str(group.module), group.description, _list_group(group, merged))
        for group in groups
    }
    by_tag: dict[str, set[str]] = {}
    by_scope: dict[str, set[str]] = {}
    by_name = {workflow.name: {workflow.name} for workflow in workflows}
    for group in groups:
        for tool in group.listed_tools:
            by_name[tool.name] = {tool.name}
            for operation in tool.operations:
                for tag in operation.tags or (operation.tag,):
                    by_tag.setdefault(tag, set()).add(tool.name)
                for scope in list_scopes(operation):
                    by_scope.setdefault(scope, set()).add(tool.name)
                for name in names_of(operation):
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


def _list_group(group: ToolGroupPlan, merged: Iterable[ToolPlan]) -> tuple[str, ...]:
    """Return the names of a group's tools: its own, and merged ones with an operation of it."""
    names = {tool.name for tool in group.listed_tools}
    names |= {tool.name for tool in merged if any(it.tag == group.tag for it in tool.operations)}
    return tuple(sorted(names))


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
    names: Iterable[str],
    known: Mapping[str, set[str]],
    kind: str,
    tokens: tuple[str, ...],
    policy: Policy,
    problems: Problems,
) -> set[str]:
    found: set[str] = set()
    for number, name in enumerate(names):
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
    handles: HandlesPlan | None,
    policy: Policy,
    problems: Problems,
) -> ToolSearch | None:
    """Return the search tools if the tool list exceeds the budget or in code mode, else None.

    Workflows and the tool that reads results (`handles`) are listed nevertheless; workflows not in
    code mode.
    """
    own = 0 if handles is None else handles.token_cost
    of_operations = (tool for group in groups for tool in group.listed_tools)
    tools: list[AnyTool] = sorted([*of_operations, *workflows], key=lambda tool: tool.name)
    budget, bounds = policy.manifest.budget, policy.manifest.code_bounds
    is_small = own + sum(tool.token_cost for tool in tools) <= budget
    if not tools or (bounds is None and is_small):
        return None
    search, describe, call, run = _choose_names(tools, has_code=bounds is not None)
    use = call if bounds is None else run
    stated = policy.manifest.toolsets
    also_listed = {workflow.name for workflow in workflows if bounds is None}.union(
        *(it.tools for it in toolsets if it.name in stated and stated[it.name].listed)
    )
    others = [tool for tool in tools if tool.name not in also_listed]
    listed = [
        _make_search_tool(search, (describe, use), title, tools, len(others)),
        _make_describe_tool(describe, (search, use), shows_functions=bounds is not None),
        _make_call_tool(call, (search, describe), tools),
    ]
    if bounds is not None:
        listed.append(_make_run_tool(run, describe, tools, bounds))
    cost = own + sum(map(estimate_tokens, listed))
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
        run="" if bounds is None else run,
        tools=tuple(listed),
        also_listed=tuple(sorted(also_listed)),
        token_cost=cost,
    )


def _choose_names(tools: Iterable[AnyTool], *, has_code: bool) -> tuple[str, str, str, str]:
    """Return the names of the search tools, with the prefix `mcp_` if the API uses one of them."""
    taken = list_names(tools)
    search, describe, call, run = "search_tools", "describe_tool", "call_tool", "run_code"
    while taken & {search, describe, call} or (has_code and run in taken):
        search, describe, call, run = (f"mcp_{it}" for it in (search, describe, call, run))
    return search, describe, call, run


def list_names(tools: Iterable[AnyTool]) -> set[str]:
    """Return the names of tools, with their former ones."""
    return {
        name
        for tool in tools
        for name in (tool.name, *(tool.aliases if isinstance(tool, ToolPlan) else ()))
    }


def make_tool(
    name: str, title: str, description: str, properties: JsonObject, hints: JsonObject
) -> JsonObject:
    """Return the list entry of a tool that mcpgen adds; only its first argument is required."""
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
LOOKS_ONLY: JsonObject = {
    "readOnlyHint": True,
    "destructiveHint": False,
    "idempotentHint": True,
    "openWorldHint": False,
}


def _make_search_tool(
    name: str, others: tuple[str, str], title: str, tools: Sequence[AnyTool], unlisted: int
) -> JsonObject:
    describe, use = others
    tag: JsonObject = {"type": "string", "description": "Only tools of this tag."}
    tags = sorted({find_tag(tool) for tool in tools} - {""})
    if len(tags) <= _MAX_TAGS_NAMED:
        tag["enum"] = tags
    description = (
        f"Find tools of {title} by what you want to do. It has {unlisted:,} tools that are not "
        "listed. Ask in plain words, as for a task: a verb and what it is about. The answer names "
        f"tools, best first; read one with `{describe}`, then call it with `{use}`."
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
    effect = {
        "type": "string",
        "enum": [READ, CHANGE, REMOVE],
        "description": "Only tools that do this.",
    }
    properties = {"query": query, "limit": limit, "tag": tag, "effect": effect}
    return make_tool(name, "Search tools", description, properties, LOOKS_ONLY)


def _make_describe_tool(name: str, others: tuple[str, str], *, shows_functions: bool) -> JsonObject:
    """Return the list entry of the tool that describes others: in code mode as functions."""
    search, use = others
    if shows_functions:
        title = "Describe tools"
        description = (
            f"Read the Python functions of tools that `{search}` named, with the types of "
            f"arguments and results, before you use them in `{use}`."
        )
        about_name = "Names of tools or types, separated by commas."
        about_schema = "Show one tool with its JSON Schemas instead."
    else:
        title = "Describe a tool"
        description = (
            f"Read the description and the JSON Schema of a tool that `{search}` named, before you "
            f"call it with `{use}`."
        )
        about_name = "The tool's name."
        about_schema = "Also show the JSON Schema of the result, which is a sketch otherwise."
    output_schema = {"type": "boolean", "default": False, "description": about_schema}
    named = {"type": "string", "description": about_name}
    properties = {"name": named, "output_schema": output_schema}
    return make_tool(name, title, description, properties, LOOKS_ONLY)


def _make_run_tool(
    name: str, describe: str, tools: Sequence[AnyTool], bounds: CodeBounds
) -> JsonObject:
    description = (
        "Run Python that calls tools as functions: several calls, loops, and only what you need of "
        f"their results. Read the functions with `{describe}` first. Each takes keyword arguments, "
        "returns plain data, is checked and confirmed as a direct call is, and raises RuntimeError "
        f"if it fails. The last expression is the result. At most {bounds.max_calls:,} calls and "
        f"{bounds.max_seconds:g} s; no network, files or other packages. Types are checked before "
        "the first call."
    )
    code = {
        "type": "string",
        "minLength": 1,
        "maxLength": MAX_CODE,
        "description": f"Python, 1 to {MAX_CODE:,} characters. End with the expression to return,"
        " such as a dict or a list.",
    }
    return make_tool(name, "Run code", description, {"code": code}, _merge_code_hints(tools))


def _make_call_tool(name: str, others: tuple[str, str], tools: Sequence[AnyTool]) -> JsonObject:
    search, describe = others
    description = (
        f"Call a tool that `{search}` named. Its arguments must fit the schema that `{describe}` "
        "shows. What it does, and whether it changes or deletes something, is what the named tool "
        "does."
    )
    about_arguments = "Its arguments, by name; none by default."
    properties = {"name": _NAME, "arguments": {"type": "object", "description": about_arguments}}
    return make_tool(name, "Call a tool", description, properties, _merge_hints(tools))


def _merge_hints(tools: Sequence[AnyTool]) -> JsonObject:
    """Return the hints that apply to all callable tools, with MCP's defaults."""
    hints = [tool.annotations for tool in tools]
    return {
        "readOnlyHint": all(hint.get("readOnlyHint", False) for hint in hints),
        "destructiveHint": any(hint.get("destructiveHint", True) for hint in hints),
        "idempotentHint": all(hint.get("idempotentHint", False) for hint in hints),
        "openWorldHint": any(hint.get("openWorldHint", True) for hint in hints),
    }


def _merge_code_hints(tools: Sequence[AnyTool]) -> JsonObject:
    """Return the hints of a tool that may call all others any number of times."""
    is_read_only = all(tool.annotations.get("readOnlyHint") is True for tool in tools)
    return {
        "readOnlyHint": is_read_only,
        "destructiveHint": not is_read_only,
        "idempotentHint": is_read_only,
        "openWorldHint": any(tool.annotations.get("openWorldHint", True) for tool in tools),
    }
