"""Tests of overrides: a message goes to the intended number, or to none."""

import asyncio
import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.testing import Client, MockUpstream, Reply

UPSTREAM = Path(__file__).parent / "generated" / "upstream.json"
SETTINGS = {
    "TWILIO_ACCOUNT_LOGIN_USERNAME": "AC-of-the-mock",
    "TWILIO_ACCOUNT_LOGIN_PASSWORD": "its word",
    "TWILIO_ACCOUNT_SID": "AC00000000000000000000000000000001",
}


def call(upstream: MockUpstream, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Call a tool in memory, with `upstream` as its API."""

    async def run() -> dict[str, Any]:
        package = ServerPackage.load("twilio_mcp")
        async with Client.in_memory(package, SETTINGS, send=upstream.send) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(run())


def api(answer: object = None) -> MockUpstream:
    """A mock of the API, that gives `answer` if there is one."""
    upstream = MockUpstream(json.loads(UPSTREAM.read_bytes()))
    if answer is not None:
        upstream.reply_with(Reply.from_json({"status": 200, "body": answer}))
    return upstream


def send(upstream: MockUpstream, sender: str, receiver: str) -> dict[str, Any]:
    message = {"body": "Your table is ready.", "from": sender, "to": receiver}
    return call(upstream, "send_message", message)


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("+1 (415) 555-0100", "+14155550100"),
        ("0044 20 7946 0958", "+442079460958"),
        ("whatsapp:+49 30 5550.0100", "whatsapp:+493055500100"),
        ("72 345", "72345"),
    ],
)
def test_a_number_is_sent_in_e164(written: str, sent: str) -> None:
    upstream = api()
    assert not send(upstream, written, written).get("isError")
    [request] = upstream.requests
    form = parse_qs(request.body.decode())
    assert (form["To"], form["From"]) == ([sent], [sent])


def test_a_number_without_a_country_is_told_to_the_model_and_nothing_is_sent() -> None:
    upstream = api()
    result = send(upstream, "+14155550199", "(415) 555-0100")
    assert result["isError"] is True
    assert "lacks its country" in result["content"][0]["text"]
    assert not upstream.requests
