"""Tests of overrides: numbers with a wrong check digit are rejected before a request is sent."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.testing import Client, MockUpstream

UPSTREAM = Path(__file__).parent / "generated" / "upstream.json"
SETTINGS = {
    "HARBOR_BERTHS_AGENT_ACCESS_TOKEN": "token-of-the-mock",
    "HARBOR_CUSTOMS_DECLARANT_USERNAME": "declarant",
    "HARBOR_CUSTOMS_DECLARANT_PASSWORD": "word-of-the-mock",
}


@pytest.fixture
def upstream() -> MockUpstream:
    return MockUpstream(json.loads(UPSTREAM.read_bytes()))


def call(upstream: MockUpstream, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Call a tool in memory, with `upstream` as the API; the user agrees to everything."""

    async def run() -> dict[str, Any]:
        package = ServerPackage.load("harbor_mcp")
        answers = {"elicitation/create": lambda _: {"action": "accept", "content": {}}}
        async with Client.in_memory(
            package, SETTINGS, send=upstream.send, answers=answers
        ) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(run())


def draft(upstream: MockUpstream, *containers: str) -> dict[str, Any]:
    items = [
        {"code": "09012100", "container": it, "value": 18400, "currency": "EUR"}
        for it in containers
    ]
    return call(upstream, "customs_draft_declaration", {"direction": "import", "items": items})


def announce(upstream: MockUpstream, imo: str, leaves_at: str) -> dict[str, Any]:
    arguments = {"imo": imo, "arrives_at": "2026-12-03T06:00:00Z", "leaves_at": leaves_at}
    return call(upstream, "announce_call", arguments)


@pytest.mark.parametrize("container", ["CSQU3054383", "ZEPU0037255", "TGHU1234090"])
def test_a_container_with_its_check_digit_is_declared(
    upstream: MockUpstream, container: str
) -> None:
    assert not draft(upstream, container).get("isError")
    [request] = upstream.requests
    assert json.loads(request.body)["items"][0]["container"] == container


def test_wrong_containers_are_named_and_nothing_is_sent(upstream: MockUpstream) -> None:
    result = draft(upstream, "CSQU3054383", "CSQU3054338", "CSQU3054380")
    assert result["isError"] is True
    text = result["content"][0]["text"]
    assert "the check digit is wrong in CSQU3054338, CSQU3054380" in text
    assert not upstream.requests


def test_a_call_of_a_vessel_is_announced(upstream: MockUpstream) -> None:
    assert not announce(upstream, "9074729", "2026-12-04T18:00:00Z").get("isError")
    assert len(upstream.requests) == 1


@pytest.mark.parametrize(
    ("imo", "leaves_at", "message"),
    [
        ("9074792", "2026-12-04T18:00:00Z", "9074792 is no IMO number"),
        ("9074729", "2026-12-03T06:00:00Z", "`leaves_at` must be after"),
    ],
)
def test_a_call_that_cannot_be_is_rejected(
    upstream: MockUpstream, imo: str, leaves_at: str, message: str
) -> None:
    result = announce(upstream, imo, leaves_at)
    assert result["isError"] is True
    assert message in result["content"][0]["text"]
    assert not upstream.requests
