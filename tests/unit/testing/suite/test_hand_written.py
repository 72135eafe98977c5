"""Tests that the generated tests of a server without a document fail where they should."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from mcpgen.runtime.content import ToolResult
from mcpgen.runtime.errors import UnknownToolError
from mcpgen.runtime.handlers.context import Context
from mcpgen.runtime.handlers.dispatcher import Dispatcher
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.protocol.prepared_list import PreparedList
from mcpgen.runtime.protocol.server_definition import ServerDefinition
from mcpgen.testing.suite.hand_written import Served

GOOD = {"name": "count", "description": "Count.", "inputSchema": {"type": "object"}}


class NoTools:
    async def call(self, name: str, arguments: dict[str, Any], context: Context) -> ToolResult:
        raise UnknownToolError(name)

    async def aclose(self) -> None:
        pass


class FakePackage:
    def __init__(self, tools: list[dict[str, Any]]) -> None:
        listing = PreparedList("tools", [json.dumps(tool).encode() for tool in tools])
        self.definition = ServerDefinition({"name": "fake", "version": "1"}, tools=listing)

    def make_dispatcher(self, environ: Any, *, send: Any) -> Dispatcher:
        return Dispatcher(NoTools())


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Served]:
    def make(**change: Any) -> Served:
        package = FakePackage([{**GOOD, **change}])
        monkeypatch.setattr(ServerPackage, "load", lambda name: package)
        return Served("fake_mcp")

    return make


def test_a_correct_server_passes(serve: Callable[..., Served]) -> None:
    served = serve()
    for revision in served.revisions:
        served.check_lists(revision)
    served.check_tools()
    served.check_descriptions()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "count all"}, "`count all` is not a valid tool name"),
        ({"inputSchema": {}}, "inputSchema of `count`"),
        ({"inputSchema": {"type": "object", "properties": []}}, "is not a valid JSON Schema"),
        ({"outputSchema": {"type": "array"}}, "outputSchema of `count`"),
    ],
)
def test_a_tool_that_clients_drop_is_named(
    serve: Callable[..., Served], change: dict[str, Any], message: str
) -> None:
    with pytest.raises(AssertionError, match=message):
        serve(**change).check_tools()


def test_a_tool_without_a_description_is_reported(serve: Callable[..., Served]) -> None:
    with pytest.raises(AssertionError, match="`count` of tools/list"):
        serve(description="").check_descriptions()
