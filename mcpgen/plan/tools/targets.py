"""Limits of MCP clients, checked against the `targets` of the manifest."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from mcpgen.contract.snapshot import estimate_tokens
from mcpgen.diagnostics import Problems, did_you_mean
from mcpgen.ir.client_checks import CheckedServer, iterate_excesses
from mcpgen.ir.clients import Client, ClientLimit, read_clients
from mcpgen.ir.manifest import LocatedManifest
from mcpgen.ir.portable_profile import LONGEST_TOOL_NAME, MAX_PREFIXED_NAME, MAX_TOOL_NAME
from mcpgen.ir.tool_plan import ServerPlan, ToolPlan, WorkflowPlan, build_list_entry

_SHOWN = 3
_SHORTEST_LIMIT = 24  # of a tool's name, however long the server's is
_HELP = {
    "too-many-tools": "leave some out under `select`, or set a lower `budget`",
    "tool-name": "give the tool a shorter `name` under `operations`",
    "description-length": "give it a shorter `description` under `operations`",
    "annotations": "state them as `annotations` under `operations`",
}
_HELP_WITH_SCHEMAS = "simplify the schema with an overlay, or hide the argument under `operations`"


def find_name_limit(server: str, targets: Collection[str]) -> int:
    """Return the maximum length of a tool's name for the clients in `targets`.

    Without targets, it suits all known clients: `mcp__<server>__<tool>` has at most 64 characters,
    and the name at most 48.
    """
    clients = [client for name in targets if (client := read_clients().get(name)) is not None]
    if not clients:
        room = MAX_PREFIXED_NAME - len(f"mcp__{server}__")
        return max(_SHORTEST_LIMIT, min(MAX_TOOL_NAME, room))
    rooms = [
        limit.most - len(limit.around.format(server=server, tool=""))
        for client in clients
        for limit in client.limit
        if limit.counts == "tool-name"
    ]
    return max(_SHORTEST_LIMIT, min([LONGEST_TOOL_NAME, *rooms]))


def check_targets(plan: ServerPlan, intent: LocatedManifest, problems: Problems) -> None:
    """Report tools that a client in the manifest's `targets` would drop or reject."""
    clients = read_clients() if intent.manifest.targets else {}
    for number, name in enumerate(intent.manifest.targets):
        at = intent.locate(("targets", str(number)))
        client = clients.get(name)
        if client is None:
            known = ", ".join(f"`{each}`" for each in clients)
            problems.error(
                "target-unknown",
                f"unknown client `{name}`",
                at=at,
                why="mcpgen checks the tools against the limits of known clients",
                help=did_you_mean(name, clients, f"there are {known}"),
            )
            continue
        for message, mend in _iterate_excesses(plan, client):
            problems.warning(
                "target",
                f"`{name}`: {message}",
                at=at,
                why="the client drops or rejects tools beyond its limits",
                help=mend,
            )


def _iterate_excesses(plan: ServerPlan, client: Client) -> Iterator[tuple[str, str]]:
    """Yield the violations of the limits, each with its fix."""
    tools: list[ToolPlan | WorkflowPlan] = [*plan.listed_tools, *plan.workflows]
    listed = [{"name": tool.name, **build_list_entry(tool)} for tool in tools]
    server = CheckedServer(plan.name, listed, plan.instructions)
    for limit in client.limit:
        if plan.search is not None and (limit.counts or "").startswith(("tools", "all-")):
            continue
        yield from _describe_excesses(server, limit)


def _describe_excesses(server: CheckedServer, limit: ClientLimit) -> Iterator[tuple[str, str]]:
    """Describe violations; those by one construct together."""
    by_feature: dict[str, list[str]] = {}
    mend = _HELP.get(limit.rule, _HELP_WITH_SCHEMAS)
    for excess in iterate_excesses(server, limit):
        if excess.feature:
            by_feature.setdefault(excess.feature, []).append(excess.tool)
        else:
            yield excess.message, mend
    for feature, users in sorted(by_feature.items()):
        shown = ", ".join(f"`{name}`" for name in users[:_SHOWN])
        more = f" and {len(users) - _SHOWN} more" if len(users) > _SHOWN else ""
        yield f"{feature} in the arguments of {shown}{more} is not supported", mend


def token_cost(tool: ToolPlan | WorkflowPlan) -> int:
    """Estimate the tokens that a tool takes in a listing."""
    return estimate_tokens({"name": tool.name, **build_list_entry(tool)})
