from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpgen.jsonschema.patterns import iterate_matching_texts
from mcpgen.jsonschema.samples import (
    MAX_SAMPLE_BYTES,
    CannotSampleError,
    Which,
    choose_example,
    sample,
)
from mcpgen.jsonschema.schemas import Schemas

SCHEMAS: dict[str, Any] = {
    "Category": {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string"},
            "children": {"type": "array", "items": {"$ref": "#/$defs/Category"}},
            "parent": {"$ref": "#/$defs/Category"},
        },
    },
    "Endless": {
        "type": "object",
        "required": ["next"],
        "properties": {"next": {"$ref": "#/$defs/Endless"}},
    },
    "Animal": {"oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}]},
    "Cat": {
        "type": "object",
        "required": ["kind", "lives"],
        "properties": {"kind": {"const": "cat"}, "lives": {"type": "integer", "maximum": 9}},
    },
    "Dog": {
        "type": "object",
        "required": ["kind"],
        "properties": {"kind": {"const": "dog"}, "barks": {"type": "boolean"}},
    },
}
EVERY: tuple[Which, ...] = ("example", "smallest", "largest")


def made(schema: Any, which: Which = "example", **options: Any) -> Any:
    return sample(schema, schemas=SCHEMAS, which=which, **options)


@pytest.mark.parametrize("which", EVERY)
@pytest.mark.parametrize(
    "schema",
    [
        True,
        {},
        {"$ref": "#/$defs/Category"},
        {"$ref": "#/$defs/Animal"},
        {"type": "array", "items": {"$ref": "#/$defs/Animal"}, "minItems": 3},
        {"type": "string", "pattern": r"^[A-Z]{3}-\d+$", "minLength": 9},
        {"type": "string", "pattern": r"^(?:\+[1-9]\d{1,14}|0\d{3,})$"},
        {"type": "string", "pattern": "^(?=[a-z])[a-z0-9]{3}$"},
        {"type": "string", "minLength": 3, "maxLength": 3},
        {"type": "array", "items": {"enum": ["a", "b", "c"]}, "uniqueItems": True, "minItems": 3},
        {"type": "array", "items": {"type": "boolean"}, "uniqueItems": True, "minItems": 2},
        {"type": "array", "prefixItems": [{"const": 1}, {"type": "string"}], "minItems": 2},
        {"type": "array", "contains": {"const": 5}, "items": {"type": "integer"}},
        {"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 0.5, "maximum": 0.9}]},
        {"anyOf": [{"type": "null"}, {"type": "string", "minLength": 1}]},
        {"allOf": [{"$ref": "#/$defs/Cat"}, {"required": ["x"], "properties": {"x": {}}}]},
        {"allOf": [{"type": "string", "pattern": "^a"}, {"pattern": "z$", "minLength": 2}]}
        | {"examples": ["a to z"]},
        {"type": "integer", "not": {"enum": [0, 1]}},
        {"type": "integer", "exclusiveMinimum": 0, "multipleOf": 5, "maximum": 7},
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        {"type": "number", "multipleOf": 0.01, "minimum": 0.005},
        {"type": "integer", "format": "int32"},
        {"type": "integer", "minimum": 10**15},
        {"type": ["string", "null"], "format": "date-time"},
        {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 2},
        {"type": "object", "patternProperties": {"^x-": {"type": "string"}}, "minProperties": 1}
        | {"additionalProperties": False},
        {"type": "object", "minProperties": 1, "properties": {"a": {"type": "string"}}},
        {"type": "object", "properties": {"a": {}, "b": {}}, "dependentRequired": {"a": ["b"]}},
        {
            "properties": {"kind": {"enum": ["a", "b"]}},
            "if": {"properties": {"kind": {"const": "a"}}, "required": ["kind"]},
            "then": {"required": ["size"], "properties": {"size": {"type": "integer"}}},
        },
        {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
        | {"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}},
        {"enum": [None, "x"]},
        {"type": "string", "format": "uuid", "default": "not a uuid"},
    ],
)
def test_sample_is_valid(schema: Any, which: Which) -> None:
    value = made(schema, which)

    root = {"allOf": [schema], "$defs": SCHEMAS}
    jsonschema_rs.Draft202012Validator(root, validate_formats=True).validate(value)


@pytest.mark.parametrize(
    "name",
    [
        *("date", "time", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "uri"),
        *("iri", "uri-reference", "uri-template", "uuid", "json-pointer", "regex", "idn-email"),
    ],
)
def test_sample_of_a_format_has_that_format(name: str) -> None:
    schema = {"type": "string", "format": name}

    assert jsonschema_rs.Draft202012Validator(schema, validate_formats=True).is_valid(made(schema))


def test_the_smallest_sample_has_only_required_properties() -> None:
    schema = {
        "type": "object",
        "required": ["id"],
        "properties": {
            "id": {"type": "integer", "minimum": 1, "maximum": 10},
            "tags": {"type": "array", "items": {"type": "string", "maxLength": 3}},
            "is_new": {"type": "boolean"},
        },
    }

    assert made(schema, "smallest") == {"id": 1}
    assert made(schema, "largest") == {"id": 10, "tags": ["tag", "ta1"], "is_new": True}


@pytest.mark.parametrize("which", ["smallest", "example", "largest"])
def test_an_object_without_members_needs_no_name_for_one(which: Which) -> None:
    assert made({"type": "object", "propertyNames": False}, which) == {}


def test_a_default_of_another_type_than_the_members_imply_is_not_used() -> None:
    described = {"properties": {"a": {"const": 1}}, "default": "the details"}
    assert made(described) == {"a": 1}
    assert made({"items": {"const": 1}, "minItems": 1, "default": "the list"}) == [1]
    assert made({"default": "any text"}) == "any text"


def test_examples_and_defaults_come_first_when_they_are_valid() -> None:
    assert made({"type": "string", "examples": ["sea & salt"]}) == "sea & salt"
    assert made({"type": "integer", "default": 20}) == 20
    assert made({"type": "integer", "examples": ["twenty"], "default": 20}) == 20


def test_recursion_stops_at_the_first_level() -> None:
    assert made({"$ref": "#/$defs/Category"}, "largest") == {"name": "name", "children": []}


def test_variants_and_seeds_produce_different_values() -> None:
    for schema in ({"type": "string"}, {"type": "integer"}, {"type": "number"}):
        values = {json.dumps(made(schema, variant=variant)) for variant in range(5)}
        assert len(values) == 5
        assert made(schema, seed="owner") != made(schema, seed="repo")


def test_the_same_schema_produces_the_same_value() -> None:
    schema = {"$ref": "#/$defs/Animal"}

    assert [made(schema, which) for which in EVERY] == [made(schema, which) for which in EVERY]


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (False, "allows nothing"),
        ({"$ref": "#/$defs/Endless"}, "its schema requires itself"),
        ({"$ref": "#/$defs/Nowhere"}, "nothing is at `#/$defs/Nowhere`"),
        ({"type": "integer", "minimum": 5, "maximum": 4}, "no number lies within its bounds"),
        ({"type": "string", "minLength": 10**9}, "1000000000 characters"),
        ({"type": "array", "minItems": 10**9}, "1000000000 items"),
        ({"type": "object", "minProperties": 10**9}, "1000000000 properties"),
        ({"type": "string", "pattern": "(["}, "cannot be compiled"),
        (
            {"type": "string", "pattern": "^(?=x)(?!x)$"},
            "texts cannot be generated from the pattern",
        ),
        ({"type": "string", "minLength": 2, "maxLength": 1}, "over its longest"),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, "no value satisfies it"),
        ({"type": "string", "enum": []}, "no value satisfies it"),
    ],
)
def test_a_schema_that_cannot_be_sampled_raises_with_a_reason(schema: Any, reason: str) -> None:
    with pytest.raises(CannotSampleError) as caught:
        made(schema)

    assert reason in str(caught.value)


def test_the_reason_contains_the_location() -> None:
    schema = {"type": "object", "required": ["a"], "properties": {"a": {"items": False}}}
    schema["properties"] = {"a": {"type": "array", "minItems": 1, "items": False}}

    with pytest.raises(CannotSampleError, match="at `/a/0`: its schema allows nothing"):
        made(schema)


def test_samples_of_deeply_nested_schemas_are_small() -> None:
    levels: dict[str, Any] = {"L0": {"type": "string"}}
    for level in range(1, 13):
        inner = {"$ref": f"#/$defs/L{level - 1}"}
        levels[f"L{level}"] = {
            "type": "object",
            "properties": dict.fromkeys("abcdef", inner),
            "required": ["a"],
        }

    for which in EVERY:
        value = sample({"$ref": "#/$defs/L12"}, schemas=levels, which=which)
        assert len(json.dumps(value)) < MAX_SAMPLE_BYTES // 8


def test_a_required_sample_above_the_size_limit_is_rejected() -> None:
    schema: Any = {"type": "integer"}
    for _ in range(4):
        schema = {"type": "array", "minItems": 100, "items": schema}

    with pytest.raises(CannotSampleError, match="too large"):
        made(schema)


@pytest.mark.parametrize("example", [None, "{}", 7, True])
def test_an_example_without_the_members_of_a_schema_without_type_is_not_chosen(
    example: Any,
) -> None:
    schema: Any = {"properties": {"name": {"type": "string"}}}
    assert choose_example(schema, [example, {"name": "Rex"}], Schemas({})) == {"name": "Rex"}


@settings(max_examples=60)
@given(
    st.from_regex(
        r"\A(\^)?(([a-c]|\[[a-c]-[d-f]\]|\\d|\\w|\(ab\|c\))([*+?]|\{[1-3]\}|\{1,3\})?){1,4}(\$)?\Z"
    )
)
def test_texts_match_their_pattern(pattern: str) -> None:
    import re

    texts = [text for text, _ in zip(iterate_matching_texts(pattern), range(5), strict=False)]

    assert texts
    for text in texts:
        assert re.search(pattern, text), (pattern, text)


def test_hostile_pattern_is_bounded() -> None:
    texts = iterate_matching_texts("((((a{4000}){4000}){4000}){4000}){4000}", longest=1000)

    assert list(texts) == []


@pytest.mark.parametrize(("most", "compilations"), [(4_000_000, 2), (1, 10)])
def test_only_the_compiled_schemas_that_were_used_last_are_kept(
    monkeypatch: pytest.MonkeyPatch, most: int, compilations: int
) -> None:
    compiled = []

    class Counted(jsonschema_rs.Draft202012Validator):
        def __new__(cls, schema: Any, **options: Any) -> Any:
            compiled.append(schema)
            return super().__new__(cls, schema, **options)

    monkeypatch.setattr("jsonschema_rs.Draft202012Validator", Counted)
    monkeypatch.setattr("mcpgen.jsonschema.schemas._MAX_COMPILED_BYTES", most)
    schemas = Schemas(SCHEMAS)
    fits_cat = schemas.checker({"$ref": "#/$defs/Cat"})
    fits_category = schemas.checker({"$ref": "#/$defs/Category"})
    cat, category = {"kind": "cat", "lives": 9}, {"name": "pets"}

    for _ in range(2):
        assert (fits_cat(cat), fits_category(category)) == (True, True)
        assert (fits_cat(category), fits_category(cat)) == (False, False)
    assert len(compiled) == compilations
