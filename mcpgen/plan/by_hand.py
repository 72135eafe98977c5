"""The plan of a server without a document: all that it serves is written in its `handlers/`."""

from __future__ import annotations

from mcpgen.ir.api import Api
from mcpgen.ir.manifest import Manifest
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.plan.naming.words import snake_case
from mcpgen.text.identifiers import Identifier


def plan_by_hand(manifest: Manifest) -> ServerPlan:
    """Plan a server of hand-written tools, without an API."""
    name = manifest.server.name
    snake = snake_case(name)
    title = manifest.server.title or name.replace("-", " ").capitalize()
    return ServerPlan(
        name=name,
        distribution=f"{name}-mcp",
        package=Identifier(f"{snake}_mcp"),
        env_prefix=f"{snake.upper()}_",
        title=title,
        description="",
        instructions=manifest.server.instructions,
        api=Api(title, "", "", (), (), (), {}),
        base_servers=(),
        environment=(),
        groups=(),
        models={},
        has_asking_handlers=True,  # the handlers are not known yet
    )
