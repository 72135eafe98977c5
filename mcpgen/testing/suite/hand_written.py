"""Tests of a server without a document: its lists end, and their entries are valid and unique."""

from __future__ import annotations

import asyncio
import re
from functools import cached_property
from typing import Final

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.package import ServerPackage
from mcpgen.testing.client.client import MODERN, Client

_LISTS: Final = (
    # capability, method, key of its result, identifying key of the items
    ("tools", "tools/list", "tools", "name"),
    ("prompts", "prompts/list", "prompts", "name"),
    ("resources", "resources/list", "resources", "uri"),
    ("resources", "resources/templates/list", "resourceTemplates", "uriTemplate"),
)
_TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}\Z")


class Served:
    """The generated tests of a package without a document. Failing checks raise AssertionError."""

    def __init__(self, package: str) -> None:
        """Test the importable package of this name."""
        self.package = package

    @property
    def revisions(self) -> tuple[str, ...]:
        """The revisions of MCP that the server speaks, oldest first."""
        return tuple(sorted(ServerPackage.load(self.package).definition.version_names))

    def check_lists(self, revision: str) -> None:
        """Check that every list of this revision ends and has no duplicate."""
        for method, key, items in asyncio.run(self._read_lists(revision)):
            found = [item[key] for item in items]
            twice = sorted({it for it in found if found.count(it) > 1})
            require(not twice, f"{method} lists {twice} twice")

    def check_tools(self) -> None:
        """Check that the names and schemas of all tools are valid in MCP."""
        import jsonschema_rs

        for method, _, tools in self._newest:
            for tool in tools if method == "tools/list" else ():
                name = tool["name"]
                require(bool(_TOOL_NAME.match(name)), f"`{name}` is not a valid tool name")
                for key in ("inputSchema", "outputSchema"):
                    schema = tool.get(key, {"type": "object"})
                    is_object = schema.get("type") == "object"
                    require(is_object, f'the {key} of `{name}` has no `"type": "object"`')
                    is_valid = jsonschema_rs.meta.is_valid(schema)
                    require(is_valid, f"the {key} of `{name}` is not a valid JSON Schema")

    def check_descriptions(self) -> None:
        """Check that everything in the lists has a description."""
        silent = [
            f"`{item[key]}` of {method}"
            for method, key, items in self._newest
            for item in items
            if not item.get("description")
        ]
        require(not silent, f"no description: {', '.join(silent)}")

    @cached_property
    def _newest(self) -> list[tuple[str, str, list[JsonObject]]]:
        return asyncio.run(self._read_lists(self.revisions[-1]))

    async def _read_lists(self, revision: str) -> list[tuple[str, str, list[JsonObject]]]:
        """Return each list of the server: its method, the identifying key, and its items."""
        server = ServerPackage.load(self.package)
        async with Client.in_memory(server, {}, revision=revision) as client:
            about = await client.request("server/discover") if revision == MODERN else client.server
            return [
                (method, key, await client.list_all(method, items))
                for capability, method, items, key in _LISTS
                if capability in about["capabilities"]
            ]


def require(is_so: bool, message: str) -> None:
    """Raise AssertionError unless a condition holds, even if Python runs without assertions."""
    if not is_so:
        raise AssertionError(message)
