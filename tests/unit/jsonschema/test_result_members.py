"""Tests of members of a described result, as a caller names them."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.jsonschema.result_members import ResultMembers, nest_names

PERSON = {
    "type": ["object", "null"],
    "properties": {
        "name": {"type": ["string", "null"]},
        "first.last": {"type": ["string", "null"]},
        "manager": {"$ref": "#/$defs/Person"},
    },
}
ORDERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "total": {"type": ["integer", "null"]},
        "items": {
            "type": ["array", "null"],
            "items": {
                "type": ["object", "null"],
                "properties": {
                    "id": {"type": ["integer", "null"]},
                    "buyer": {"$ref": "#/$defs/Person"},
                    "price": {
                        "anyOf": [
                            {"type": ["object", "null"], "properties": {"net": {}}},
                            {"type": ["object", "null"], "properties": {"gross": {}}},
                            {"type": "null"},
                        ]
                    },
                },
            },
        },
        "labels": {"type": ["object", "null"], "additionalProperties": {"type": ["string"]}},
        "free": {"type": ["object", "null"]},
    },
    "$defs": {"Person": PERSON},
}


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("total", ("total",)),
        ("items", ("items",)),
        ("items.id", ("items", "id")),
        ("items[].id", ("items", "id")),
        ("items.buyer.manager.manager.name", ("items", "buyer", "manager", "manager", "name")),
        ("items.buyer.first.last", ("items", "buyer", "first.last")),
        ("items.price.gross", ("items", "price", "gross")),
        ("items.price.net.any.thing", ("items", "price", "net", "any", "thing")),
        ("labels.colour", ("labels", "colour")),
        ("labels.colour.x", None),
        ("free.a.b", ("free", "a", "b")),
        ("id", None),
        ("items.price.tax", None),
        ("total.x", None),
        ("", None),
        (".", None),
    ],
)
def test_a_path_leads_to_described_members(path: str, names: Any) -> None:
    assert ResultMembers(ORDERS).find(path) == names


def test_a_wrapped_list_is_named_with_and_without_its_key() -> None:
    members = ResultMembers({"properties": {"result": ORDERS["properties"]["items"]}}, "result")
    assert members.find("id") == members.find("result.id") == ("id",)
    assert members.find("result") is None


@pytest.mark.parametrize(
    ("path", "meant"),
    [("totl", "total"), ("id", "items.id"), ("items.nam", "items.buyer.name"), ("zzz", "")],
)
def test_a_similar_path_or_a_deeper_one_is_suggested(path: str, meant: str) -> None:
    assert ResultMembers(ORDERS).suggest(path) == meant


def test_recursion_is_entered_once() -> None:
    assert [*ResultMembers(ORDERS).iterate_paths()] == [
        "total",
        "items",
        "labels",
        "free",
        "items.id",
        "items.buyer",
        "items.price",
        "items.buyer.name",
        "items.buyer.first.last",
        "items.buyer.manager",
        "items.price.gross",
        "items.price.net",
    ]


@pytest.mark.parametrize(
    ("most", "paths"),
    [(2, ("total", "items", "items.id")), (5, ("total", "items", "labels", "free", "items.id"))],
)
def test_the_first_paths_include_a_nested_one(most: int, paths: tuple[str, ...]) -> None:
    assert ResultMembers(ORDERS).list_first_paths(most) == paths


def test_a_whole_member_includes_those_inside_of_it() -> None:
    paths = [("a", "b"), ("c", "d"), ("a",), ("c", "e"), ("a", "b", "x")]
    assert nest_names(paths) == {"a": {}, "c": {"d": {}, "e": {}}}
