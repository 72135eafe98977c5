"""Tests of overrides: accounts have the id that the other tools take."""

import asyncio
import json
from pathlib import Path
from typing import Any

from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.testing import Client, MockUpstream, Reply

UPSTREAM = Path(__file__).parent / "generated" / "upstream.json"
SETTINGS = {"META_ADS_TOKEN": "token-of-the-mock"}


def call(upstream: MockUpstream, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Call a tool in memory, with `upstream` as its API."""

    async def run() -> dict[str, Any]:
        package = ServerPackage.load("meta_ads_mcp")
        async with Client.in_memory(package, SETTINGS, send=upstream.send) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(run())


def api(answer: object = None) -> MockUpstream:
    """A mock of the API, that gives `answer` if there is one."""
    upstream = MockUpstream(json.loads(UPSTREAM.read_bytes()))
    if answer is not None:
        upstream.reply_with(Reply.from_json({"status": 200, "body": answer}))
    return upstream


def test_listed_accounts_have_their_number_as_id() -> None:
    upstream = api({"data": [{"id": "act_1234567890", "name": "Shop"}, {"id": "77777"}]})
    result = call(upstream, "list_ad_accounts", {})
    assert result["structuredContent"]["data"] == [
        {"id": "1234567890", "name": "Shop"},
        {"id": "77777"},
    ]


def test_the_id_of_a_fetched_account_fetches_it_again() -> None:
    upstream = api({"id": "act_1234567890"})
    fetched = call(upstream, "get_ad_account", {"ad_account_id": "1234567890"})["structuredContent"]
    again = call(upstream, "get_ad_account", {"ad_account_id": fetched["id"]})
    assert not again.get("isError")
    assert str(upstream.requests[0]) == str(upstream.requests[1])
