"""Search instead of a long tool list: a few tools find, describe and call the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from mcpgen.runtime.content import JsonObject, Text, ToolResult
from mcpgen.runtime.errors import ConfigurationError, ToolError, UnknownToolError
from mcpgen.runtime.handlers.context import Context
from mcpgen.runtime.handlers.features import Features
from mcpgen.runtime.protocol.jsonrpc import encode_json
from mcpgen.runtime.tools.registry import ToolRegistry
from mcpgen.runtime.tools.results import ToolOutcome
from mcpgen.runtime.tools.sketches import sketch_result

if TYPE_CHECKING:
    from mcpgen.runtime.code.run_code import CodeMode
    from mcpgen.runtime.embeddings.nearness import ToolNearness
    from mcpgen.search.index import Entry, ToolIndex

DEFAULT_LIMIT = 10
OUTPUT_SCHEMA = "output_schema"  # the argument that requests the schema of the result
MAX_QUERY = 1_000  # characters; what follows is ignored
LEAST_COVERAGE = 0.5  # of a query by the best tool; below, the answer is weak
_NAMED_OTHERS = 3
MAX_ANSWER_BYTES = 3_500  # of what a search found; with its envelope it stays below 4 kB


class ToolSearch:
    """Provider of the tools for that, and of the unlisted ones behind them."""

    def __init__(
        self,
        registry: ToolRegistry,
        features: Features | None,
        listed: Mapping[str, JsonObject],
        names: Mapping[str, str],
        *,
        read_index: Callable[[], bytes],
        code: CodeMode | None = None,
        model: str = "",
    ) -> None:
        """Create the tools that replace the others in the list.

        `names` contains the tool names of "search", "describe", "call" and, in code mode, "run";
        `listed` contains their Tool objects by name. `features` are the hand-written tools, `model`
        the folder of an embedding model that takes part in the ranking.

        Raises:
            ConfigurationError: a hand-written tool has the name of a generated one.
        """
        for name in registry.tools:
            if features is not None and features.has_tool(name):
                raise ConfigurationError(f"duplicate tool name: `{name}` is a generated tool")
        self._registry = registry
        self._features = features
        self._read_index = read_index
        self._call_name = names["call"]
        self._own = Features()
        self._code = code
        self._nearness = self._open_model(model) if model else None
        for role, function in (
            ("search", self._search),
            ("describe", self._describe),
            ("call", self._call),
            *(() if code is None else (("run", code.run),)),
        ):
            schema = listed[names[role]]["inputSchema"]
            self._own.tool(names[role], description=role, input_schema=schema)(function)
        described = listed[names["describe"]]["inputSchema"]["properties"]
        self._sketches = OUTPUT_SCHEMA in described  # not in servers of earlier versions

    async def call(self, name: str, arguments: JsonObject, context: Context) -> ToolResult:
        """Call one of these tools, or an unlisted one; raise as `ToolRegistry.call` does."""
        if self._own.has_tool(name):
            return await self._own.call_tool(name, arguments, context)
        return await self._registry.call(name, arguments, context)

    async def run(
        self, name: str, arguments: JsonObject, context: Context, *, is_gathered: bool = False
    ) -> ToolOutcome:
        """Run a tool for another one, as `ToolRegistry.run` does."""
        return await self._registry.run(name, arguments, context, is_gathered=is_gathered)

    async def aclose(self) -> None:
        """Close the connections to the API, and end its own processes and threads."""
        if self._nearness is not None:
            self._nearness.close()
        if self._code is not None:
            await self._code.aclose()
        await self._registry.aclose()

    @cached_property
    def _index(self) -> ToolIndex:
        from mcpgen.search.index import ToolIndex  # not before the first search

        return ToolIndex.from_lines(self._read_index())

    def _open_model(self, folder: str) -> ToolNearness:
        from mcpgen.runtime.embeddings.nearness import ToolNearness  # few servers have a model

        return ToolNearness(folder, lambda: self._index.texts)

    async def _search(
        self, _: Context, *, query: str, limit: int = DEFAULT_LIMIT, tag: str = "", effect: str = ""
    ) -> ToolResult:
        """Return the tools that match a query, best first, as many as fit the result."""
        query = query[:MAX_QUERY]
        nearness = {} if self._nearness is None else await self._nearness.rate(query)
        found = self._index.search(query, tag, effect, nearness=nearness)
        tools = [
            {"name": entry.name, "summary": entry.summary, "operation": entry.operation}
            for entry in found[:limit]
        ]
        answer: JsonObject = {"tools": tools}
        if not found or self._index.rate_coverage(query, found[0]) < LEAST_COVERAGE:
            is_filtered = bool(tag or effect)
            answer["hint"] = self._write_hint(query, nearness, is_filtered, found)
        while len(encode_json(answer)) > MAX_ANSWER_BYTES:
            tools.pop()
        return ToolResult((Text(encode_json(answer).decode()),))

    def _write_hint(
        self,
        query: str,
        nearness: Mapping[str, float],
        is_filtered: bool,
        found: Sequence[Entry],
    ) -> str:
        """Return what to do after an answer in which no tool, or none that fits well, is named."""
        others = self._index.search(query, nearness=nearness) if is_filtered and not found else ()
        if others:
            names = ", ".join(f"`{entry.name}`" for entry in others[:_NAMED_OTHERS])
            return f"No tool of this `tag` and `effect` matches. Others do: {names}."
        state = "No tool has all of this." if found else "No tool matches."
        tags = ", ".join(
            f"`{tag}`" for tag in self._index.find_nearest_tags(query, nearness=nearness)
        )
        return f"{state} Ask in other words, or for the nearest of the tags: {tags}."

    async def _describe(self, _: Context, *, name: str, output_schema: bool = False) -> ToolResult:
        """Return a tool as `tools/list` would, or with a sketch in place of its output schema.

        In code mode it returns the stubs of functions, unless the schemas are requested.
        """
        if self._code is not None and not output_schema:
            return ToolResult((Text(self._code.describe(name)),))
        try:
            tool = self._registry.find(name)
        except UnknownToolError:
            raise ToolError(self._describe_unknown(name)) from None
        listed = {"name": tool.name, **tool.contract["listing"]}
        if self._sketches and not output_schema and "outputSchema" in listed:
            listed["result"] = sketch_result(listed.pop("outputSchema"))
        return ToolResult((Text(encode_json(listed).decode()),))

    async def _call(
        self, ctx: Context, *, name: str, arguments: JsonObject | None = None
    ) -> ToolResult:
        """Call an unlisted tool, generated or hand-written."""
        if self._features is not None and self._features.has_tool(name):
            return await self._features.call_tool(name, arguments or {}, ctx)
        try:
            return await self._registry.call(name, arguments or {}, ctx, through=self._call_name)
        except UnknownToolError:
            raise ToolError(self._describe_unknown(name)) from None

    def _describe_unknown(self, name: str) -> str:
        close = self._index.close_to(name[:100])
        hint = f" Did you mean {' or '.join(f'`{it}`' for it in close)}?" if close else ""
        return f"Unknown tool `{name[:100]}`.{hint}"
