"""Tests of references between named schemas."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.jsonschema.references import (
    find_components,
    find_edges,
    find_recursive_names,
    find_reference,
    find_referred_names,
    follow_references,
    iterate_parts,
    iterate_reachable,
)


def refer(name: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        (refer("Pet"), "Pet"),
        (refer("a~1b~0c"), "a/b~c"),
        ({"$ref": "https://example.com/pet.json"}, ""),
        ({"$ref": 1}, ""),
        (True, ""),
    ],
)
def test_find_reference_returns_the_referenced_name(schema: Any, name: str) -> None:
    assert find_reference(schema) == name


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ({"type": "string"}, {"type": "string"}),
        (refer("first"), {"type": "integer"}),
        (refer("a~1b~0c"), {"type": "integer"}),
        (refer("circle"), {}),
        (refer("gone"), {}),
        (refer("anything"), {}),
        (True, {}),
    ],
)
def test_references_are_followed_to_the_schema_at_their_end(schema: Any, found: Any) -> None:
    named = {
        "first": refer("a~1b~0c"),
        "a/b~c": {"type": "integer"},
        "circle": refer("other"),
        "other": refer("circle"),
        "anything": True,
    }
    assert follow_references(schema, named) == found


def test_references_in_enum_and_default_values_are_ignored() -> None:
    schema = {"enum": [refer("A")], "default": refer("B"), "properties": {"default": refer("C")}}
    assert find_referred_names(schema) == {"C"}


def test_each_definition_is_reached_once() -> None:
    named = {"A": {"items": refer("B")}, "B": {"anyOf": [refer("A"), refer("Gone")]}, "C": {}}
    reached = list(iterate_reachable([refer("A"), refer("B")], named))
    assert reached.count(named["A"]) == reached.count(named["B"]) == 1
    assert named["C"] not in reached


def test_components_are_ordered_after_their_dependencies() -> None:
    edges = {"a": {"b", "gone"}, "b": {"c"}, "c": {"b", "d"}, "d": set(), "e": {"a"}}
    assert find_components(edges) == [["d"], ["b", "c"], ["a"], ["e"]]


def test_find_recursive_names_returns_names_in_cycles() -> None:
    named = {
        "Tree": {"properties": {"kids": {"items": refer("Tree")}}},
        "Even": {"items": refer("Odd")},
        "Odd": {"items": refer("Even")},
        "User": {"items": refer("Tree")},
    }
    assert find_recursive_names(find_edges(named)) == {"Tree", "Even", "Odd"}


def test_iterate_parts_is_depth_first_and_ends_at_a_cycle() -> None:
    base = {"title": "base", "allOf": [refer("Loop")]}
    named = {"Loop": {"title": "loop", "$ref": "#/$defs/Base"}, "Base": base}
    schema = {"title": "top", "$ref": "#/$defs/Base", "allOf": [{"title": "last"}, True]}
    titles = [part.get("title") for part in iterate_parts(schema, named)]
    assert titles == ["top", "base", None, "loop", "last"]
