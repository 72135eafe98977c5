"""Tests of hostile arguments that are derived from a schema."""

from __future__ import annotations

from mcpgen.factory.robustness.experiments.arguments import list_boundaries, list_places, put
from mcpgen.factory.robustness.subject import ToolUnderTest


def test_boundaries_are_those_of_the_schema_and_just_beyond() -> None:
    assert list_boundaries({"type": "integer", "minimum": 1, "maximum": 9}) == [1, 0, 9, 10]
    assert list_boundaries({"type": "string", "maxLength": 3}) == ["aaa", "aaaa"]
    assert list_boundaries({"enum": ["a", "b"]}) == ["a", "b", "a "]
    assert list_boundaries({}) == ["", 0, [], {}]
    assert list_boundaries({"maxLength": 10**9}) == ["", 0, [], {}]  # no gigabytes


def test_places_are_those_of_valid_arguments_and_of_other_properties() -> None:
    schema = {"type": "object", "properties": {"a": {}, "b": {}}}
    tool = ToolUnderTest("t", schema, {"a": {"x": [1, 2, 3]}}, 0.1, None)
    assert list_places(tool) == [
        ("a",),
        ("a", "x"),
        ("a", "x", 0),
        ("a", "x", 1),
        ("b",),
    ]


def test_a_value_is_replaced_in_a_copy() -> None:
    arguments = {"a": {"x": [1, 2]}}
    assert put(arguments, ("a", "x", 1), "new") == {"a": {"x": [1, "new"]}}
    assert put(arguments, ("b",), None) == {"a": {"x": [1, 2]}, "b": None}
    assert put(arguments, (), 7) == 7
    assert arguments == {"a": {"x": [1, 2]}}
