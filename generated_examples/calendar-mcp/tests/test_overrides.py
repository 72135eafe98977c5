"""Tests of overrides: an event is created at the intended time, or not at all."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.testing import Client, MockUpstream

UPSTREAM = Path(__file__).parent / "generated" / "upstream.json"
SETTINGS = {"CALENDAR_TOKEN": "token-of-the-mock"}
# A setting in place of the account that a user connects.
TOKEN = {"name": "CALENDAR_TOKEN", "scheme": "account", "part": "access_token", "secret": True}


def create(upstream: MockUpstream, start: dict[str, str], end: dict[str, str]) -> dict[str, Any]:
    """Create an event in memory, with `upstream` as the API."""
    arguments = {"calendar_id": "cal_7r2k9wq1", "title": "Tea", "start": start, "end": end}

    async def run() -> dict[str, Any]:
        package = ServerPackage.load("calendar_mcp")
        del package.contract["credentials"]
        package.contract["environment"].append(TOKEN)
        async with Client.in_memory(package, SETTINGS, send=upstream.send) as client:
            return await client.call_tool("create_event", arguments)

    return asyncio.run(run())


@pytest.fixture
def upstream() -> MockUpstream:
    return MockUpstream(json.loads(UPSTREAM.read_bytes()))


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ({"date_time": "2026-03-03T10:00:00+01:00"}, {"date_time": "2026-03-03T09:30:00Z"}),
        ({"date": "2026-03-03"}, {"date": "2026-03-04"}),
    ],
    ids=["times", "dates"],
)
def test_an_event_that_ends_after_its_start_is_created(
    upstream: MockUpstream, start: dict[str, str], end: dict[str, str]
) -> None:
    result = create(upstream, start, end)
    assert not result.get("isError"), result
    [request] = upstream.requests
    assert json.loads(request.body) == {"title": "Tea", "start": start, "end": end}


@pytest.mark.parametrize(
    ("start", "end", "message"),
    [
        (
            {"date_time": "2026-03-03T10:00:00+01:00"},
            {"date_time": "2026-03-03T09:00:00Z"},
            "`end` must be after `start`",
        ),
        ({"date": "2026-03-03"}, {"date": "2026-03-03"}, "`end` must be after `start`"),
        ({"date": "2026-03-03"}, {"date_time": "2026-03-03T10:00:00Z"}, "must both be"),
        (
            {"date_time": "2026-03-03T23:59:60Z"},
            {"date_time": "2026-03-04T10:00:00Z"},
            "`start` is neither a time nor a date",
        ),
    ],
    ids=["an end before the start", "an empty day", "a date and a time", "a leap second"],
)
def test_other_times_are_rejected_and_nothing_is_sent(
    upstream: MockUpstream, start: dict[str, str], end: dict[str, str], message: str
) -> None:
    result = create(upstream, start, end)
    assert result["isError"] is True
    assert message in result["content"][0]["text"]
    assert not upstream.requests
