"""Tests of overrides: light curves with one point for each night, and coordinates in degrees."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.testing import Client, MockUpstream, Reply

UPSTREAM = Path(__file__).parent / "generated" / "upstream.json"


def call(tool: str, arguments: dict[str, Any], answer: object = None) -> dict[str, Any]:
    """Call a tool in memory; `answer` is what the API returns, if it is asked."""
    upstream = MockUpstream(json.loads(UPSTREAM.read_bytes()))
    if answer is not None:
        upstream.reply_with(Reply.from_json({"status": 200, "body": answer}))

    async def run() -> dict[str, Any]:
        package = ServerPackage.load("telescope_mcp")
        async with Client.in_memory(package, {}, send=upstream.send) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(run())


def test_measurements_of_a_night_become_one_point() -> None:
    points = [
        {"at": "2026-11-20T21:00:00Z", "magnitude": 12.0, "error": 0.03},
        {"at": "2026-11-21T03:00:00Z", "magnitude": 12.2, "error": 0.04},
        {"at": "2026-11-21T21:00:00Z", "magnitude": 12.5},
    ]
    arguments = {"object_id": "obj-004821", "filter": "r"}
    result = call("get_light_curve", arguments, {"points": points})
    assert result["structuredContent"] == {
        "points": [
            {"at": "2026-11-20T21:00:00Z", "magnitude": 12.1, "error": 0.025},
            {"at": "2026-11-21T21:00:00Z", "magnitude": 12.5},
        ]
    }


def test_an_object_without_measurements_has_no_points() -> None:
    arguments = {"object_id": "obj-004821", "filter": "g"}
    result = call("get_light_curve", arguments, {"points": []})
    assert result["structuredContent"] == {"points": []}


@pytest.mark.parametrize(
    ("ra", "dec", "degrees"),
    [
        ("05h34m31.9s", "+22d00m52s", {"ra": 83.63292, "dec": 22.01444}),
        ("5 34 31.9", "-0:30:00", {"ra": 83.63292, "dec": -0.5}),
    ],
)
def test_printed_coordinates_become_degrees(ra: str, dec: str, degrees: dict[str, float]) -> None:
    assert call("to_degrees", {"ra": ra, "dec": dec})["structuredContent"] == degrees


@pytest.mark.parametrize(
    ("ra", "dec", "message"),
    [
        ("83.63", "+22:00:52", "`ra` must be three numbers"),
        ("05:34:31", "91:00:00", "`dec` is out of range"),
        ("05:61:31", "22:00:00", "`ra` is out of range"),
    ],
)
def test_other_coordinates_are_rejected(ra: str, dec: str, message: str) -> None:
    result = call("to_degrees", {"ra": ra, "dec": dec})
    assert result["isError"] is True
    assert message in result["content"][0]["text"]
