"""Former names of tools: clients may go on to call by them, and are not shown them."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping

from mcpgen.diagnostics import Location, Problems
from mcpgen.ir.manifest import OperationEntry
from mcpgen.plan.policy import Policy


def alias_names(policy: Policy) -> frozenset[str]:
    """Every alias that the manifest states, so that no tool is called so."""
    manifest = policy.manifest
    of_entries = (alias for entry in manifest.operations.values() for alias in entry.aliases)
    return frozenset({*manifest.aliases, *of_entries})


def aliases_of_tools(
    tools: Mapping[str, str],
    entries: Mapping[str, OperationEntry],
    policy: Policy,
    problems: Problems,
) -> dict[str, tuple[str, ...]]:
    """The aliases of each tool, by its name. `tools` are the served names by operation key.

    An alias that a tool or another alias has as its name, or that leads to no tool, is an error.
    """
    targets: dict[str, str] = {}
    for alias, target, at in _stated(tools, entries, policy):
        if target not in tools.values():
            near = difflib.get_close_matches(target, tools.values(), n=1, cutoff=0.5)
            problems.error(
                "alias-unknown",
                f"the alias `{alias}` leads to `{target}`, and no tool is called so",
                at=at,
                why="a client that calls by the old name would be told that there is no such tool",
                help=f"did you mean `{near[0]}`?" if near else "name a tool of this server",
            )
        elif alias in tools.values() or targets.get(alias, target) != target:
            taken = "a tool" if alias in tools.values() else f"an alias of `{targets[alias]}`"
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
    tools: Mapping[str, str], entries: Mapping[str, OperationEntry], policy: Policy
) -> Iterator[tuple[str, str, Location]]:
    """Each alias, what it leads to, and where the manifest says so."""
    for alias, target in policy.manifest.aliases.items():
        yield alias, target, policy.intent.locate(("aliases", alias))
    for key, entry in entries.items():
        if key in tools:
            at = policy.intent.locate(("operations", key, "aliases"))
            yield from ((alias, tools[key], at) for alias in entry.aliases)
