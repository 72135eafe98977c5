"""Tests of the entries for tools in the search index of a server."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.diagnostics import Problems
from mcpgen.manifest.manifest import read_manifest
from mcpgen.plan.plan import plan_tools
from mcpgen.plan.policy import Policy
from mcpgen.plan.tools.search_index import make_index
from mcpgen.search.index import Entry
from mcpgen.search.words import words

MANIFEST = "server: {name: shop}\nsources: [{document: openapi.yaml}]\nbudget: 1000\n"
FILLERS = 20
SHARED = "Only customers who are registered can do this."


def operation(summary: str, *arguments: str, body: str = "", **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = {
        "summary": summary,
        "description": f"{SHARED} {more.pop('says', '')}",
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in arguments
        ],
        "responses": {"200": {"description": "done"}},
        **more,
    }
    if body:
        member = {"type": "string", "description": body}
        schema = {"type": "object", "properties": {"colour": member}}
        found["requestBody"] = {"content": {"application/json": {"schema": schema}}}
    return found


def listing(member: str, about: str) -> dict[str, Any]:
    item = {"type": "object", "properties": {member: {"description": about}}}
    content = {"application/json": {"schema": {"type": "array", "items": item}}}
    return {"200": {"description": "done", "content": content}}


@pytest.fixture
def index(make: Any) -> dict[str, Entry]:
    root = make.document()
    root["paths"] = {
        "/shops/{shop_id}/orders": {
            "get": operation("List orders", "shop_id"),
            "post": operation("Place an order", "shop_id", says="Stock shrinks by it."),
        },
        "/shops/{shop_id}/orders/{order_id}": {
            "get": operation("Show an order", "shop_id", "order_id", deprecated=True),
            "patch": operation("Change an order", "shop_id", "order_id", body="How it is painted."),
            "delete": operation("Cancel an order", "shop_id", "order_id"),
        },
        "/user/orders/forget": {"post": operation("Erase all orders")},
    }
    root["tags"] = [
        {"name": "stock", "description": "What lies in the warehouse."},
        {"name": "default", "description": "Anything else of it."},
    ]
    root["paths"]["/items"] = {
        "get": operation("List items", tags=["stock"], responses=listing("shelf", "Row upstairs."))
    }
    root["paths"] |= {  # too many to list
        f"/things/{number}": {
            "get": operation("Show things", responses=listing("wheel", "Rolls.")),
            "post": operation("Make things", body=f"The {number}th thing."),
        }
        for number in range(FILLERS)
    }
    problems = Problems()
    policy = Policy(read_manifest(MANIFEST.encode(), problems))
    plan = plan_tools(make(root).api, policy, problems)
    found = make_index(plan)
    assert found is not None
    return {entry.operation: entry for entry in found.entries}


def tenths(entry: Entry, word: str) -> int:
    """Return the weight of a word for a tool in tenths, or 0 if the index does not have it."""
    (stem,) = words(word)
    return next((tenths for tenths, terms in entry.terms.items() if stem in terms.split()), 0)


def test_a_tool_is_indexed_by_its_path_and_effect(index: dict[str, Entry]) -> None:
    orders = index["GET /shops/{shop_id}/orders"]
    assert orders.subject == tuple(words("shop order"))
    assert orders.lists == tuple(words("orders"))
    assert orders.names == tuple(words("shop id"))
    assert orders.effect == "read"
    assert not orders.is_own

    order = index["GET /shops/{shop_id}/orders/{order_id}"]
    assert order.lists == ()
    assert {*order.names} == {*words("shop order id")}
    assert order.is_deprecated

    assert index["PATCH /shops/{shop_id}/orders/{order_id}"].effect == "change"
    assert index["DELETE /shops/{shop_id}/orders/{order_id}"].effect == "remove"
    assert index["POST /user/orders/forget"].effect == "remove"
    assert index["POST /user/orders/forget"].is_own


def test_words_of_the_path_weigh_more_than_words_of_arguments(index: dict[str, Entry]) -> None:
    change = index["PATCH /shops/{shop_id}/orders/{order_id}"]
    assert tenths(change, "order") > tenths(change, "colour") > 0
    assert tenths(change, "order") > tenths(change, "painted") > 0


def test_words_common_to_all_tools_have_no_weight(index: dict[str, Entry]) -> None:
    assert {tenths(entry, "registered") for entry in index.values()} == {0}
    assert tenths(index["POST /shops/{shop_id}/orders"], "stock") > 0


def test_words_of_a_resource_have_a_small_weight_for_its_other_operations(
    index: dict[str, Entry],
) -> None:
    change = index["PATCH /shops/{shop_id}/orders/{order_id}"]
    assert 0 < tenths(index["GET /shops/{shop_id}/orders"], "painted") < tenths(change, "painted")
    assert tenths(index["POST /user/orders/forget"], "painted") == 0


def test_a_tool_is_indexed_by_its_result_and_by_the_description_of_its_tag(
    index: dict[str, Entry],
) -> None:
    items = index["GET /items"]
    assert tenths(items, "item") > tenths(items, "warehouse") > tenths(items, "shelf") > 0
    assert tenths(items, "upstairs") > 0
    assert tenths(index["GET /shops/{shop_id}/orders"], "shelf") == 0
