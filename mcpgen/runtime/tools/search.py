"""Search instead of a long tool list: three tools find, describe and call the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from mcpgen.runtime.content import JsonObject, Text, ToolResult
from mcpgen.runtime.errors import ConfigurationError, ToolError, UnknownToolError
from mcpgen.runtime.handlers.context import Context
from mcpgen.runtime.handlers.features import Features
from mcpgen.runtime.protocol.jsonrpc import encode_json
from mcpgen.runtime.tools.registry import ToolRegistry
from mcpgen.runtime.tools.results import ToolOutcome

if TYPE_CHECKING:
    from mcpgen.search.index import ToolIndex

DEFAULT_LIMIT = 10
MAX_QUERY = 1_000  # characters; what follows is ignored
MAX_ANSWER_BYTES = 3_500  # of what a search found; with its envelope it stays below 4 kB


class ToolSearch:
    """Provider of the three tools, and of the unlisted ones behind them."""

    def __init__(
        self,
        registry: ToolRegistry,
        features: Features | None,
        listed: Mapping[str, JsonObject],
        names: Mapping[str, str],
        *,
        read_index: Callable[[], bytes],
    ) -> None:
        """Create the three tools that replace the others in the list.

        `names` contains the tool names of "search", "describe" and "call"; `listed` contains their
        Tool objects by name. `features` are the hand-written tools.

        Raises:
            ConfigurationError: a hand-written tool has the name of a generated one.
        """
        for name in registry.tools:
            if features is not None and features.has_tool(name):
                raise ConfigurationError(f"duplicate tool name: `{name}` is a generated tool")
        self._registry = registry
        self._features = features
        self._read_index = read_index
        self._own = Features()
        for role, function in (
            ("search", self._search),
            ("describe", self._describe),
            ("call", self._call),
        ):
            schema = listed[names[role]]["inputSchema"]
            self._own.tool(names[role], description=role, input_schema=schema)(function)

    async def call(self, name: str, arguments: JsonObject, context: Context) -> ToolResult:
        """Call one of the three tools, or an unlisted one; raise as `ToolRegistry.call` does."""
        if self._own.has_tool(name):
            return await self._own.call_tool(name, arguments, context)
        return await self._registry.call(name, arguments, context)

    async def run(self, name: str, arguments: JsonObject, context: Context) -> ToolOutcome:
        """Run a tool for another one, as `ToolRegistry.run` does."""
        return await self._registry.run(name, arguments, context)

    async def aclose(self) -> None:
        """Close the connections to the API."""
        await self._registry.aclose()

    @cached_property
    def _index(self) -> ToolIndex:
        from mcpgen.search.index import ToolIndex  # not before somebody searches

        return ToolIndex.from_lines(self._read_index())

    async def _search(
        self, _: Context, *, query: str, limit: int = DEFAULT_LIMIT, tag: str = ""
    ) -> ToolResult:
        """Return the tools that match a query, best first, as many as fit the result."""
        found = self._index.search(query[:MAX_QUERY], tag)
        tools = [
            {"name": entry.name, "summary": entry.summary, "operation": entry.operation}
            for entry in found[:limit]
        ]
        answer = {"tools": tools, "matches": len(found)}
        while len(encode_json(answer)) > MAX_ANSWER_BYTES:
            tools.pop()
        return ToolResult((Text(encode_json(answer).decode()),))

    async def _describe(self, _: Context, *, name: str) -> ToolResult:
        """Return a tool as `tools/list` would."""
        try:
            tool = self._registry.find(name)
        except UnknownToolError:
            raise ToolError(self._describe_unknown(name)) from None
        listed = {"name": tool.name, **tool.contract["listing"]}
        return ToolResult((Text(encode_json(listed).decode()),))

    async def _call(
        self, ctx: Context, *, name: str, arguments: JsonObject | None = None
    ) -> ToolResult:
        """Call an unlisted tool, generated or hand-written."""
        if self._features is not None and self._features.has_tool(name):
            return await self._features.call_tool(name, arguments or {}, ctx)
        try:
            return await self._registry.call(name, arguments or {}, ctx)
        except UnknownToolError:
            raise ToolError(self._describe_unknown(name)) from None

    def _describe_unknown(self, name: str) -> str:
        close = self._index.close_to(name[:100])
        hint = f" Did you mean {' or '.join(f'`{it}`' for it in close)}?" if close else ""
        return f"Unknown tool `{name[:100]}`.{hint}"
