"""Limits of MCP clients, checked against the `targets` of the manifest."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from msgspec import Struct

from mcpgen.contract.snapshot import estimate_tokens
from mcpgen.diagnostics import Problems, did_you_mean
from mcpgen.ir.manifest import LocatedManifest
from mcpgen.ir.tool_plan import ServerPlan, ToolPlan, WorkflowPlan, build_list_entry
from mcpgen.jsonschema.types import JsonSchema
from mcpgen.plan.naming.tool_names import LONGEST_TOOL_NAME, MAX_TOOL_NAME


class _Limits(Struct, frozen=True):
    """Limits of one client; None where no limit is known."""

    tools: int | None = None
    name: int | None = None  # characters of a tool's name with `around` it
    around: str = "{tool}"
    description: int | None = None
    refused: frozenset[str] = frozenset()  # what an input schema may not hold, as `_held` names it


_CHOICES = frozenset({"`allOf`", "`anyOf`", "`oneOf`"})
_BEYOND_OPENAPI_3_0 = frozenset(
    {"`$ref`", "`exclusiveMaximum`", "`exclusiveMinimum`", "`propertyNames`"}
    | {"an `anyOf` in `items`", "several types"}
)
_SHOWN = 3
_SHORTEST_LIMIT = 24  # of a tool's name, however long the server's is

# As reported in public threads and vendors' documents, verified 2026-11. A new client is a row.
_CLIENTS: Mapping[str, _Limits] = {
    "claude-code": _Limits(name=128, around="mcp__{server}__{tool}", description=2048),
    "claude-desktop": _Limits(name=64),
    "codex": _Limits(name=64),
    "copilot-cli": _Limits(),
    "cursor": _Limits(tools=40, name=60, around="{server}.{tool}", refused=_CHOICES),
    "gemini": _Limits(name=63, around="mcp_{tool}", description=1024, refused=_BEYOND_OPENAPI_3_0),
    "junie": _Limits(tools=128),
    "openai": _Limits(tools=128, name=64, description=1024),
    "vscode": _Limits(tools=128),
    "windsurf": _Limits(tools=100),
}


def find_name_limit(server: str, targets: Collection[str]) -> int:
    """Return the maximum length of a tool's name for the clients in `targets`.

    Without targets, it suits all known clients: `mcp__<server>__<tool>` has at most 64 characters,
    and the name at most 48.
    """
    limits = [_CLIENTS[client] for client in targets if client in _CLIENTS]
    if not limits:
        return max(_SHORTEST_LIMIT, min(MAX_TOOL_NAME, 57 - len(server)))
    room = [
        limit.name - len(limit.around.format(server=server, tool=""))
        for limit in limits
        if limit.name is not None
    ]
    return max(_SHORTEST_LIMIT, min([LONGEST_TOOL_NAME, *room]))


def check_targets(plan: ServerPlan, intent: LocatedManifest, problems: Problems) -> None:
    """Report tools that a client in the manifest's `targets` would drop or reject."""
    for number, client in enumerate(intent.manifest.targets):
        at = intent.locate(("targets", str(number)))
        limits = _CLIENTS.get(client)
        if limits is None:
            known = ", ".join(f"`{name}`" for name in _CLIENTS)
            problems.error(
                "target-unknown",
                f"unknown client `{client}`",
                at=at,
                why="mcpgen checks the tools against the limits of known clients",
                help=did_you_mean(client, _CLIENTS, f"there are {known}"),
            )
            continue
        for message, mend in _iterate_excesses(plan, limits):
            problems.warning(
                "target",
                f"`{client}`: {message}",
                at=at,
                why="the client drops or rejects tools beyond its limits",
                help=mend,
            )


def _iterate_excesses(plan: ServerPlan, limits: _Limits) -> Iterator[tuple[str, str]]:
    """Yield the violations of the limits, each with its fix."""
    tools: list[ToolPlan | WorkflowPlan] = [*plan.listed_tools, *plan.workflows]
    if limits.tools is not None and plan.search is None and len(tools) > limits.tools:
        yield (
            f"{len(tools)} tools are listed (limit: {limits.tools})",
            "leave some out under `select`, or set a lower `budget`",
        )
    for tool in tools:
        full = limits.around.format(server=plan.name, tool=tool.name)
        if limits.name is not None and len(full) > limits.name:
            yield (
                f"`{full}` has {len(full)} characters (limit: {limits.name})",
                "give the tool a shorter `name` under `operations`",
            )
        if limits.description is not None and len(tool.description) > limits.description:
            size, most = len(tool.description), limits.description
            yield (
                f"the description of `{tool.name}` has {size:,} characters (limit: {most:,})",
                "give it a shorter `description` under `operations`",
            )
    for refused in sorted(limits.refused):
        users = [tool.name for tool in tools if refused in set(_name_features(tool.input_schema))]
        if users:
            shown = ", ".join(f"`{name}`" for name in users[:_SHOWN])
            more = f" and {len(users) - _SHOWN} more" if len(users) > _SHOWN else ""
            yield (
                f"{refused} in the arguments of {shown}{more} is not supported",
                "simplify the schema with an overlay, or hide the argument under `operations`",
            )


def _name_features(schema: JsonSchema, *, is_of_items: bool = False) -> Iterator[str]:
    """Yield the features of a listed schema and its subschemas that a client may reject."""
    if not isinstance(schema, dict):
        return
    yield from (f"`{keyword}`" for keyword in schema)
    if is_of_items and "anyOf" in schema:
        yield "an `anyOf` in `items`"
    if isinstance(schema.get("type"), list):
        yield "several types"
    for keyword in ("$defs", "properties"):
        for part in schema.get(keyword, {}).values():
            yield from _name_features(part)
    for keyword in ("allOf", "anyOf", "oneOf"):
        for part in schema.get(keyword, ()):
            yield from _name_features(part)
    yield from _name_features(schema.get("additionalProperties", True))
    yield from _name_features(schema.get("items", True), is_of_items=True)


def token_cost(tool: ToolPlan | WorkflowPlan) -> int:
    """Estimate the tokens that a tool takes in a listing."""
    return estimate_tokens({"name": tool.name, **build_list_entry(tool)})
