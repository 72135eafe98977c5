"""Contents of a generated package's files, read without the runtime."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def listed_tools(project: Path) -> list[dict[str, Any]]:
    """Return the Tool objects in a project's prepared list."""
    (path,) = project.glob("src/*/_generated/listing.json")
    tools: list[dict[str, Any]] = json.loads(path.read_bytes())
    return tools


def tool_contracts(project: Path) -> dict[str, Any]:
    """Return the contract of each tool by name, with its entry for clients as `listing`."""
    listed = {tool["name"]: tool for tool in listed_tools(project)}
    return {
        name: {"listing": listed.get(name), **entry}
        for path in sorted(project.glob("src/*/_generated/tools/*.json"))
        for name, entry in json.loads(path.read_bytes())["tools"].items()
    }
