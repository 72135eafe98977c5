"""Tests of forms for arguments: fields from schemas, conversion of texts, errors at fields."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcpgen.factory.explore.form import ALL_ARGUMENTS, ArgumentError, Form, FormField, convert


def make_form(properties: dict[str, Any], *required: str, **more: Any) -> Form:
    return Form({"type": "object", "properties": properties, "required": [*required], **more})


def only_field(schema: Any, **more: Any) -> FormField:
    (field,) = make_form({"x": schema}, **more).fields
    return field


@pytest.mark.parametrize(
    ("schema", "kind", "type"),
    [
        ({"type": "string"}, "text", "string"),
        ({"type": "string", "format": "date"}, "text", "string (date)"),
        ({"type": "integer"}, "integer", "integer"),
        ({"type": "number"}, "number", "number"),
        ({"type": "boolean"}, "choice", "boolean"),
        ({"enum": ["a", "b"]}, "choice", "any JSON"),
        ({"const": 7}, "choice", "any JSON"),
        ({"type": "array", "items": {"type": "string"}}, "json", "array of string"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, "json", 'array of "a", "b"'),
        ({"type": "object"}, "json", "object"),
        ({"type": ["integer", "string"]}, "json", "integer or string"),
        ({"$ref": "#/$defs/id"}, "integer", "integer"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer", "integer"),
        ({"anyOf": [{"$ref": "#/$defs/id"}, {"type": "null"}]}, "integer", "integer"),
        ({"type": ["string", "null"]}, "text", "string"),
        (True, "json", "any JSON"),
        ("no schema", "json", "any JSON"),
        ({"$ref": "#/$defs/missing"}, "json", "any JSON"),
    ],
)
def test_the_kind_of_a_field_follows_its_schema(schema: Any, kind: str, type: str) -> None:
    field = only_field(schema, **{"$defs": {"id": {"type": "integer"}}})
    assert (field.kind, field.type) == (kind, type)


def test_required_fields_come_first_in_the_order_of_the_schema() -> None:
    form = make_form({"a": {}, "b": {}, "c": {}, "d": {}}, "d", "b")
    assert [(it.name, it.is_required) for it in form.fields] == [
        ("b", True),
        ("d", True),
        ("a", False),
        ("c", False),
    ]


def test_properties_of_all_parts_have_fields() -> None:
    parts = {"allOf": [{"properties": {"b": {"type": "string"}}, "required": ["b"]}]}
    form = make_form({"a": {"type": "string"}}, **parts)
    assert [(it.name, it.is_required) for it in form.fields] == [("b", True), ("a", False)]


def test_alternatives_without_properties_are_one_field() -> None:
    form = Form({"type": "object", "anyOf": [{"properties": {"a": {}}}, {"required": ["b"]}]})
    assert [it.name for it in form.fields] == [ALL_ARGUMENTS]
    assert form.collect({ALL_ARGUMENTS: '{"a": 1}'}).values == {"a": 1}
    assert form.collect({ALL_ARGUMENTS: "[1]"}).errors == {ALL_ARGUMENTS: "expected a JSON object"}


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "string"}, "7", "7"),
        ({"type": "string"}, "null", "null"),
        ({"type": "string"}, '""', ""),
        ({"type": ["string", "null"]}, "null", None),
        ({"type": "integer"}, "-7", -7),
        ({"type": "integer"}, "9" * 30, int("9" * 30)),
        ({"type": "number"}, "1.5e3", 1500.0),
        ({"type": "boolean"}, "true", True),
        ({"enum": ["a", 1]}, '"a"', "a"),
        ({"type": "array"}, '["a"]', ["a"]),
        ({}, "plain text", "plain text"),
        ({"type": ["integer", "string"]}, "7", 7),
    ],
)
def test_a_text_becomes_a_value(schema: Any, text: str, value: Any) -> None:
    assert convert(only_field(schema), text) == value


@pytest.mark.parametrize(
    ("schema", "text", "message"),
    [
        ({"type": "integer"}, "seven", "expected an integer"),
        ({"type": "integer"}, "true", "expected an integer"),
        ({"type": "number"}, "NaN", "expected a number"),
        ({"type": "integer"}, "9" * 5000, "expected an integer"),
        ({"type": "object"}, '{"a": }', "invalid JSON at line 1, column 7: Expecting value"),
        ({"type": "array"}, "[NaN]", "invalid JSON"),
        ({"type": "array"}, "[" * 100_000, "the JSON is nested too deeply"),
    ],
)
def test_an_invalid_text_is_reported(schema: Any, text: str, message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        convert(only_field(schema), text)
    assert str(caught.value) == message


def test_empty_fields_are_left_out() -> None:
    form = make_form({"a": {"type": "string"}, "b": {"type": "object"}})
    arguments = form.collect({"a": "  ", "b": "\n"})
    assert arguments.values == {}
    assert arguments.is_valid


def test_violations_are_at_their_fields() -> None:
    limits = {"type": "array", "items": {"maximum": 5}}
    form = make_form(
        {"id": {"type": "integer", "minimum": 1}, "name": {"type": "string"}, "list": limits},
        "id",
        "name",
    )
    arguments = form.collect({"id": "0", "list": "[1, 9]"})
    assert arguments.errors == {
        "id": "`/id` must be at least 1, not 0",
        "name": "`/name` is required and was not given",
        "list": "`/list/1` must be at most 5, not 9",
    }
    assert not arguments.is_valid


def test_the_first_error_of_a_field_is_that_of_its_text() -> None:
    form = make_form({"id": {"type": "integer"}}, "id")
    assert form.collect({"id": "x"}).errors == {"id": "expected an integer"}


def test_a_violation_of_no_field_is_reported_apart() -> None:
    form = make_form({"a": {"type": "string"}}, minProperties=2)
    arguments = form.collect({"a": "x"})
    assert arguments.errors == {}
    assert arguments.other_errors == ('the arguments must have at least 2 members, not {"a":"x"}',)
    assert not arguments.is_valid


def test_a_schema_that_cannot_be_compiled_has_a_form_without_checks() -> None:
    form = make_form({"a": {"type": "strnig"}})
    assert "the arguments are not checked" in form.trouble
    assert form.collect({"a": "1"}).values == {"a": 1}


def test_required_json_begins_with_a_valid_sample() -> None:
    pet = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "species": {"enum": ["cat", "dog"]}},
        "required": ["name", "species"],
    }
    form = make_form(
        {"body": pet, "options": {"type": "object"}, "id": {"type": "integer"}}, "body"
    )
    suggested = form.suggest()
    assert suggested.keys() == {"body"}
    assert set(json.loads(suggested["body"])) == {"name", "species"}
    assert form.collect(suggested).is_valid


def test_a_schema_without_a_sample_suggests_nothing() -> None:
    assert make_form({"a": {"allOf": [{"type": "object"}, False]}}, "a").suggest() == {}
