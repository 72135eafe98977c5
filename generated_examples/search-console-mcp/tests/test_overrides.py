"""Tests of overrides: queries that cannot have rows are rejected before a request is sent."""

import asyncio
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from mcpgen.runtime import ToolError
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.testing import Client, MockUpstream, Reply

from search_console_mcp.handlers.performance import check_days

UPSTREAM = Path(__file__).parent / "generated" / "upstream.json"
SETTINGS = {"SEARCH_CONSOLE_GOOGLE_ACCESS_TOKEN": "token-of-the-mock"}


def call(upstream: MockUpstream, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Call a tool in memory, with `upstream` as its API."""

    async def run() -> dict[str, Any]:
        package = ServerPackage.load("search_console_mcp")
        async with Client.in_memory(package, SETTINGS, send=upstream.send) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(run())


def api(answer: object = None) -> MockUpstream:
    """A mock of the API, that gives `answer` if there is one."""
    upstream = MockUpstream(json.loads(UPSTREAM.read_bytes()))
    if answer is not None:
        upstream.reply_with(Reply.from_json({"status": 200, "body": answer}))
    return upstream


def query(upstream: MockUpstream, first: str, last: str) -> dict[str, Any]:
    body = {"startDate": first, "endDate": last}
    return call(
        upstream, "query_search_performance", {"site": "sc-domain:shop.example", "body": body}
    )


def test_days_that_have_been_are_asked_for() -> None:
    upstream = api()
    assert not query(upstream, "2024-02-01", "2024-02-29").get("isError")
    assert len(upstream.requests) == 1


@pytest.mark.parametrize(
    ("first", "last", "reason"),
    [
        ("9000-01-01", "9000-01-31", "still to come"),
        ("2024-02-29", "2024-02-01", "exchange the two"),
    ],
)
def test_other_days_are_refused_and_nothing_is_sent(first: str, last: str, reason: str) -> None:
    upstream = api()
    result = query(upstream, first, last)
    assert result["isError"] is True
    assert reason in result["content"][0]["text"]
    assert not upstream.requests


def test_today_is_not_still_to_come() -> None:
    check_days("2024-02-29", "2024-03-31", today=date(2024, 2, 29))
    with pytest.raises(ToolError, match="today is 2024-02-28"):
        check_days("2024-02-29", "2024-03-31", today=date(2024, 2, 28))
