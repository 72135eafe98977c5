"""The proof that a server carries whose handlers are written by hand: what it lists can be used."""

from __future__ import annotations

import asyncio
import re
from functools import cached_property
from typing import Final

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.package import ServerPackage
from mcpgen.testing.client.client import MODERN, Client

_LISTS: Final = (
    # the capability, the method, the key of its result, what tells items apart
    ("tools", "tools/list", "tools", "name"),
    ("prompts", "prompts/list", "prompts", "name"),
    ("resources", "resources/list", "resources", "uri"),
    ("resources", "resources/templates/list", "resourceTemplates", "uriTemplate"),
)
_TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}\Z")


class Served:
    """The generated tests of a package without a document. A check raises AssertionError."""

    def __init__(self, package: str) -> None:
        """Take the importable package."""
        self.package = package

    @property
    def revisions(self) -> tuple[str, ...]:
        """The revisions of MCP that the server speaks, oldest first."""
        return tuple(sorted(ServerPackage.load(self.package).definition.version_names))

    def check_lists(self, revision: str) -> None:
        """Every list that a client of this revision may ask for ends, and names nothing twice."""
        for method, key, items in asyncio.run(self._read_lists(revision)):
            found = [item[key] for item in items]
            twice = sorted({it for it in found if found.count(it) > 1})
            demand(not twice, f"{method} names {twice} twice")

    def check_tools(self) -> None:
        """Every tool has a name and schemas as MCP wants them."""
        import jsonschema_rs

        for method, _, tools in self._newest:
            for tool in tools if method == "tools/list" else ():
                name = tool["name"]
                demand(bool(_TOOL_NAME.match(name)), f"`{name}` is no name for a tool")
                for key in ("inputSchema", "outputSchema"):
                    schema = tool.get(key, {"type": "object"})
                    is_object = schema.get("type") == "object"
                    demand(is_object, f'the {key} of `{name}` has no `"type": "object"`')
                    is_valid = jsonschema_rs.meta.is_valid(schema)
                    demand(is_valid, f"the {key} of `{name}` is no JSON Schema")

    def check_descriptions(self) -> None:
        """Everything that is listed has a description."""
        silent = [
            f"`{item[key]}` of {method}"
            for method, key, items in self._newest
            for item in items
            if not item.get("description")
        ]
        demand(not silent, f"nothing is said of {', '.join(silent)}")

    @cached_property
    def _newest(self) -> list[tuple[str, str, list[JsonObject]]]:
        return asyncio.run(self._read_lists(self.revisions[-1]))

    async def _read_lists(self, revision: str) -> list[tuple[str, str, list[JsonObject]]]:
        """Give each list that the server offers: its method, what tells its items apart, these."""
        server = ServerPackage.load(self.package)
        async with Client.in_memory(server, {}, revision=revision) as client:
            about = await client.request("server/discover") if revision == MODERN else client.server
            return [
                (method, key, await client.list_all(method, items))
                for capability, method, items, key in _LISTS
                if capability in about["capabilities"]
            ]


def demand(is_so: bool, message: str) -> None:
    """Fail with a message where something is not so; also where Python drops assertions."""
    if not is_so:
        raise AssertionError(message)
