"""Listings of servers for the linter."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.factory.lint.findings import Finding
from mcpgen.factory.lint.listing import Listing
from mcpgen.factory.lint.run import lint
from mcpgen.factory.lint.settings import parse_targets

DESCRIPTION = "Fetch one pet by its number. Use `list_pets` first if you know only its name."
HINTS = {"readOnlyHint": True, "openWorldHint": True}


def make_tool(name: str = "get_pet", **more: Any) -> dict[str, Any]:
    """Return a tool without findings; `more` replaces its members, or removes them with None."""
    tool: dict[str, Any] = {
        "name": name,
        "description": DESCRIPTION,
        "inputSchema": make_arguments(pet_id={"type": "string", "description": "Its number."}),
        "annotations": HINTS,
        **more,
    }
    return {key: value for key, value in tool.items() if value is not None}


def make_arguments(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def find_all(
    *tools: dict[str, Any], targets: tuple[str, ...] = (), budget: int | None = None, **more: Any
) -> tuple[Finding, ...]:
    """Lint a server with these tools and one more, called `list_pets`."""
    listing = Listing(**{"server": "shop", "tools": tools, **more})
    return lint(listing, parse_targets(targets, budget)).findings


@pytest.fixture
def plain_tool() -> dict[str, Any]:
    return make_tool()
