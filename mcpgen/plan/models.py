"""Which module each class stands in: that of its one tag, or the shared one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mcpgen.ir.identifiers import Identifier
from mcpgen.ir.tool_plan import ModelModule, ToolPlan
from mcpgen.plan.types import Types

SHARED = Identifier("shared")


def model_modules(
    types: Types, tools: Mapping[Identifier, Iterable[ToolPlan]]
) -> tuple[ModelModule, ...]:
    """The classes that the tools of each module name, and those that these refer to."""
    users: dict[Identifier, set[Identifier]] = {}
    for module, plans in tools.items():
        waiting = [
            name
            for plan in plans
            for annotation in (plan.returns, *(argument.annotation for argument in plan.arguments))
            for name in annotation.models
        ]
        seen: set[Identifier] = set()
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                users.setdefault(name, set()).add(module)
                waiting += types.uses[name]
    homes: dict[Identifier, dict[Identifier, object]] = {}
    for name in sorted(users):
        home = SHARED if len(users[name]) > 1 else next(iter(users[name]))
        homes.setdefault(home, {})[name] = types.definitions[name]
    return tuple(
        ModelModule(module, dict(homes[module]))  # type: ignore[arg-type]
        for module in sorted(homes)
    )
