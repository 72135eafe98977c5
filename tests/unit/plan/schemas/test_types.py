"""Tests of schemas of model classes: the few forms that `ModelModule` allows."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.jsonschema.direction import Shapes
from mcpgen.plan.schemas.types import Types

STRING = {"type": "string"}
NULL = {"type": "null"}
OBJECT = {"type": "object", "properties": {"b": STRING, "a": {}}, "required": ["b", "gone"]}


def make_types(**named: Any) -> Types:
    return Types(Shapes(named, "request"), Shapes(named, "response"), models=True)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (True, {}),
        ({"type": "file"}, {}),
        ({"type": "string", "pattern": "^x", "default": "x", "description": "d"}, STRING),
        ({"type": "array"}, {"type": "array", "items": {}}),
        ({"type": "object"}, {"type": "object", "additionalProperties": {}}),
        (
            {"type": "object", "additionalProperties": STRING},
            {"type": "object", "additionalProperties": STRING},
        ),
        ({"type": ["null", "string"]}, {"anyOf": [STRING, NULL]}),
        ({"enum": ["a", "b", "a", None]}, {"anyOf": [{"enum": ["a", "b"]}, NULL]}),
        ({"enum": [1.5, 2.5], "type": "number"}, {"type": "number"}),
        (
            {"anyOf": [{"type": ["string", "null"]}, {"oneOf": [STRING, {"type": "integer"}]}]},
            {"anyOf": [STRING, {"type": "integer"}, NULL]},
        ),
        ({"anyOf": [STRING, {}]}, {}),
    ],
)
def test_property_schemas_are_simplified_to_types(schema: Any, expected: dict[str, Any]) -> None:
    types = make_types()
    root = {"type": "object", "properties": {"value": schema}}
    assert types.of(root, "response", "Root").source == "Root"
    assert types.definitions == {
        "Root": {"type": "object", "properties": {"value": expected}, "required": []}
    }


def test_a_class_requires_only_declared_properties() -> None:
    types = make_types(Pet=OBJECT)
    types.of({"$ref": "#/$defs/Pet"}, "response", "Root")
    [pet] = types.definitions.values()
    assert list(pet["properties"]) == ["a", "b"]
    assert pet["required"] == ["b"]


def test_a_property_name_with_a_lone_surrogate_is_omitted() -> None:
    types = make_types()
    types.of({"type": "object", "properties": {"\ud800": STRING, "a": STRING}}, "request", "Root")
    assert types.definitions["Root"]["properties"] == {"a": STRING}
