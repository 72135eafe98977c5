"""Tests of arguments from schemas of third-party tools."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.factory.validate.arguments import (
    NoArgumentsError,
    make_arguments,
    make_invalid_arguments,
)
from mcpgen.jsonschema.validation import SchemaValidator

SCHEMAS: dict[str, dict[str, Any]] = {
    "plain": {
        "type": "object",
        "properties": {"count": {"type": "integer", "minimum": 3}},
        "required": ["count"],
    },
    "named": {
        "type": "object",
        "properties": {"item": {"$ref": "#/$defs/Item"}},
        "required": ["item"],
        "$defs": {"Item": {"type": "object", "properties": {"id": {"type": "string"}}}},
    },
    "draft-07": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"item": {"$ref": "#/definitions/Item"}},
        "required": ["item"],
        "definitions": {"Item": {"type": "string", "minLength": 2}},
    },
    "any": {"type": "object"},
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_arguments_are_valid(name: str) -> None:
    made = make_arguments({"name": name, "inputSchema": SCHEMAS[name]})
    assert SchemaValidator(SCHEMAS[name]).is_valid(made)


@pytest.mark.parametrize("name", ["plain", "named", "draft-07"])
def test_invalid_arguments_are_invalid(name: str) -> None:
    found = make_invalid_arguments({"name": name, "inputSchema": SCHEMAS[name]})
    assert found is not None
    assert not SchemaValidator(SCHEMAS[name]).is_valid(found[0])


def test_a_required_property_with_a_default_is_not_left_out() -> None:
    properties = {"unit": {"type": "string", "default": "m"}}
    schema = {"type": "object", "properties": properties, "required": ["unit"]}
    found = make_invalid_arguments({"name": "t", "inputSchema": schema})
    assert found is not None
    assert "wrong type" in found[1]


def test_a_schema_that_allows_everything_has_no_invalid_arguments() -> None:
    assert make_invalid_arguments({"name": "t", "inputSchema": SCHEMAS["any"]}) is None


def with_property(schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": schema}, "required": ["a"]}


@pytest.mark.parametrize(
    "schema",
    [
        None,
        with_property({"$ref": "https://example.com/x"}),
        with_property({"type": "integer", "minimum": 3, "maximum": 1}),
        with_property(7),
    ],
    ids=["none", "remote", "impossible", "invalid"],
)
def test_a_schema_without_arguments_is_reported(schema: Any) -> None:
    with pytest.raises(NoArgumentsError):
        make_arguments({"name": "t", "inputSchema": schema})
