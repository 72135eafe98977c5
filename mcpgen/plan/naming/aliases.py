"""Aliases: former names of tools, which clients can call but `tools/list` does not contain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mcpgen.diagnostics import Location, Problems, did_you_mean
from mcpgen.ir.manifest_entries import OperationEntry
from mcpgen.ir.tool_plan import ToolPlan
from mcpgen.plan.policy import Policy
from mcpgen.plan.tools.entries import find_entry_key


def collect_alias_names(policy: Policy) -> frozenset[str]:
    """Return every alias in the manifest, so that no tool is given one of them as its name."""
    manifest = policy.manifest
    of_entries = (alias for entry in manifest.operations.values() for alias in entry.aliases)
    return frozenset({*manifest.aliases, *of_entries})


def resolve_aliases(
    tools: Mapping[str, ToolPlan],
    entries: Mapping[str, OperationEntry],
    policy: Policy,
    problems: Problems,
) -> dict[str, tuple[str, ...]]:
    """Return the aliases of each tool by its name, sorted. `tools` are by operation key.

    Report an alias that refers to no tool, or that is a tool's name or another tool's alias.
    """
    exposed = {tool.name: tool.exposed_as for tool in tools.values()}
    names = [name for name, kind in exposed.items() if kind == "tool"]
    targets: dict[str, str] = {}
    for alias, target, at in _iterate_aliases(tools, entries, policy):
        if exposed.get(target, "tool") != "tool":
            problems.error(
                "alias-unknown",
                f"alias `{alias}`: expected a tool, but `{target}` is a {exposed[target]}",
                at=at,
                why="clients can call only tools",
                help="remove the alias, or `expose` the operation as `tool`",
            )
        elif target not in names:
            problems.error(
                "alias-unknown",
                f"alias `{alias}`: unknown tool `{target}`",
                at=at,
                why="a call by the old name would fail, since this server has no such tool",
                help=did_you_mean(target, names, "use the name of a tool of this server"),
            )
        elif alias in exposed or targets.get(alias, target) != target:
            taken = f"a {exposed[alias]}" if alias in exposed else f"an alias of `{targets[alias]}`"
            problems.error(
                "alias-collision",
                f"alias `{alias}` of `{target}`: the name is already {taken}",
                at=at,
                why="a call by this name would be ambiguous",
                help="remove one of them, or set another `name` for the tool under `operations`",
            )
        else:
            targets[alias] = target
    found: dict[str, tuple[str, ...]] = {}
    for alias, target in sorted(targets.items()):
        found[target] = (*found.get(target, ()), alias)
    return found


def _iterate_aliases(
    tools: Mapping[str, ToolPlan], entries: Mapping[str, OperationEntry], policy: Policy
) -> Iterator[tuple[str, str, Location]]:
    """Yield each alias, the tool that it names, and its location in the manifest."""
    for alias, target in policy.manifest.aliases.items():
        yield alias, target, policy.intent.locate(("aliases", alias))
    for key, entry in entries.items():
        if key in tools:
            tool = tools[key]
            entry_key = find_entry_key(tool.operation, policy.manifest)
            at = policy.intent.locate(("operations", entry_key, "aliases"))
            yield from ((alias, tool.name, at) for alias in entry.aliases)
