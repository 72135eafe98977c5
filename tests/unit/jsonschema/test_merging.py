"""Tests of merging schemas that apply to the same value: exactly, and one level for display."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.jsonschema.direction import Shapes, intersect

STRING = {"type": "string"}


def merge(*members: Any) -> tuple[dict[str, Any], bool]:
    shape = Shapes({}, "request").of({"allOf": list(members)})
    return shape.keywords, shape.is_exact


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ({"minimum": 1, "maxLength": 5}, {"minimum": 2, "maxLength": 4}, (2, 4)),
        ({"minimum": 3, "maxLength": 4}, {"minimum": 1, "maxLength": 9}, (3, 4)),
    ],
)
def test_the_tighter_bound_wins(one: Any, other: Any, both: tuple[int, int]) -> None:
    expected = {"minimum": both[0], "maxLength": both[1]}
    assert intersect(one, other) == expected
    assert merge(one, other) == (expected, True)


def test_types_are_intersected_and_integers_are_numbers() -> None:
    one, other = {"type": ["integer", "string"]}, {"type": ["number", "string"]}
    assert intersect(one, other) == merge(one, other)[0] == {"type": ["integer", "string"]}
    assert intersect(other, {"type": "integer"}) == {"type": ["integer"]}


def test_multiples_are_merged_to_their_least_common_multiple() -> None:
    assert intersect({"multipleOf": 4}, {"multipleOf": 6}) == {"multipleOf": 12}


@pytest.mark.parametrize("keyword", ["type", "enum"])
def test_a_contradiction_intersects_to_false_and_merges_to_the_last_member(keyword: str) -> None:
    one, other = {keyword: ["string"]}, {keyword: ["null"]}
    assert intersect(one, other) is False
    assert merge(one, other) == (other, False)


def test_two_patterns_intersect_to_all_of_and_merge_to_the_last_one() -> None:
    one, other = {"pattern": "a"}, {"pattern": "b"}
    assert intersect(one, other) == {**one, "allOf": [other]}
    assert merge(one, other) == (other, False)


def test_a_closed_member_closes_the_intersection_but_not_the_merged_schema() -> None:
    one = {"properties": {"a": STRING}, "additionalProperties": False}
    other = {"properties": {"b": STRING}}
    joined = intersect(one, other)
    assert joined == {"properties": {"a": STRING, "b": False}, "additionalProperties": False}
    keywords, is_exact = merge(one, {**other, "additionalProperties": True})
    assert keywords["properties"] == {"a": STRING, "b": STRING}
    assert not is_exact


def test_annotations_of_the_first_or_the_last_member_are_kept() -> None:
    one, other = {"title": "one"}, {"title": "other"}
    assert intersect(one, other) == one
    assert merge(one, other) == (other, True)
