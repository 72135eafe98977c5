"""Three tools in place of a thousand: they find the others, show them, and call them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from mcpgen.runtime.calls import Offered
from mcpgen.runtime.content import JsonObject, Text, ToolResult
from mcpgen.runtime.context import Context
from mcpgen.runtime.errors import ConfigurationError, ToolError, UnknownToolError
from mcpgen.runtime.features import Features
from mcpgen.runtime.protocol.jsonrpc import encode_json
from mcpgen.runtime.tools import Run, Toolbox

if TYPE_CHECKING:
    from mcpgen.runtime.tool_index import ToolIndex

DEFAULT_LIMIT = 10
MAX_ANSWER_BYTES = 3_500  # of what a search found; with its envelope it stays below 4 kB


class ToolSearch:
    """The tools of a server that does not list them. Calls them as `Toolbox` does."""

    def __init__(
        self,
        toolbox: Toolbox,
        features: Offered | None,
        listed: Mapping[str, JsonObject],
        names: Mapping[str, str],
        *,
        read_index: Callable[[], bytes],
    ) -> None:
        """Put the three tools in front of the others.

        `names` says what each of "search", "describe" and "call" is called here; `listed` has
        their Tool objects by name. `features` are the tools that people wrote.

        Raises:
            ConfigurationError: one of these has the name of a generated tool.
        """
        for name in toolbox.tools:
            if features is not None and features.has_tool(name):
                raise ConfigurationError(f"a generated tool is called `{name}` already")
        self._toolbox = toolbox
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
        """Run one of the three tools, or else one that is not listed; raises as `Toolbox.call`."""
        if self._own.has_tool(name):
            return await self._own.call_tool(name, arguments, context)
        return await self._toolbox.call(name, arguments, context)

    async def run(self, name: str, arguments: JsonObject, context: Context) -> Run:
        """Run a tool for another one, as `Toolbox.run` does."""
        return await self._toolbox.run(name, arguments, context)

    async def aclose(self) -> None:
        """Close the connections to the API."""
        await self._toolbox.aclose()

    @cached_property
    def _index(self) -> ToolIndex:
        from mcpgen.runtime.tool_index import ToolIndex  # not before somebody searches

        return ToolIndex.from_lines(self._read_index())

    async def _search(
        self, _: Context, *, query: str, limit: int = DEFAULT_LIMIT, tag: str = ""
    ) -> ToolResult:
        """Name the tools that a question is about, best first, as many as fit the answer."""
        found = self._index.search(query, tag)
        tools = [
            {"name": entry.name, "summary": entry.summary, "operation": entry.operation}
            for entry in found[:limit]
        ]
        answer = {"tools": tools, "matches": len(found)}
        while len(encode_json(answer)) > MAX_ANSWER_BYTES:
            tools.pop()
        return ToolResult((Text(encode_json(answer).decode()),))

    async def _describe(self, _: Context, *, name: str) -> ToolResult:
        """Give a tool as it would be listed."""
        try:
            tool = self._toolbox.find(name)
        except UnknownToolError:
            raise ToolError(self._unknown(name)) from None
        listed = {"name": tool.name, **tool.contract["listing"]}
        return ToolResult((Text(encode_json(listed).decode()),))

    async def _call(
        self, ctx: Context, *, name: str, arguments: JsonObject | None = None
    ) -> ToolResult:
        """Call a tool as if it were listed, one that people wrote among them."""
        if self._features is not None and self._features.has_tool(name):
            return await self._features.call_tool(name, arguments or {}, ctx)
        try:
            return await self._toolbox.call(name, arguments or {}, ctx)
        except UnknownToolError:
            raise ToolError(self._unknown(name)) from None

    def _unknown(self, name: str) -> str:
        close = self._index.close_to(name)
        hint = f" Did you mean {' or '.join(f'`{it}`' for it in close)}?" if close else ""
        return f"No tool is called `{name[:100]}`.{hint}"
