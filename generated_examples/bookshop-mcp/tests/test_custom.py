"""Tests of your own. mcpgen created this file and never changes it."""

import asyncio
import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.testing import Client, MockUpstream
from mcpgen.runtime.testing.replies import Reply

from bookshop_mcp import __version__
from bookshop_mcp.handlers.books import LONGEST_DESCRIPTION

UPSTREAM = Path(__file__).parent / "generated" / "upstream.json"
SETTINGS = {"BOOKSHOP_SHOP_KEY": "a key of the mock's"}


def call(tool: str, reply: object = None, **arguments: Any) -> dict[str, Any]:
    """Call a tool in memory; `reply` is what the API answers, if it is asked."""
    upstream = MockUpstream(json.loads(UPSTREAM.read_bytes()))
    if reply is not None:
        upstream.reply_with(Reply.from_json({"status": 200, "body": reply}))

    async def run() -> dict[str, Any]:
        package = ServerPackage.load("bookshop_mcp")
        async with Client.in_memory(package, SETTINGS, send=upstream.send) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(run())


def test_the_installed_server_is_this_one() -> None:
    try:
        installed = version("bookshop-mcp")
    except PackageNotFoundError:
        pytest.skip("the package is not installed: the tests import its source")
    assert installed == __version__


@pytest.mark.parametrize("length", [LONGEST_DESCRIPTION, LONGEST_DESCRIPTION + 1])
def test_long_descriptions_are_cut(length: int) -> None:
    book = {"isbn": "9780306406157", "title": "Tides", "description": "a" * length}
    result = call("get_book", book, isbn="9780306406157")
    description = result["structuredContent"]["description"]
    assert len(description) == LONGEST_DESCRIPTION
    assert description.endswith("…") == (length > LONGEST_DESCRIPTION)


@pytest.mark.parametrize("printed", ["0-306-40615-2", "978-0-306-40615-7"])
def test_an_isbn_is_brought_to_13_digits(printed: str) -> None:
    [content] = call("to_isbn13", isbn=printed)["content"]
    assert content["text"] == "9780306406157"


def test_what_is_no_isbn_is_told_to_the_model() -> None:
    assert call("to_isbn13", isbn="4711")["isError"] is True
