"""Tests of an alias, from the manifest to a client that still calls the old name."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

from mcpgen.factory.packages import find_package
from mcpgen.pipeline.options import Report
from mcpgen.testing import MockUpstream
from mcpgen.testing.client.client import Client


def test_an_alias_can_be_called_and_is_not_listed(
    project: Path, regenerate: Callable[..., Report]
) -> None:
    document = project / "openapi.yaml"
    document.write_text(
        document.read_text().replace("operationId: getPet", "operationId: fetchPet")
    )
    with (project / "mcpgen.yaml").open("a") as manifest:
        manifest.write(
            'operations:\n  "GET /pets/{petId}": {name: fetch_pet, aliases: [get_pet]}\n'
        )
    assert regenerate().outcome == "done"
    locked = json.loads((project / "mcpgen.lock").read_bytes())["operations"]
    assert locked["openapi.yaml GET /pets/{petId}"]["tool"] == "fetch_pet"

    async def serve() -> None:
        package = find_package(project)
        upstream = MockUpstream(package.upstream())
        environment = package.environment(package.mock_environment(await upstream.start()))
        try:
            async with await Client.over_stdio(package.command, environment) as client:
                assert [tool["name"] for tool in await client.list_tools()] == [
                    "fetch_pet",
                    "list_orders",
                ]
                by_old = await client.call_tool("get_pet", {"pet_id": 7})
                by_new = await client.call_tool("fetch_pet", {"pet_id": 7})
                assert by_old["structuredContent"] == by_new["structuredContent"]
                assert not by_old.get("isError")
        finally:
            await upstream.stop()

    asyncio.run(serve())
