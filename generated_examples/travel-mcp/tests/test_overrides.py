"""Tests of overrides: held seats cost no more than the agreed price."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.testing import Client, MockUpstream, Reply

UPSTREAM = Path(__file__).parent / "generated" / "upstream.json"
SETTINGS = {"TRAVEL_ACCOUNT_KEY": "key-of-the-mock"}
HOLD = {
    "id": "hld-77c0e1b4",
    "expires_at": "2026-12-01T10:15:00Z",
    "price": 3425,
    "currency": "EUR",
}


@pytest.fixture
def upstream() -> MockUpstream:
    """A mock of the API, with a hold of a known price."""
    upstream = MockUpstream(json.loads(UPSTREAM.read_bytes()))
    upstream.reply_with(Reply.from_json({"status": 200, "body": HOLD}), "GET /holds/{hold_id}")
    return upstream


def book(upstream: MockUpstream, max_price: int, tool: str = "book_held_seats") -> dict[str, Any]:
    """Book in memory, with `upstream` as the API; the user agrees to everything."""
    arguments: dict[str, Any] = {"hold_id": HOLD["id"]}
    if tool == "book_trip":
        arguments = {"connection_id": "con-5d1f20aa", "passenger": "Ana Prates"}
    key = "5f0c1f7e-6f43-4d6c-9e53-2c4f7d0f3a11"

    async def run() -> dict[str, Any]:
        package = ServerPackage.load("travel_mcp")
        answers = {"elicitation/create": lambda _: {"action": "accept", "content": {}}}
        async with Client.in_memory(
            package, SETTINGS, send=upstream.send, answers=answers
        ) as client:
            given = {**arguments, "max_price": max_price, "idempotency_key": key}
            return await client.call_tool(tool, given)

    return asyncio.run(run())


@pytest.mark.parametrize("max_price", [3425, 9000])
def test_seats_that_cost_no_more_are_booked(upstream: MockUpstream, max_price: int) -> None:
    result = book(upstream, max_price)
    assert not result.get("isError"), result
    assert [request.method for request in upstream.requests] == ["GET", "POST"]
    sent = json.loads(upstream.requests[-1].body)
    assert sent == {"hold_id": HOLD["id"], "max_price": max_price}


@pytest.mark.parametrize("tool", ["book_held_seats", "book_trip"])
def test_seats_that_cost_more_are_not_booked(upstream: MockUpstream, tool: str) -> None:
    result = book(upstream, 3424, tool)
    assert result["isError"] is True
    assert "the seats cost 3425 EUR" in result["content"][0]["text"]
    assert not [it for it in upstream.requests if it.url.endswith("/bookings")]
