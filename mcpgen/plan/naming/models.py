"""Assignment of model classes to modules: the module of their only tag, or `shared`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mcpgen.ir.tool_plan import ModelModule, ToolPlan
from mcpgen.plan.schemas.types import Types
from mcpgen.text.identifiers import Identifier

SHARED = Identifier("shared")


def group_models(
    types: Types, tools: Mapping[Identifier, Iterable[ToolPlan]]
) -> tuple[ModelModule, ...]:
    """Group the classes that the tools of each module use, directly or through other classes."""
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
