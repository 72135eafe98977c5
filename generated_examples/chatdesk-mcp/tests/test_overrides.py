"""Tests of overrides: results about conversations contain no e-mail address."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.testing import Client, MockUpstream, Reply

UPSTREAM = Path(__file__).parent / "generated" / "upstream.json"
SETTINGS = {"CHATDESK_API_KEY": "key-of-the-mock"}


def call(upstream: MockUpstream, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Call a tool in memory, with `upstream` as its API."""

    async def run() -> dict[str, Any]:
        package = ServerPackage.load("chatdesk_mcp")
        async with Client.in_memory(package, SETTINGS, send=upstream.send) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(run())


def api(answer: object = None) -> MockUpstream:
    """A mock of the API, that gives `answer` if there is one."""
    upstream = MockUpstream(json.loads(UPSTREAM.read_bytes()))
    if answer is not None:
        upstream.reply_with(Reply.from_json({"status": 200, "body": answer}))
    return upstream


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("Mara: mara.k+shop@mail.shop.example, please", "Mara: [e-mail], please"),
        ("to a@b.example and c@d.example.", "to [e-mail] and [e-mail]."),
        ("at 7 @ the shop", "at 7 @ the shop"),
    ],
)
def test_addresses_are_taken_out_of_a_transcript(said: str, read: str) -> None:
    upstream = MockUpstream(json.loads(UPSTREAM.read_bytes()))
    upstream.reply_with(Reply.from_json({"status": 200, "media_type": "text/plain", "body": said}))
    result = call(upstream, "get_transcript", {"conversation_id": "cv_9fK2mQ4z"})
    assert result["content"][0]["text"] == read
