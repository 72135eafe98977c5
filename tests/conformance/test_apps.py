"""Tests that examples with views pass MCPJam's checks of MCP Apps and the extension's schema."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from mcpgen.jsonschema.validation import SchemaValidator
from mcpgen.testing import LEGACY, MODERN, Client
from mcpgen.testing.client.connections import HttpConnection
from tests.support.oidc_provider import run_mcpjam_apps
from tests.support.paths import CACHE, EXAMPLES
from tests.support.running_server import installed, running
from tests.support.views import CAPABILITIES

EXT_APPS = CACHE / "node" / "node_modules" / "@modelcontextprotocol" / "ext-apps"
WITH_VIEWS = sorted(path.parents[3].name for path in EXAMPLES.glob("*/src/*/_generated/views.json"))
CHECKS = {
    "ui-tools-present",
    "ui-tool-metadata-valid",
    "ui-tool-input-schema-valid",
    "ui-listed-resources-valid",
    "ui-resources-readable",
    "ui-resource-contents-valid",
    "ui-resource-meta-valid",
}


def test_at_least_three_examples_have_views() -> None:
    kinds = {
        view["kind"]
        for path in EXAMPLES.glob("*/src/*/_generated/views.json")
        for view in json.loads(path.read_bytes()).values()
    }
    assert len(WITH_VIEWS) >= 3
    assert kinds == {"table", "record", "chart", "form", "gallery"}


@pytest.mark.parametrize("example", WITH_VIEWS)
def test_mcpjams_checks_of_apps_pass(example: str) -> None:
    async def story() -> tuple[dict[str, Any], set[str]]:
        async with running(EXAMPLES / example) as server:
            async with Client(HttpConnection(server.url), MODERN) as client:
                listed = {tool["name"] for tool in await client.list_tools()}
            return await run_mcpjam_apps(server.url), listed

    result, listed = asyncio.run(story())
    outcomes = {check["id"]: check["status"] for check in result["checks"]}
    assert outcomes == dict.fromkeys(CHECKS, "passed")
    assert [check["warnings"] for check in result["checks"] if check.get("warnings")] == []
    path = next(EXAMPLES.glob(f"{example}/src/*/_generated/views.json"))
    views = json.loads(path.read_bytes()).keys() & listed  # others are found by search
    assert result["discovery"]["uiToolCount"] == len(views)
    assert result["discovery"]["checkedUiResourceCount"] == result["discovery"]["uiToolCount"]


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
@pytest.mark.parametrize("example", WITH_VIEWS)
def test_what_a_server_says_of_views_is_valid_in_the_schema_of_the_extension(
    example: str, revision: str
) -> None:
    path = installed(EXT_APPS, "peers") / "dist" / "src" / "generated" / "schema.json"
    schema = json.loads(path.read_bytes())
    of_tool = SchemaValidator({**schema, "$ref": "#/$defs/McpUiToolMeta"})
    of_resource = SchemaValidator({**schema, "$ref": "#/$defs/McpUiResourceMeta"})
    of_client = SchemaValidator({**schema, "$ref": "#/$defs/McpUiClientCapabilities"})
    assert of_client.problems(next(iter(CAPABILITIES["extensions"].values()))) == ()

    async def story() -> None:
        async with running(EXAMPLES / example) as server:
            connection = HttpConnection(server.url)
            async with Client(connection, revision, capabilities=CAPABILITIES) as client:
                tools = await client.list_tools()
                shown = [tool["_meta"]["ui"] for tool in tools if "ui" in tool.get("_meta", {})]
                assert shown
                listed = await client.list_all("resources/list", "resources")
                by_uri = {item["uri"]: item for item in listed}
                for meta in shown:
                    assert of_tool.problems(meta) == ()
                    uri = meta["resourceUri"]
                    read = await client.request("resources/read", {"uri": uri})
                    for holder in (by_uri[uri], read["contents"][0]):
                        assert of_resource.problems(holder["_meta"]["ui"]) == ()

    asyncio.run(story())
