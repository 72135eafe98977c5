"""Tests of properties that only requests or responses have (`readOnly` and `writeOnly`)."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.jsonschema.direction import Direction, Shapes
from mcpgen.jsonschema.schemas import Schemas

READ_ONLY = {"type": "string", "readOnly": True}
NAMED: dict[str, Any] = {
    "Id": READ_ONLY,
    "Base": {"properties": {"id": READ_ONLY, "name": {}}, "required": ["id", "name"]},
    "Loop": {"allOf": [{"$ref": "#/$defs/Loop"}]},
}


@pytest.fixture
def requests() -> Direction:
    return Direction(Schemas(NAMED), "request")


@pytest.mark.parametrize(
    ("schema", "is_hidden"),
    [
        (READ_ONLY, True),
        ({"writeOnly": True}, False),
        ({"readOnly": "yes"}, False),
        (True, False),
        ({"$ref": "#/$defs/Id"}, True),
        ({"$ref": "#/$defs/Base", "readOnly": True}, True),
        ({"allOf": [{"$ref": "#/$defs/Base"}, {"readOnly": True}]}, True),
        ({"anyOf": [{"readOnly": True}, {}]}, False),
        ({"$ref": "#/$defs/Base"}, False),
        ({"$ref": "#/$defs/Loop"}, False),
        ({"$ref": "#/$defs/Gone"}, False),
    ],
)
def test_is_hidden_recognises_hidden_properties(
    requests: Direction, schema: Any, is_hidden: bool
) -> None:
    assert requests.is_hidden(schema) is is_hidden


@pytest.mark.parametrize(
    ("schema", "is_converted"),
    [
        ({"properties": {"id": READ_ONLY}, "required": ["id"]}, True),
        ({"properties": {"id": {"$ref": "#/$defs/Id"}}, "required": ["id"]}, True),
        ({"allOf": [{"$ref": "#/$defs/Base"}, {"required": ["id"]}]}, True),
        ({"allOf": [{"$ref": "#/$defs/Via"}, {"required": ["id"]}]}, True),
        ({"$ref": '#/$defs/A "~1~0" name', "required": ["id"]}, True),
        ({"$ref": "#/$defs/Plain", "required": ["id"]}, False),
        ({"properties": {"id": {"writeOnly": True}}, "required": ["id"]}, False),
        (True, False),
    ],
)
def test_only_a_schema_with_something_hidden_is_converted(schema: Any, is_converted: bool) -> None:
    named = {
        **NAMED,
        "Via": {"$ref": "#/$defs/Base"},
        'A "/~" name': NAMED["Base"],
        "Plain": {"properties": {"id": {}}},
    }
    requests = Direction(Schemas(named), "request")
    converted = requests.convert(schema)
    assert converted == requests.of(schema)
    assert (converted is not schema) is is_converted
    assert (requests.of(schema) != schema) is is_converted


def test_hidden_properties_are_neither_allowed_nor_required(requests: Direction) -> None:
    assert requests.schemas.named["Base"] == {"properties": {"name": {}}, "required": ["name"]}


def test_a_hidden_property_is_not_required_by_another_member(requests: Direction) -> None:
    members = [{"$ref": "#/$defs/Base"}, {"required": ["id", "more"]}]
    assert requests.of({"allOf": members}) == {
        "allOf": [{"$ref": "#/$defs/Base"}, {"required": ["more"]}]
    }
    shape = Shapes(NAMED, "request").of({"allOf": members})
    assert shape.keywords["required"] == ["name", "more"]
    assert shape.keywords["properties"] == {"name": {}}


def test_negated_requirements_and_default_values_are_unchanged(requests: Direction) -> None:
    schema = {
        "properties": {"id": READ_ONLY},
        "not": {"required": ["id"]},
        "default": {"properties": {"id": READ_ONLY}, "required": ["id"]},
    }
    assert requests.of(schema) == {**schema, "properties": {}}


def test_a_direction_without_hidden_properties_shares_the_schemas() -> None:
    named = Schemas(NAMED)
    assert Direction(named, "response").schemas is named
    assert Direction(named, "request").schemas is not named


def test_the_cost_of_a_schema_includes_its_references_in_one_direction(requests: Direction) -> None:
    value = {"name": [{}] * 300}
    assert requests.schemas.problem({"$ref": "#/$defs/Base"}, value) == ""


def test_shapes_are_stored_by_schema_and_not_by_its_place_in_memory() -> None:
    shapes = Shapes({}, "request")
    schema = {"properties": {"id": READ_ONLY, "name": {}}}
    assert shapes.of(schema) is shapes.of(schema)
    found = [shapes.of({"const": number}).keywords["enum"] for number in range(50)]
    assert found == [[number] for number in range(50)]


def test_a_shape_does_not_depend_on_the_circle_that_led_to_it() -> None:
    inner = {"allOf": [{"$ref": "#/$defs/A"}, {"properties": {"inner": {}}}]}
    named = {"A": {"allOf": [inner, {"properties": {"outer": {}}}]}}
    shapes = Shapes(named, "request")
    assert {*shapes.of({"$ref": "#/$defs/A"}).keywords["properties"]} == {"inner", "outer"}
    assert shapes.of(inner) == Shapes(named, "request").of(inner)
    assert {*shapes.of(inner).keywords["properties"]} == {"inner", "outer"}
