"""Former names of tools: clients may go on to call by them, and are not shown them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mcpgen.diagnostics import Location, Problems, did_you_mean
from mcpgen.ir.manifest import OperationEntry
from mcpgen.ir.tool_plan import ToolPlan
from mcpgen.plan.intent import stated_as
from mcpgen.plan.policy import Policy


def alias_names(policy: Policy) -> frozenset[str]:
    """Every alias that the manifest states, so that no tool is called so."""
    manifest = policy.manifest
    of_entries = (alias for entry in manifest.operations.values() for alias in entry.aliases)
    return frozenset({*manifest.aliases, *of_entries})


def aliases_of_tools(
    tools: Mapping[str, ToolPlan],
    entries: Mapping[str, OperationEntry],
    policy: Policy,
    problems: Problems,
) -> dict[str, tuple[str, ...]]:
    """The aliases of each tool, by its name. `tools` are those that are served, by operation key.

    An alias that a tool or another alias has as its name, or that leads to no tool, is an error.
    """
    exposed = {tool.name: tool.exposed_as for tool in tools.values()}
    names = [name for name, kind in exposed.items() if kind == "tool"]
    targets: dict[str, str] = {}
    for alias, target, at in _stated(tools, entries, policy):
        if exposed.get(target, "tool") != "tool":
            problems.error(
                "alias-unknown",
                f"the alias `{alias}` leads to `{target}`, a {exposed[target]} and no tool",
                at=at,
                why="nothing can be called by the name",
                help="leave the alias out, or `expose` the operation as `tool`",
            )
        elif target not in names:
            problems.error(
                "alias-unknown",
                f"the alias `{alias}` leads to `{target}`, and no tool is called so",
                at=at,
                why="a client that calls by the old name would be told that there is no such tool",
                help=did_you_mean(target, names, "name a tool of this server"),
            )
        elif alias in exposed or targets.get(alias, target) != target:
            taken = f"a {exposed[alias]}" if alias in exposed else f"an alias of `{targets[alias]}`"
            problems.error(
                "alias-collision",
                f"`{alias}` is {taken}, and so no alias of `{target}`",
                at=at,
                why="a call by this name would have two meanings",
                help="leave one of them out, or give the tool another `name` under `operations`",
            )
        else:
            targets[alias] = target
    found: dict[str, tuple[str, ...]] = {}
    for alias, target in sorted(targets.items()):
        found[target] = (*found.get(target, ()), alias)
    return found


def _stated(
    tools: Mapping[str, ToolPlan], entries: Mapping[str, OperationEntry], policy: Policy
) -> Iterator[tuple[str, str, Location]]:
    """Each alias, what it leads to, and where the manifest says so."""
    for alias, target in policy.manifest.aliases.items():
        yield alias, target, policy.intent.locate(("aliases", alias))
    for key, entry in entries.items():
        if key in tools:
            tool = tools[key]
            stated = stated_as(tool.operation, policy.manifest)
            at = policy.intent.locate(("operations", stated, "aliases"))
            yield from ((alias, tool.name, at) for alias in entry.aliases)
