"""Tests of overrides: hidden secrets of endpoints, and endpoints that the hub can reach."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.testing import Client, MockUpstream, Reply

UPSTREAM = Path(__file__).parent / "generated" / "upstream.json"
SETTINGS = {"EVENTHUB_API_KEY": "key-of-the-mock"}
DELIVERY = {
    "id": "dl_3x8b2v7c1m",
    "event_id": "ev_9f2m4qtz",
    "endpoint_id": "ep_k3v9x2",
    "outcome": "failed",
    "attempted_at": "2026-11-24T09:00:00Z",
}


@pytest.fixture
def upstream() -> MockUpstream:
    return MockUpstream(json.loads(UPSTREAM.read_bytes()))


def call(upstream: MockUpstream, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Call a tool in memory, with `upstream` as the API."""

    async def run() -> dict[str, Any]:
        package = ServerPackage.load("eventhub_mcp")
        async with Client.in_memory(package, SETTINGS, send=upstream.send) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(run())


def fetch(upstream: MockUpstream, delivery: dict[str, Any]) -> dict[str, Any]:
    upstream.reply_with(Reply.from_json({"status": 200, "body": delivery}))
    result = call(upstream, "get_delivery", {"delivery_id": DELIVERY["id"]})
    return dict(result["structuredContent"])


def test_headers_with_secrets_are_masked(upstream: MockUpstream) -> None:
    headers = {
        "Content-Type": "text/html",
        "Set-Cookie": "session=a1b2c3",
        "X-Shop-Token": "d4e5f6",
        "WWW-Authenticate": "Bearer realm=shop",
    }
    found = fetch(upstream, {**DELIVERY, "response_headers": headers})
    assert found["response_headers"] == {
        "Content-Type": "text/html",
        "Set-Cookie": "(masked)",
        "X-Shop-Token": "(masked)",
        "WWW-Authenticate": "(masked)",
    }


def test_a_delivery_without_an_answer_stays_as_it_is(upstream: MockUpstream) -> None:
    assert fetch(upstream, DELIVERY) == DELIVERY


@pytest.mark.parametrize("url", ["https://shop.example/hooks", "https://93.184.215.14:8443/"])
def test_a_public_address_becomes_an_endpoint(upstream: MockUpstream, url: str) -> None:
    result = call(upstream, "create_endpoint", {"url": url, "types": ["order.paid"]})
    assert not result.get("isError"), result
    [request] = upstream.requests
    assert json.loads(request.body) == {"url": url, "types": ["order.paid"]}


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://shop.example/hooks", "must begin with `https://`"),
        ("https://localhost:3000/hooks", "on this machine or in this network only"),
        ("https://build.internal/hooks", "on this machine or in this network only"),
        ("https://10.0.0.7/hooks", "a private address"),
        ("https://[::1]/hooks", "a private address"),
        ("https://shop/hooks", "no domain"),
    ],
)
def test_other_addresses_are_rejected(upstream: MockUpstream, url: str, reason: str) -> None:
    result = call(upstream, "create_endpoint", {"url": url, "types": ["order.paid"]})
    assert result["isError"] is True
    assert reason in result["content"][0]["text"]
    assert not upstream.requests
