"""Tests of overrides: refunds up to the amount paid, discounts that reduce a price, and filters."""

import asyncio
import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from mcpgen.runtime.package import ServerPackage
from mcpgen.testing import Client, MockUpstream
from mcpgen.testing.mock.replies import Reply

UPSTREAM = Path(__file__).parent / "generated" / "upstream.json"
SETTINGS = {"STOREFRONT_ADMIN_KEY": "key-of-the-mock"}
GET_ORDER = "GET /orders/{order_id}"


def call(
    tool: str, arguments: dict[str, Any], *, order: dict[str, Any] | None = None
) -> tuple[dict[str, Any], MockUpstream]:
    """Call a tool in memory, with a user who accepts; return the result, and the mock API."""
    upstream = MockUpstream(json.loads(UPSTREAM.read_bytes()))
    if order is not None:
        upstream.reply_with(Reply.from_json({"status": 200, "body": order}), GET_ORDER)

    async def run() -> dict[str, Any]:
        package = ServerPackage.load("storefront_mcp")
        async with Client.in_memory(
            package,
            SETTINGS,
            send=upstream.send,
            answers={"elicitation/create": lambda asked: {"action": "accept", "content": {}}},
        ) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(run()), upstream


def refund(
    amount: str, currency: str = "EUR", refunded: str | None = "30.00"
) -> tuple[dict[str, Any], MockUpstream]:
    order: dict[str, Any] = {"id": "or_4021", "number": 4021}
    order["total"] = {"amount": "178.00", "currency": "EUR"}
    if refunded is not None:
        order["refunded"] = {"amount": refunded, "currency": "EUR"}
    wanted = {"amount": amount, "currency": currency}
    arguments = {"order_id": "or_4021", "amount": wanted, "reason": "late"}
    return call("refund_order", arguments, order=order)


@pytest.mark.parametrize(
    ("amount", "refunded"), [("148.00", "30.00"), ("0.01", "30.00"), ("178.00", None)]
)
def test_what_is_left_can_be_refunded(amount: str, refunded: str | None) -> None:
    result, upstream = refund(amount, refunded=refunded)
    assert not result.get("isError")
    read, sent = upstream.requests
    assert read.operation == GET_ORDER
    assert json.loads(sent.body)["amount"] == {"amount": amount, "currency": "EUR"}


@pytest.mark.parametrize(
    ("amount", "currency", "why"),
    [
        ("148.01", "EUR", "148.00 EUR of 178.00 are left"),
        ("0.00", "EUR", "cannot be refunded"),
        ("20.00", "USD", "paid in EUR"),
    ],
)
def test_other_amounts_are_refused(amount: str, currency: str, why: str) -> None:
    result, upstream = refund(amount, currency)
    assert result["isError"] is True
    assert why in result["content"][0]["text"]
    assert [request.operation for request in upstream.requests] == [GET_ORDER]


def discount(**more: Any) -> tuple[dict[str, Any], MockUpstream]:
    return call("create_discount", {"code": "SPRING15", "ends_on": "2028-05-31", **more})


@pytest.mark.parametrize(
    "more",
    [
        {"kind": "percent", "percent": 15},
        {"kind": "amount", "amount": {"amount": "5.00", "currency": "DKK"}},
        {"kind": "free_shipping"},
    ],
)
def test_a_code_that_takes_something_off_is_created(more: dict[str, Any]) -> None:
    result, upstream = discount(**more)
    assert not result.get("isError")
    [request] = upstream.requests
    assert json.loads(request.body)["kind"] == more["kind"]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"kind": "percent"}, "needs percent"),
        ({"kind": "amount", "percent": 15}, "needs amount"),
        ({"kind": "free_shipping", "percent": 15}, "has no percent"),
    ],
)
def test_a_code_that_contradicts_itself_is_refused(more: dict[str, Any], why: str) -> None:
    result, upstream = discount(**more)
    assert result["isError"] is True
    assert why in result["content"][0]["text"]
    assert not upstream.requests


def test_filters_travel_in_the_styles_of_the_document_and_in_the_language_of_the_shop() -> None:
    arguments = {
        "filter": {"vendor": "Nordlicht & Co", "in_stock": True},
        "tags": ["lamp", "brass"],
        "price": {"price_min": 20, "price_max": 90.5},
    }
    result, upstream = call("find_products", arguments)
    assert not result.get("isError")
    [request] = upstream.requests
    query = urlsplit(request.url).query
    assert "tags=lamp%7Cbrass" in query
    assert parse_qs(query) == {
        "filter[vendor]": ["Nordlicht & Co"],
        "filter[in_stock]": ["true"],
        "tags": ["lamp|brass"],
        "price_min": ["20"],
        "price_max": ["90.5"],
        "limit": ["25"],
    }
    headers = {name.lower(): value for name, value in request.headers}
    assert headers["accept-language"] == "fr"


def test_article_numbers_are_separated_by_spaces() -> None:
    _, upstream = call("get_stock", {"sku": ["SUND-BR", "SUND-BK"]})
    assert urlsplit(upstream.requests[0].url).query == "sku=SUND-BR%20SUND-BK"


@pytest.mark.parametrize("code", [None, "SPRING10"])
def test_an_offer_is_a_cart_with_or_without_a_discount(code: str | None) -> None:
    arguments: dict[str, Any] = {"customer": "Roy", "lines": [{"sku": "SUND-BR", "quantity": 2}]}
    result, upstream = call("offer_products", {**arguments, "code": code} if code else arguments)
    assert not result.get("isError")
    assert [request.method for request in upstream.requests] == [
        "GET",
        "POST",
        *["PUT"] * bool(code),
    ]
