"""Tests of overrides: long periods are fetched in parts, without gaps and duplicates."""

import asyncio
import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.testing import Client, MockUpstream, Reply

UPSTREAM = Path(__file__).parent / "generated" / "upstream.json"
SETTINGS = {"WEATHER_ISOBAR_KEY": "key-of-the-mock"}


@pytest.fixture
def upstream() -> MockUpstream:
    """A mock of the APIs; each response has one day."""
    upstream = MockUpstream(json.loads(UPSTREAM.read_bytes()))
    upstream.reply_with(Reply.from_json({"status": 200, "body": {"days": [{"day": "2026-01-01"}]}}))
    return upstream


def fetch(upstream: MockUpstream, first: str, last: str) -> dict[str, Any]:
    """Call the tool in memory, with `upstream` as its APIs."""
    arguments = {"station": "st-10934", "from": first, "until": last}

    async def run() -> dict[str, Any]:
        package = ServerPackage.load("weather_mcp")
        async with Client.in_memory(package, SETTINGS, send=upstream.send) as client:
            return await client.call_tool("get_past_days", arguments)

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("first", "last", "spans"),
    [
        ("2026-03-01", "2026-03-01", [("2026-03-01", "2026-03-01")]),
        ("2026-01-01", "2026-04-02", [("2026-01-01", "2026-04-02")]),
        (
            "2026-01-01",
            "2026-04-03",
            [("2026-01-01", "2026-04-02"), ("2026-04-03", "2026-04-03")],
        ),
    ],
    ids=["a day", "92 days", "93 days"],
)
def test_each_request_asks_for_at_most_92_days(
    upstream: MockUpstream, first: str, last: str, spans: list[tuple[str, str]]
) -> None:
    result = fetch(upstream, first, last)
    assert len(result["structuredContent"]["days"]) == len(spans)
    asked = [parse_qs(urlsplit(request.url).query) for request in upstream.requests]
    assert [(query["from"][0], query["to"][0]) for query in asked] == spans


@pytest.mark.parametrize(
    ("first", "last", "message"),
    [
        ("2026-03-02", "2026-03-01", "`until` must not be before `from`"),
        ("2025-01-01", "2026-01-02", "at most 366 days"),
    ],
)
def test_other_spans_are_rejected(
    upstream: MockUpstream, first: str, last: str, message: str
) -> None:
    result = fetch(upstream, first, last)
    assert result["isError"] is True
    assert message in result["content"][0]["text"]
    assert not upstream.requests
