"""Tests of overrides: a search needs an area, which must not be too large."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.testing import Client, MockUpstream, Reply

UPSTREAM = Path(__file__).parent / "generated" / "upstream.json"
SETTINGS = {
    "REONOMY_ACCESS_KEY_USERNAME": "key",
    "REONOMY_ACCESS_KEY_PASSWORD": "secret of the mock's",
}


def call(upstream: MockUpstream, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Call a tool in memory, with `upstream` as its API."""

    async def run() -> dict[str, Any]:
        package = ServerPackage.load("reonomy_mcp")
        async with Client.in_memory(package, SETTINGS, send=upstream.send) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(run())


def api(answer: object = None) -> MockUpstream:
    """A mock of the API, that gives `answer` if there is one."""
    upstream = MockUpstream(json.loads(UPSTREAM.read_bytes()))
    if answer is not None:
        upstream.reply_with(Reply.from_json({"status": 200, "body": answer}))
    return upstream


def search(upstream: MockUpstream, **settings: object) -> dict[str, Any]:
    return call(upstream, "search_properties", {"body": {"settings": settings}})


def box(*, lat: float, lon: float) -> dict[str, Any]:
    """A box at San Francisco, so many degrees high and wide."""
    top_left = {"lat": 37.8, "lon": -122.5}
    return {"top_left": top_left, "bottom_right": {"lat": 37.8 - lat, "lon": -122.5 + lon}}


@pytest.mark.parametrize(
    "where",
    [
        {"locations": [{"kind": "zip5", "text": "94105"}]},
        {"bounding_box": box(lat=0.5, lon=0.9)},
    ],
    ids=["a place", "a box"],
)
def test_a_search_within_bounds_is_sent(where: dict[str, Any]) -> None:
    upstream = api()
    assert not search(upstream, **where).get("isError")
    assert len(upstream.requests) == 1


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"total_units": {"min": 10}}, "say where"),
        ({"locations": []}, "say where"),
        ({"bounding_box": box(lat=1.1, lon=0.1)}, "wider or higher"),
        ({"bounding_box": box(lat=0.1, lon=1.1)}, "wider or higher"),
        ({"bounding_box": box(lat=-1.1, lon=0.1)}, "wider or higher"),
    ],
    ids=["nowhere", "no places", "high", "wide", "upside down"],
)
def test_another_is_refused_and_nothing_is_sent(settings: dict[str, Any], reason: str) -> None:
    upstream = api()
    result = search(upstream, **settings)
    assert result["isError"] is True
    assert reason in result["content"][0]["text"]
    assert not upstream.requests
