"""Tests of overrides: files as text, conditional writes, paths with slashes, checked queries."""

import asyncio
import json
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import pytest
from mcpgen.runtime.package import ServerPackage
from mcpgen.testing import Client, MockUpstream
from mcpgen.testing.mock.replies import Reply

UPSTREAM = Path(__file__).parent / "generated" / "upstream.json"
SETTINGS = {"GITFORGE_ACCESS_TOKEN": "token-of-the-mock"}
SHA = "3b18e512dba79e4c8300dd08aeb37f8e728b8dad"
FILE = {"owner": "acme", "repo": "site", "path": "docs/how to/visit.md"}


def call(
    tool: str, arguments: dict[str, Any], reply: dict[str, Any] | None = None
) -> tuple[dict[str, Any], MockUpstream]:
    """Call a tool in memory, with a user who accepts; return the result, and the mock API."""
    upstream = MockUpstream(json.loads(UPSTREAM.read_bytes()))
    if reply is not None:
        upstream.reply_with(Reply.from_json(reply))

    async def run() -> dict[str, Any]:
        package = ServerPackage.load("gitforge_mcp")
        async with Client.in_memory(
            package,
            SETTINGS,
            send=upstream.send,
            answers={"elicitation/create": lambda asked: {"action": "accept", "content": {}}},
        ) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(run()), upstream


def file_of(content: bytes) -> dict[str, Any]:
    body = {"path": "a", "sha": SHA, "encoding": "base64", "content": b64encode(content).decode()}
    return {"status": 200, "body": body}


def test_a_file_of_text_is_returned_as_text() -> None:
    result, upstream = call("read_file", FILE, file_of("Öffnungszeiten\n".encode()))
    assert result["structuredContent"]["content"] == "Öffnungszeiten\n"
    assert result["structuredContent"]["encoding"] == "utf-8"
    assert upstream.requests[0].url.endswith("/contents/docs%2Fhow%20to%2Fvisit.md")


def test_bytes_stay_base64() -> None:
    result, _ = call("read_file", FILE, file_of(b"\xff\xd8\xff"))
    assert result["structuredContent"]["encoding"] == "base64"
    assert b64decode(result["structuredContent"]["content"]) == b"\xff\xd8\xff"


@pytest.mark.parametrize("known", [SHA, f'"{SHA}"'])
def test_a_known_file_is_not_sent_again(known: str) -> None:
    result, upstream = call("read_file", {**FILE, "known_sha": known}, {"status": 304, "text": ""})
    assert not result.get("isError")
    found = result["structuredContent"]
    assert (found["encoding"], found["sha"], found["content"]) == ("unchanged", SHA, "")
    headers = {name.lower(): value for name, value in upstream.requests[0].headers}
    assert headers["if-none-match"] == f'"{SHA}"'


@pytest.mark.parametrize("status", [404, 500])
def test_other_answers_stay_errors(status: int) -> None:
    reply = {"status": status, "body": {"message": "no"}}
    result, _ = call("read_file", {**FILE, "known_sha": SHA}, reply)
    assert result["isError"] is True


@pytest.mark.parametrize(
    ("content", "sent"),
    [
        ("Open from 9 to 17.\n", b"Open from 9 to 17.\n"),
        ("aGVsbG8=", b"aGVsbG8="),  # looks like base64, and is a text all the same
        ("data:image/gif;base64,R0lG", b"GIF"),
        ("data:,a%20b", b"a b"),
    ],
)
def test_a_file_is_sent_in_base64(content: str, sent: bytes) -> None:
    result, upstream = call("write_file", {**FILE, "message": "Change it", "content": content})
    assert not result.get("isError")
    assert b64decode(json.loads(upstream.requests[0].body)["content"]) == sent


@pytest.mark.parametrize("content", ["data:image/gif;base64", "data:image/gif;base64,R0l"])
def test_an_invalid_data_uri_is_refused(content: str) -> None:
    result, upstream = call("write_file", {**FILE, "message": "Change it", "content": content})
    assert result["isError"] is True
    assert "data: URI" in result["content"][0]["text"]
    assert not upstream.requests


@pytest.mark.parametrize(
    "query",
    ["opening hours repo:acme/site -is:closed", '"state: open" label:"good first"', "see http://a"],
)
def test_known_qualifiers_are_sent(query: str) -> None:
    result, upstream = call("search_issues", {"q": query})
    assert not result.get("isError")
    assert len(upstream.requests) == 1


@pytest.mark.parametrize(
    ("tool", "query", "named"),
    [("search_issues", "hours state:open", "state:"), ("search_code", "hours is:open", "is:")],
)
def test_an_unknown_qualifier_is_refused(tool: str, query: str, named: str) -> None:
    result, upstream = call(tool, {"q": query})
    assert result["isError"] is True
    assert f"unknown qualifier {named}" in result["content"][0]["text"]
    assert not upstream.requests


def test_a_diff_is_text() -> None:
    result, upstream = call("get_pull_diff", {"owner": "acme", "repo": "site", "number": 14})
    assert result["content"][0]["text"].startswith("--- a/docs/visit.md")
    headers = {name.lower(): value for name, value in upstream.requests[0].headers}
    assert headers["accept"] == "text/plain"
    assert headers["x-forge-version"] == "2028-01"


def test_a_proposed_change_is_a_branch_a_file_and_a_pull_request() -> None:
    arguments = {**FILE, "branch": "docs/hours", "content": "Open.\n", "title": "State the hours"}
    result, upstream = call("propose_change", arguments)
    assert not result.get("isError")
    branch, file, pull = (json.loads(request.body) for request in upstream.requests)
    assert branch == {"name": "docs/hours", "from": "main"}
    assert b64decode(file["content"]) == b"Open.\n"
    assert file["branch"] == pull["head"] == "docs/hours"
    assert pull["base"] == "main"
