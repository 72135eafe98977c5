"""Evaluations without compilation have the results of the validator."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpgen.jsonschema import schemas
from mcpgen.jsonschema.evaluation import Evaluation, TooManyStepsError
from mcpgen.jsonschema.schemas import Schemas

NAMED: dict[str, Any] = {
    "Tree": {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/Tree"}, "b": {"type": ["string", "null"]}},
        "additionalProperties": False,
    },
    "Short": {"type": "string", "maxLength": 2},
}
NAMES = st.sampled_from(["a", "b", "c"])
SCALARS = st.sampled_from(
    [None, True, False, 0, 1, -3, 1.0, 2.5, 2**70, "", "a", "abc", "2020-01-01", "é"]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
TYPES = st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null"])
KEYWORDS: dict[str, st.SearchStrategy[Any]] = {
    "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
    "enum": st.lists(VALUES, min_size=1, max_size=3),
    "const": VALUES,
    "format": st.sampled_from(["date", "uri", "unknown"]),
    "pattern": st.sampled_from(["^a", "b$"]),
    "minLength": st.integers(0, 3),
    "maxLength": st.integers(0, 3),
    "minimum": st.integers(-3, 3),
    "exclusiveMaximum": st.integers(-3, 3),
    "multipleOf": st.sampled_from([1, 2, 0.5]),
    "minItems": st.integers(0, 3),
    "maxItems": st.integers(0, 3),
    "uniqueItems": st.booleans(),
    "minProperties": st.integers(0, 3),
    "maxProperties": st.integers(0, 3),
    "required": st.lists(NAMES, max_size=2, unique=True),
    "description": st.just("Some text."),
    "examples": st.lists(VALUES, max_size=2),
    "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, max_size=2, unique=True)),
    "$ref": st.sampled_from([f"#/$defs/{name}" for name in NAMED]),
}


def extend(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=3)
    nested = {
        "properties": st.dictionaries(NAMES, inner, max_size=3),
        "patternProperties": st.dictionaries(st.sampled_from(["a", "^b"]), inner, max_size=2),
        "additionalProperties": inner,
        "items": inner,
        "prefixItems": several,
        "not": inner,
        "allOf": several,
        "anyOf": several,
        "oneOf": several,
    }
    return st.fixed_dictionaries({}, optional=nested).flatmap(
        lambda found: st.fixed_dictionaries({}, optional=KEYWORDS).map(lambda own: own | found)
    )


SCHEMAS = st.recursive(
    st.booleans() | st.fixed_dictionaries({}, optional=KEYWORDS), extend, max_leaves=5
)


@settings(max_examples=400)
@given(SCHEMAS, VALUES)
def test_a_value_is_valid_as_for_the_validator(schema: Any, value: Any) -> None:
    is_valid = Schemas(NAMED).checker(schema)(value)
    named = Schemas(NAMED)  # without the compiled schema, which would be used
    assert named.fits(schema, value) is is_valid
    assert named.is_surely_invalid(schema, value) is not is_valid
    assert (named.problem(schema, value) == "") is is_valid


@pytest.mark.parametrize(
    ("schema", "value", "is_valid"),
    [
        ({"properties": {"a": {"type": "integer"}}}, {"a": 1.0}, True),
        ({"type": "integer"}, True, False),
        ({"type": ["number", "null"]}, 1, True),
        ({"enum": [1]}, True, False),
        ({"oneOf": [{"type": "integer"}, {"minimum": 2}]}, 3, False),
        ({"oneOf": [{"type": "integer"}, {"minimum": 2}]}, 1, True),
        ({"additionalProperties": False, "patternProperties": {"^x": True}}, {"xy": 1}, True),
        ({"additionalProperties": False, "properties": {"a": True}}, {"a": 1}, True),
        ({"additionalProperties": False, "properties": {"a": True}}, {"b": 1}, False),
        ({"additionalProperties": {"type": "integer"}}, {"b": "text"}, False),
        ({"properties": {"a": False}}, {"a": 1}, False),
        ({"required": ["a"]}, {"b": 1}, False),
        ({"required": ["a"]}, "text", True),
        ({"items": False}, [], True),
        ({"items": {"type": "integer"}}, [1, "text"], False),
        ({"prefixItems": [True], "items": False}, [1], True),
        ({"anyOf": [{"type": "integer"}, {"minLength": 2}]}, "a", False),
        ({"enum": ["a", 1]}, "b", False),
        ({"enum": ["a", 1], "maxLength": 0}, "a", False),
        ({"$ref": "#/$defs/Short", "minLength": 2}, "abc", False),
        ({"allOf": [{"$ref": "#/$defs/Short"}, {"minLength": 2}]}, "ab", True),
    ],
)
def test_keywords_are_applied(schema: Any, value: Any, is_valid: bool) -> None:
    named = Schemas(NAMED)
    assert named.fits(schema, value) is is_valid
    assert named.checker(schema)(value) is is_valid


def test_what_a_value_lacks_is_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[Any] = []
    get = schemas._CompiledSchemas.get

    def note(self: Any, owner: object, schema: Any) -> Any:
        compiled.append(schema)
        return get(self, owner, schema)

    monkeypatch.setattr(schemas._CompiledSchemas, "get", note)
    named = Schemas(NAMED | {"Wide": {"properties": {"short": {"$ref": "#/$defs/Short"}}}})
    for text in ("a", "ab", "a"):
        assert named.fits({"$ref": "#/$defs/Wide"}, {"short": text, "other": [text]})
    assert [*map(repr, compiled)] == [repr({"maxLength": 2})] * len(compiled)


@pytest.mark.parametrize("length", [10, 10_000])
def test_an_expensive_evaluation_ends(length: int) -> None:
    deep: dict[str, Any] = {
        f"{level}": {"allOf": [{"$ref": f"#/$defs/{level + 1}"}] * 8} for level in range(length)
    }
    named = Schemas(deep | {f"{length}": {}})
    with pytest.raises((TooManyStepsError, RecursionError)):
        Evaluation(named.target, named._evaluate, 10_000).is_valid({"$ref": "#/$defs/0"}, 1)


def test_a_value_that_takes_too_long_to_check_is_neither_valid_nor_surely_invalid() -> None:
    deep: dict[str, Any] = {
        f"{level}": {"allOf": [{"$ref": f"#/$defs/{level + 1}"}] * 8} for level in range(8)
    }
    named = Schemas(deep | {"8": {}})
    schema = {"allOf": [{"$ref": "#/$defs/0"}, {"type": "string"}]}
    assert not named.fits(schema, 1)
    assert not named.is_surely_invalid(schema, 1)
    assert named.is_surely_invalid({"type": "string"}, 1)


def test_a_value_that_is_evaluated_for_too_long_is_left_to_the_validator() -> None:
    items = [[number] for number in range(3_000)]
    named = Schemas({})
    schema = {"type": "array", "items": {"type": "array", "items": {"maximum": 2_999}}}
    for too_many in (items, items * 10):
        assert named.fits(schema, too_many)
        assert not named.fits(schema, [*too_many, [3_000]])
