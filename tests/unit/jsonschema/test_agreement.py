"""Tests that schemas agree if they allow the same values, whatever their texts are."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.jsonschema.agreement import find_difference

TEXT: dict[str, Any] = {"type": "string"}


@pytest.mark.parametrize(
    ("one", "other", "difference"),
    [
        (TEXT, {"type": "string", "description": "A name.", "title": "N", "examples": ["a"]}, None),
        (TEXT, {"type": "integer"}, ("type",)),
        (TEXT, {"type": "string", "minLength": 1}, ("minLength",)),
        ({"enum": ["a", "b"]}, {"enum": ["b", "a"]}, None),
        ({"enum": ["a"]}, {"enum": ["a", "b"]}, ("enum",)),
        ({"default": 1}, {"default": True}, ("default",)),
        ({"const": {"title": "x"}}, {"const": {"title": "y"}}, ("const",)),
        (
            {"properties": {"title": TEXT}},
            {"properties": {"title": {"type": "integer"}}},
            ("properties", "title", "type"),
        ),
        ({"properties": {"a": TEXT}}, {"properties": {"b": TEXT}}, ("properties", "a")),
        ({"items": {"anyOf": [TEXT]}}, {"items": {"anyOf": [{}]}}, ("items", "anyOf", "0", "type")),
        (None, None, None),
        (None, {}, ()),
        (True, True, None),
        (True, {}, ()),
    ],
)
def test_the_first_difference_is_named(
    one: Any, other: Any, difference: tuple[str, ...] | None
) -> None:
    assert find_difference(one, other) == difference
    assert (find_difference(other, one) is None) is (difference is None)
