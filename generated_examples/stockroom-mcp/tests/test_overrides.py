"""Tests of overrides: one line of an order for each article, and movements between two places."""

import asyncio
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from mcpgen.runtime.package import ServerPackage
from mcpgen.testing import Client, MockUpstream, Reply

from stockroom_mcp.handlers.orders import add_up

UPSTREAM = Path(__file__).parent / "generated" / "upstream.json"
SETTINGS = {"STOCKROOM_TERMINAL": "key-of-the-mock"}
ORDER = "{urn:stockroom:orders:2}"
STOCK = "{urn:stockroom:2}"
ENTERED = Reply.from_json({"status": 201, "headers": {"Order-Number": "WO-20481"}})


def api() -> MockUpstream:
    return MockUpstream(json.loads(UPSTREAM.read_bytes()))


def call(
    upstream: MockUpstream, tool: str, arguments: dict[str, Any], action: str = "accept"
) -> dict[str, Any]:
    """Call a tool in memory, with `upstream` as its API and a user who answers with `action`."""

    async def run() -> dict[str, Any]:
        package = ServerPackage.load("stockroom_mcp")
        async with Client.in_memory(
            package,
            SETTINGS,
            send=upstream.send,
            answers={"elicitation/create": lambda asked: {"action": action, "content": {}}},
        ) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(run())


def sent(upstream: MockUpstream) -> ElementTree.Element:
    """Return the root of the XML that the last request sent."""
    return ElementTree.fromstring(upstream.requests[-1].body)


def test_lines_of_an_article_are_added_up() -> None:
    upstream = api()
    lines = [
        {"sku": "SC-0420", "quantity": 50, "note": "in bags"},
        {"sku": "NA-0007", "quantity": 1},
        {"sku": "SC-0420", "quantity": 25, "note": "the rest loose"},
    ]
    assert not call(upstream, "enter_order", {"customer": "T", "lines": lines}).get("isError")
    found = [
        (line.get("sku"), line.findtext(f"{ORDER}quantity"), line.findtext(f"{ORDER}note"))
        for line in sent(upstream).findall(f"{ORDER}lines/{ORDER}line")
    ]
    assert found == [("SC-0420", "75", "in bags; the rest loose"), ("NA-0007", "1", None)]


def test_the_lines_of_the_caller_stay_as_they_are() -> None:
    lines: Any = [{"sku": "SC-0420", "quantity": 50}, {"sku": "SC-0420", "quantity": 25}]
    assert add_up(lines) == [{"sku": "SC-0420", "quantity": 75}]
    assert lines[0]["quantity"] == 50


def movement(source: str, target: str) -> dict[str, Any]:
    return {"sku": "SC-0420", "from": source, "to": target, "quantity": 100}


def test_a_movement_is_recorded() -> None:
    upstream = api()
    assert not call(upstream, "record_movement", movement("A-01-3", "B-02-1")).get("isError")
    root = sent(upstream)
    assert (root.tag, root.get("sku")) == (f"{STOCK}movement", "SC-0420")
    assert [child.text for child in root] == ["A-01-3", "B-02-1", "100"]


def test_a_movement_to_the_same_place_is_refused() -> None:
    upstream = api()
    result = call(upstream, "record_movement", movement("A-01-3", "A-01-3"))
    assert result["isError"] is True
    assert "the same place" in result["content"][0]["text"]
    assert not upstream.requests


def order_and_release(action: str) -> tuple[dict[str, Any], MockUpstream]:
    upstream = api()
    upstream.reply_with(ENTERED, "POST /orders")
    arguments = {"customer": "Timber & Sons", "lines": [{"sku": "SC-0420", "quantity": 50}]}
    return call(upstream, "order_and_release", arguments, action), upstream


def test_an_order_is_released_by_the_number_that_it_got() -> None:
    result, upstream = order_and_release("accept")
    assert result["structuredContent"]["number"] == "WO-20481"
    paths = [request.url.partition("/ws/2")[2] for request in upstream.requests]
    assert paths == ["/orders", "/orders/WO-20481/release"]


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_an_order_is_not_released_without_consent(action: str) -> None:
    _, upstream = order_and_release(action)
    assert [request.operation for request in upstream.requests] == ["POST /orders"]
