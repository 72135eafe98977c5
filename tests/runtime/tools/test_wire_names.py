"""Tests that members of arguments get their wire names back, and other members do not."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.runtime.tools.wire_names import rename_members
from mcpgen.runtime.upstream.request.parameters import UnsendableError

NAMES = {"a_b": "a-b", "x": "@x"}
A_B: dict[str, Any] = {"properties": {"a_b": {"properties": {"x": {}}}}}


@pytest.mark.parametrize(
    ("schema", "value", "sent"),
    [
        (A_B, {"a_b": {"x": 1}, "x": 2}, {"a-b": {"@x": 1}, "x": 2}),
        ({"required": ["a_b"]}, {"a_b": 1}, {"a-b": 1}),
        ({"items": A_B}, [{"a_b": 1}, 2], [{"a-b": 1}, 2]),
        ({"prefixItems": [A_B]}, [{"a_b": 1}], [{"a-b": 1}]),
        ({"additionalProperties": A_B}, {"a_b": {"a_b": 1}}, {"a_b": {"a-b": 1}}),
        ({"patternProperties": {"": A_B}}, {"a_b": {"a_b": 1}}, {"a_b": {"a-b": 1}}),
        ({"anyOf": [{"type": "null"}, {"allOf": [A_B]}]}, {"a_b": 1}, {"a-b": 1}),
        ({"if": {}, "then": A_B}, {"a_b": 1}, {"a-b": 1}),
        ({"dependentSchemas": {"c": A_B}}, {"a_b": 1}, {"a-b": 1}),
        ({"$ref": "#/$defs/Own"}, {"x": {"x": None}}, {"@x": {"@x": None}}),
        ({"type": "object"}, {"a_b": {"x": 1}}, {"a_b": {"x": 1}}),
        (True, {"a_b": 1}, {"a_b": 1}),
    ],
)
def test_only_members_that_the_schema_declares_are_renamed(
    schema: Any, value: Any, sent: Any
) -> None:
    root = {"$defs": {"Own": {"properties": {"x": {"$ref": "#/$defs/Own"}}}}}

    assert rename_members(value, schema, root, NAMES) == sent


def test_a_member_under_both_names_is_rejected() -> None:
    with pytest.raises(UnsendableError, match="`a-b` twice"):
        rename_members({"a_b": 1, "a-b": 2}, A_B, {}, NAMES)
    with pytest.raises(UnsendableError, match="`a-b` twice"):
        rename_members({"a-b": 2, "a_b": 1}, A_B, {}, NAMES)


def test_renaming_a_deep_value_takes_linear_time() -> None:
    node = {"anyOf": [{"properties": {"x": {"$ref": "#/$defs/Node"}}} for _ in range(2)]}
    doubled = {f"D{n}": {"anyOf": [{"$ref": f"#/$defs/D{n + 1}"}] * 2} for n in range(40)}
    root = {"$defs": {"Node": node, **doubled, "D40": {"$ref": "#/$defs/Node"}}}
    value: Any = 1
    sent: Any = 1
    for _ in range(100):
        value, sent = {"x": value}, {"@x": sent}

    assert rename_members(value, {"$ref": "#/$defs/D0"}, root, NAMES) == sent
