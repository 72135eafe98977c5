"""Tests of overrides: intact parts of uploads, links that expire, and media types of form parts."""

import asyncio
import json
import re
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from mcpgen.runtime.package import ServerPackage
from mcpgen.testing import Client, MockUpstream

from filebox_mcp.handlers.uploads import LARGEST_PART

UPSTREAM = Path(__file__).parent / "generated" / "upstream.json"
SETTINGS = {"FILEBOX_ACCESS_TOKEN": "token-of-the-mock"}
PART = b"the first part"
DIGEST = f"sha-256=:{b64encode(sha256(PART).digest()).decode()}:"


def call(tool: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], MockUpstream]:
    """Call a tool in memory, with a user who accepts; return the result, and the mock API."""
    upstream = MockUpstream(json.loads(UPSTREAM.read_bytes()))

    async def run() -> dict[str, Any]:
        package = ServerPackage.load("filebox_mcp")
        async with Client.in_memory(
            package,
            SETTINGS,
            send=upstream.send,
            answers={"elicitation/create": lambda asked: {"action": "accept", "content": {}}},
        ) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(run()), upstream


def send_part(content: str, **more: Any) -> tuple[dict[str, Any], MockUpstream]:
    return call("upload_part", {"upload_id": "up_4411", "part_number": 1, "body": content, **more})


def header(upstream: MockUpstream, name: str) -> str | None:
    [request] = upstream.requests
    return next((value for key, value in request.headers if key.lower() == name), None)


def test_a_part_is_sent_with_its_digest() -> None:
    result, upstream = send_part(b64encode(PART).decode())
    assert not result.get("isError")
    assert upstream.requests[0].body == PART
    assert header(upstream, "content-digest") == DIGEST


def test_the_digest_of_the_caller_is_sent_as_it_is() -> None:
    other = f"sha-256=:{b64encode(bytes(32)).decode()}:"
    _, upstream = send_part(b64encode(PART).decode(), content_digest=other)
    assert header(upstream, "content-digest") == other


def test_a_file_by_its_uri_is_sent_without_a_digest() -> None:
    _, upstream = send_part("data:application/octet-stream;base64," + b64encode(PART).decode())
    assert upstream.requests[0].body == PART
    assert header(upstream, "content-digest") is None


@pytest.mark.parametrize(("length", "requests"), [(LARGEST_PART, 1), (LARGEST_PART + 1, 0)])
def test_a_part_has_8_mib_at_most(length: int, requests: int) -> None:
    result, upstream = send_part(b64encode(bytes(length)).decode())
    assert len(upstream.requests) == requests
    assert bool(result.get("isError")) == (not requests)


def link(**arguments: Any) -> tuple[dict[str, Any], MockUpstream]:
    return call("create_link", {"file_id": "fi_90ab3", "permission": "view", **arguments})


def test_a_link_ends_after_two_weeks() -> None:
    before = datetime.now(UTC)
    _, upstream = link()
    [request] = upstream.requests
    ends = datetime.fromisoformat(json.loads(request.body)["expires_at"])
    assert timedelta(days=13) < ends - before < timedelta(days=15)


def test_a_link_ends_when_it_should() -> None:
    _, upstream = link(expires_at="2999-01-01T00:00:00Z")
    [request] = upstream.requests
    assert json.loads(request.body)["expires_at"] == "2999-01-01T00:00:00Z"


def test_a_time_that_has_passed_is_refused() -> None:
    result, upstream = link(expires_at="2001-01-01T00:00:00Z")
    assert result["isError"] is True
    assert "has passed" in result["content"][0]["text"]
    assert not upstream.requests


def test_each_part_of_an_upload_has_its_media_type() -> None:
    attributes = {"name": "Offer.pdf", "folder_id": "root"}
    content = b64encode(PART).decode()
    preview = f"data:image/jpeg;base64,{content}"
    result, upstream = call(
        "upload_file", {"attributes": attributes, "content": content, "preview": preview}
    )
    assert not result.get("isError")
    parts = upstream.requests[0].body.split(b"\r\n--")
    types = {name: kind for part in parts for name, kind in [part_type(part)] if name}
    assert types == {
        b"attributes": b"application/json",
        b"content": b"application/octet-stream",
        b"preview": b"image/jpeg",
    }


def part_type(part: bytes) -> tuple[bytes, bytes]:
    """Return the name and the media type of a part, both empty after the last one."""
    name = re.search(rb'name="(.+?)"', part)
    kind = re.search(rb"Content-Type: (.+?)\r\n", part)
    return (name[1], kind[1]) if name and kind else (b"", b"")
