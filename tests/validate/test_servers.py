"""Tests that the correct base servers send only what the schemas of each revision allow."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mcpgen.testing.client.client import Client
from tests.support.mcp_schemas import check_frame
from tests.support.paths import REPOSITORY
from tests.validate.servers.core import LEGACY, MODERN
from tests.validate.servers.features import Server
from tests.validate.servers.http import HttpServer, listen

RUN = REPOSITORY / "tests/validate/servers/run.py"
COMMAND = [sys.executable, "-I", "-S", str(RUN)]
MEDIA = {
    "2024-11-05": {"text", "image", "resource"},
    "2025-03-26": {"text", "image", "resource", "audio"},
}


@asynccontextmanager
async def connect(transport: str, revision: str) -> AsyncIterator[Client]:
    if transport == "stdio":
        command = [*COMMAND, Server.__module__, Server.__qualname__]
        client = await Client.over_stdio(command, revision=revision)
        async with client:
            yield client
    else:
        headers = {"Mcp-Param-Region": "x"}  # which the client does not derive from the tool
        async with (
            listen(HttpServer()) as url,
            Client.over_http(url, revision=revision, headers=headers) as client,
        ):
            yield client


async def request(client: Client, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Send a request and check the result against the schema."""
    result = await client.request(method, params)
    check_frame(client.revision, {"jsonrpc": "2.0", "id": 1, "result": result}, method)
    return result


async def tour(client: Client) -> Mapping[str, Any]:
    """Call every method of the server and return what is compared."""
    tools = await client.list_tools()
    calls = {"add": {"a": 2, "b": 3}, "count": {}, "find_city": {"region": "x"}, "show_media": {}}
    results = {
        name: await request(client, "tools/call", {"name": name, "arguments": arguments})
        for name, arguments in calls.items()
    }
    await request(client, "tools/list", {})
    await request(client, "resources/list", {})
    await request(client, "resources/templates/list", {})
    for uri in ("memo://hello", "memo://pixel", "memo://numbers/2"):
        await request(client, "resources/read", {"uri": uri})
    await request(client, "prompts/list", {})
    await request(client, "prompts/get", {"name": "greet", "arguments": {"name": "Ada"}})
    await request(client, "prompts/get", {"name": "media"})
    reference = {"type": "ref/prompt", "name": "greet"}
    argument = {"name": "name", "value": "a"}
    completion = await request(
        client, "completion/complete", {"ref": reference, "argument": argument}
    )
    return {"tools": tools, "results": results, "completion": completion}


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("revision", [*LEGACY, MODERN])
def test_the_base_server_sends_what_the_schema_of_the_revision_allows(
    revision: str, transport: str
) -> None:
    async def visit() -> tuple[Mapping[str, Any], list[Any]]:
        async with connect(transport, revision) as client:
            return await tour(client), client.received

    found, received = asyncio.run(visit())

    assert found["results"]["add"]["content"] == [{"type": "text", "text": '{"sum": 5}'}]
    assert ("structuredContent" in found["results"]["add"]) == (revision >= "2025-06-18")
    assert len(found["tools"]) == 5
    assert found["completion"]["completion"]["values"] == ["Ada", "Alan"]
    kinds = {block["type"] for block in found["results"]["show_media"]["content"]}
    assert kinds == MEDIA.get(revision, MEDIA["2025-03-26"] | {"resource_link"})
    for frame in received:
        if "method" in frame:
            check_frame(revision, frame)
        else:
            assert "result" in frame, frame
