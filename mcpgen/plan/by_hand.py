"""The plan of a server without a document: all that it serves is written in its `handlers/`."""

from __future__ import annotations

from mcpgen.ir.api import Api
from mcpgen.ir.identifiers import Identifier
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.plan.naming import snake_case


def plan_by_hand(name: str) -> ServerPlan:
    """Decide how a server is called that has no API behind it."""
    snake = snake_case(name)
    title = name.replace("-", " ").capitalize()
    return ServerPlan(
        name=name,
        distribution=f"{name}-mcp",
        package=Identifier(f"{snake}_mcp"),
        env_prefix=f"{snake.upper()}_",
        title=title,
        description="",
        instructions="",
        api=Api(title, "", "", (), (), (), {}),
        base_servers=(),
        environment=(),
        groups=(),
        models=(),
    )
