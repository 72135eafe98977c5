"""Tests of entries in `operations:`, from the command to the requests that are sent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcpgen.testing import LEGACY, MODERN
from tests.manifest.conftest import Shop

RESULT = """
operations:
  listBooks:
    result: {select: ["items[].isbn", "items[].price.amount", nextCursor], max_items: 2}
    paginate: {max_pages: 3}
  listOrders: {result: {max_bytes: 256}, paginate: false}
"""
BOOK = {"isbn": "9780000000019", "title": "Sea", "price": {"amount": "9.90", "currency": "EUR"}}


def order(status: str) -> dict[str, Any]:
    total = {"amount": "1.00", "currency": "EUR"}
    return {
        "id": 7,
        "status": status,
        "lines": [],
        "total": total,
        "placedAt": "2025-04-03T10:00:00Z",
    }


def text_of(result: Any) -> str:
    return "\n".join(block["text"] for block in result["content"])


def test_a_result_contains_only_the_selected_fields(shop: Shop) -> None:
    assert shop.generate(RESULT) == 0
    shop.replies = [{"body": {"items": [BOOK] * 5, "nextCursor": "c2"}}]
    result, (sent,) = shop.call("list_books", {"q": "sea"})
    rest = {"q": "sea", "max_pages": 1, "continue_from": "/items/2"}
    assert result["structuredContent"] == {
        "items": [{"isbn": "9780000000019", "price": {"amount": "9.90"}}] * 2,
        "nextCursor": "c2",
        "next_calls": [{"name": "list_books", "arguments": rest}],
    }
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    assert text_of(result).endswith(
        "Cut: `/items` shows 2 of 5 items. Next call: `list_books` "
        '{"q":"sea","max_pages":1,"continue_from":"/items/2"}'
    )
    assert "q=sea" in sent.url

    listed = shop.contract("books")["list_books"]["listing"]
    item = listed["outputSchema"]["properties"]["items"]["items"]["properties"]
    assert set(item) == {"isbn", "price"}
    assert set(item["price"]["properties"]) == {"amount"}
    assert listed["inputSchema"]["properties"]["max_pages"]["maximum"] == 3


def test_a_truncated_result_is_valid_json(shop: Shop) -> None:
    assert shop.generate(RESULT) == 0
    shop.replies = [{"body": {"items": [order("paid")] * 40, "nextCursor": None}}]
    result, _ = shop.call("list_orders", {})
    text = result["content"][0]["text"]
    assert len(text.encode()) <= 256
    assert json.loads(text) == result["structuredContent"]
    assert "of 40 items" in text_of(result)
    listed = shop.contract("orders")["list_orders"]["listing"]
    assert "max_pages" not in listed["inputSchema"]["properties"]


POLL = """
operations:
  getOrder:
    poll: {until: status, values: [shipped, delivered], interval_seconds: 0.001, timeout_seconds: 5}
"""


def test_a_polled_operation_is_repeated_until_it_reaches_its_state(shop: Shop) -> None:
    assert shop.generate(POLL) == 0
    shop.replies = [{"body": order(status)} for status in ("placed", "paid", "shipped")]
    params = {
        "name": "get_order",
        "arguments": {"order_id": 7},
        "_meta": {"progressToken": "p"},
    }
    (result,), mock, received = shop.talk(("tools/call", params))
    assert result["structuredContent"]["status"] == "shipped"
    assert [sent.operation for sent in mock.requests] == ["GET /orders/{orderId}"] * 3
    assert not [sent.problems for sent in mock.requests if sent.problems]
    progress = [
        message["params"]["message"]
        for message in received
        if message.get("method") == "notifications/progress"
    ]
    assert progress == ['`status` is "placed"', '`status` is "paid"']


CONFIRM = "operations: {placeOrder: {confirm: Buy what is in the cart?}}"
ORDER = {
    "cart_id": "3a51c6d2-77aa-4d0f-9be1-5b0c6a1e2f33",
    "payment": {"method": "invoice", "reference": "PO-118"},
}


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
@pytest.mark.parametrize(("action", "requests"), [("accept", 1), ("decline", 0), ("cancel", 0)])
def test_the_user_confirms_before_a_request_is_sent(
    shop: Shop, revision: str, action: str, requests: int
) -> None:
    assert shop.generate(CONFIRM) == 0
    asked: list[Any] = []

    def answer(params: dict[str, Any]) -> dict[str, Any]:
        asked.append(params["message"])
        return {"action": action, "content": {}} if action == "accept" else {"action": action}

    result, sent = shop.call(
        "place_order", ORDER, revision=revision, answers={"elicitation/create": answer}
    )
    assert len(sent) == requests
    assert bool(result.get("isError")) is (action != "accept")
    (question,) = asked
    assert question.startswith("Buy what is in the cart?\n\nplace_order {")
    assert "PO-118" in question


def test_a_call_that_cannot_be_confirmed_sends_no_request(shop: Shop) -> None:
    assert shop.generate(CONFIRM) == 0
    result, sent = shop.call("place_order", ORDER)
    assert not sent
    assert result["isError"]
    assert "`place_order` asks the user before it sends anything" in text_of(result)
    assert "Nothing was sent." in text_of(result)


def test_the_generated_suite_covers_the_operation_settings(shop: Shop) -> None:
    manifest = RESULT + "".join(
        text.partition("operations:")[2].strip("\n") + "\n" for text in (POLL,)
    )
    limits = "timeout_seconds: 5, retry: {attempts: 1}, max_concurrent: 2"
    manifest += f"  placeOrder: {{confirm: Buy?, {limits}}}\n"
    assert shop.generate(manifest) == 0
    request = shop.contract("orders")["place_order"]["request"]
    assert (request["timeout_seconds"], request["attempts"]) == (5, 1)
    assert request["max_concurrent"] == 2
    assert shop.run_suite() == ""


def test_the_generated_suite_detects_a_field_that_should_be_removed(shop: Shop) -> None:
    assert shop.generate(RESULT) == 0
    path = shop.folder / "src/bookshop_mcp/_generated/tools/books.json"
    contract = json.loads(path.read_bytes())
    contract["tools"]["list_books"]["shaping"]["result"]["select"]["items"]["[]"]["title"] = {}
    path.write_text(json.dumps(contract))
    assert "`/items/0/title` is in the result, expected to be removed" in shop.run_suite()


def test_a_request_uses_the_attempts_and_the_timeout_of_the_manifest(shop: Shop) -> None:
    assert (
        shop.generate("operations: {getOrder: {retry: {attempts: 1}, timeout_seconds: 0.05}}") == 0
    )
    shop.replies = [{"status": 503}]
    result, sent = shop.call("get_order", {"order_id": 7})
    assert (result["isError"], len(sent)) == (True, 1)
    shop.replies = [{"delay_seconds": 20}]
    result, sent = shop.call("get_order", {"order_id": 7})
    assert "no complete answer within 0.05 seconds" in text_of(result)
    assert len(sent) == 1


def test_a_tool_name_that_is_already_in_use_is_rejected(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    before = shop.contract("books")
    assert shop.generate("operations: {listBooks: {name: get_book}}\n", "-q") == 3
    told = capsys.readouterr().err
    assert "error[name-collision]: `get_book` is already the tool of `GET /books/{isbn}`" in told
    assert "/operations/listBooks/name" in told
    assert shop.contract("books") == before
    swapped = "operations: {listBooks: {name: get_book}, getBook: {name: list_books}}\n"
    assert shop.generate(swapped, "-q") == 0


def test_a_step_that_exceeds_the_page_limit_of_its_operation_is_rejected(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = (
        "operations: {listBooks: {paginate: {max_pages: 3}}}\n"
        "workflows: {all_books: {steps: [{id: list, operation: listBooks, max_pages: 4}]}}\n"
    )
    assert shop.generate(manifest) == 3
    told = capsys.readouterr().err
    assert "error[workflow-pages]: a call of `GET /books` joins at most 3 pages" in told
    assert shop.generate(manifest.replace("max_pages: 4", "max_pages: 3")) == 0
