"""Scopes that callers need for each tool, as `authorization` of the manifest states them.

The closest entry wins: that of the operation, then those of its tags together, then that of its
effect, then `*`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mcpgen.diagnostics import Problems, did_you_mean
from mcpgen.ir.manifest_entries import ALL_OPERATIONS, EFFECTS
from mcpgen.ir.tool_plan import ToolPlan, WorkflowPlan
from mcpgen.plan.policy import Policy
from mcpgen.plan.tools.entries import names_of


def plan_scopes(
    tools: Mapping[str, ToolPlan],
    merged: Iterable[ToolPlan],
    workflows: Iterable[WorkflowPlan],
    policy: Policy,
    problems: Problems,
) -> dict[str, tuple[str, ...]]:
    """Return the scopes of each tool that needs some, by its name; `tools` are by operation key.

    A workflow needs the scopes of all its steps. A merged tool needs those that all its operations
    need; a call then needs those of its operation. An entry that covers no tool is an error.
    """
    stated = policy.manifest.authorization.scopes
    if not stated:
        return {}
    used: set[str] = set()
    found: dict[str, tuple[str, ...]] = {}
    for tool in tools.values():
        levels = _list_levels(tool)
        covering = next((names for level in levels if (names := level & stated.keys())), set())
        used.update(*(level & stated.keys() for level in levels))
        found[tool.name] = tuple(sorted({scope for name in covering for scope in stated[name]}))
    _report_unused_entries(stated.keys() - used, tools.values(), policy, problems)
    for tool in merged:
        common = set.intersection(*(set(found.get(it.tool, ())) for it in tool.merges))
        found[tool.name] = tuple(sorted(common))
    for workflow in workflows:
        of_steps = {scope for step in workflow.steps for scope in found.get(step.tool, ())}
        found[workflow.name] = tuple(sorted(of_steps))
    return {name: scopes for name, scopes in sorted(found.items()) if scopes}


def _list_levels(tool: ToolPlan) -> tuple[set[str], ...]:
    """Return the keys that cover a tool, the closest first."""
    operation = tool.operation
    return (
        set(names_of(operation)),
        {f"tag:{tag}" for tag in operation.tags or (operation.tag,)},
        {f"effect:{tool.effect}"},
        {ALL_OPERATIONS},
    )


def _report_unused_entries(
    unused: Iterable[str], tools: Iterable[ToolPlan], policy: Policy, problems: Problems
) -> None:
    operations = [tool.operation for tool in tools]
    known = {name for operation in operations for name in names_of(operation)}
    known |= {f"tag:{tag}" for it in operations for tag in it.tags or (it.tag,)}
    effects = {f"effect:{effect}" for effect in EFFECTS}
    for name in sorted(unused):
        at = policy.intent.locate(("authorization", "scopes", name))
        if name in effects or name == ALL_OPERATIONS:
            problems.warning(
                "operation-unknown",
                f"`{name}` covers no operation",
                at=at,
                why="the entry has no effect for now",
            )
            continue
        problems.error(
            "operation-unknown",
            f"`{name}` covers no tool of the server",
            at=at,
            why="the scopes would silently protect nothing",
            help=did_you_mean(
                name,
                sorted(known | effects),
                "name an operationId, `METHOD /path`, `tag:NAME`, `effect:read` or `*`",
            ),
        )
