"""Tests of messages about violations of an input schema, and of bounded validation time."""

from __future__ import annotations

import time
from typing import Any

import pytest

from mcpgen.jsonschema.validation import SchemaValidator
from mcpgen.jsonschema.violations import MAX_PROBLEMS, unknown_names

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "limit": {"type": "integer", "minimum": 1, "exclusiveMaximum": 100},
        "status": {"enum": ["sold", "available", None]},
        "name": {"type": "string", "minLength": 2, "maxLength": 5, "pattern": "^[a-z]*$"},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2, "uniqueItems": True},
        "when": {"type": "string", "format": "date"},
        "price": {"type": ["number", "null"], "multipleOf": 0.5},
        "kind": {"const": "dog"},
        "owner": {
            "type": "object",
            "required": ["id"],
            "properties": {"id": {"type": "integer"}, "a/b": {"type": "string"}},
            "additionalProperties": False,
        },
        "either": {"oneOf": [{"type": "string"}, {"type": "array"}]},
        "shape": {
            "oneOf": [
                {"type": "object", "properties": {"k": {"const": "a"}, "x": {"type": "integer"}}},
                {"type": "object", "properties": {"k": {"const": "b"}}, "required": ["y", "z"]},
            ]
        },
    },
    "required": ["limit"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, "`/limit` is required and was not given"),
        ({"limit": 0}, "`/limit` must be at least 1, not 0"),
        ({"limit": 100}, "`/limit` must be less than 100, not 100"),
        ({"limit": "5"}, '`/limit` must be an integer, not "5"'),
        ({"limit": None}, "`/limit` must be an integer, not null"),
        ({"limit": 1, "status": "x"}, '`/status` must be "sold", "available" or null, not "x"'),
        ({"limit": 1, "name": "a"}, '`/name` must have at least 2 characters, not "a"'),
        ({"limit": 1, "name": "abcdef"}, '`/name` must have at most 5 characters, not "abcdef"'),
        ({"limit": 1, "name": "AB"}, '`/name` must match the pattern `^[a-z]*$`, not "AB"'),
        ({"limit": 1, "tags": ["a", 1]}, "`/tags/1` must be a string, not 1"),
        ({"limit": 1, "tags": ["a", "a"]}, "`/tags` must not have the same item twice"),
        ({"limit": 1, "tags": list("abc")}, "`/tags` must have at most 2 items"),
        ({"limit": 1, "when": "soon"}, '`/when` must be a `date`, not "soon"'),
        ({"limit": 1, "price": "x"}, '`/price` must be a number or null, not "x"'),
        ({"limit": 1, "price": 0.3}, "`/price` must be a multiple of 0.5, not 0.3"),
        ({"limit": 1, "kind": "cat"}, '`/kind` must be "dog", not "cat"'),
        ({"limit": 1, "owner": {}}, "`/owner/id` is required and was not given"),
        ({"limit": 1, "owner": {"id": 1, "x": 2}}, "`/owner/x` is not known"),
        ({"limit": 1, "owner": {"id": 1, "a/b": 2}}, "`/owner/a~1b` must be a string, not 2"),
        ({"limit": 1, "either": 3}, "`/either` must be a string or an array, not 3"),
        ({"limit": 1, "shape": {"k": "a", "x": "y"}}, '`/shape/x` must be an integer, not "y"'),
    ],
)
def test_violation_names_argument_rule_and_value(arguments: Any, expected: str) -> None:
    (problem,) = SchemaValidator(SCHEMA).problems(arguments)
    assert expected in problem


@pytest.mark.parametrize(
    "arguments",
    [{"limit": 1.0}, {"limit": 5, "status": None, "price": None, "tags": [], "either": ""}],
)
def test_valid_arguments_have_no_problems(arguments: Any) -> None:
    assert SchemaValidator(SCHEMA).problems(arguments) == ()


def test_every_problem_is_reported_up_to_a_limit() -> None:
    validator = SchemaValidator({"type": "array", "items": {"type": "integer"}})
    problems = validator.problems(["x"] * 15)
    assert len(problems) == MAX_PROBLEMS + 1
    assert problems[-1] == "and 5 more"


def test_a_long_value_is_truncated_in_the_message() -> None:
    (problem,) = SchemaValidator({"type": "integer"}).problems("x" * 10_000)
    assert len(problem) < 150


def test_an_unknown_name_is_reported_with_a_suggestion() -> None:
    assert unknown_names((), ["limt"], ["limit", "status"]) == (
        "`/limt` is not known; did you mean `/limit`?"
    )
    assert unknown_names((), ["zzz"], ["limit"]) == "`/zzz` is not known"


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("^(a+)+$", "a" * 40 + "!"),
        (r"^([a-zA-Z0-9]+\.?)+@x$", "a" * 5000),
        (r"^(?=a)(a+)+\1$", "a" * 5000 + "!"),
        (r"(a*)*\1b", "a" * 5000),
    ],
)
def test_a_hostile_pattern_is_evaluated_in_bounded_time(pattern: str, text: str) -> None:
    validator = SchemaValidator({"type": "object", "properties": {"q": {"pattern": pattern}}})
    start = time.perf_counter()
    (problem,) = validator.problems({"q": text})
    assert time.perf_counter() - start < 0.1
    assert problem.startswith("`/q` ")


def test_a_huge_instance_is_rejected_at_its_first_violation() -> None:
    validator = SchemaValidator({"type": "array", "items": {"type": "integer"}})
    start = time.perf_counter()
    problems = validator.problems(["x"] * 100_000)
    assert time.perf_counter() - start < 0.2
    assert problems == ('`/0` must be an integer, not "x"',)


def test_an_unsupported_pattern_does_not_disable_other_rules() -> None:
    validator = SchemaValidator(
        {
            "type": "object",
            "properties": {
                "a": {"type": "string", "pattern": r"^\cA[$"},
                "pattern": {"type": "string", "pattern": "^x$"},
            },
            "patternProperties": {"[": False},
        }
    )
    assert validator.problems({"a": "anything", "pattern": "x"}) == ()
    assert len(validator.problems({"a": 1, "pattern": "y"})) == 2


def test_a_remote_reference_is_not_fetched() -> None:
    with pytest.raises(ValueError, match="Retrieval is disabled"):
        SchemaValidator({"$ref": "http://127.0.0.1:9/schema"})


def test_recursive_schema_validates_at_every_depth() -> None:
    tree = {
        "$ref": "#/$defs/Node",
        "$defs": {
            "Node": {"properties": {"n": {"$ref": "#/$defs/Node"}, "v": {"type": "integer"}}}
        },
    }
    assert SchemaValidator(tree).problems({"n": {"n": {"v": "x"}}}) == (
        '`/n/n/v` must be an integer, not "x"',
    )


def test_problems_have_the_place_of_what_is_wrong_or_missing() -> None:
    validator = SchemaValidator(
        {
            "properties": {"list": {"items": {"maximum": 5}}, "name": {"type": "string"}},
            "required": ["name"],
            "minProperties": 2,
        }
    )
    places = {path for path, _ in validator.locate_problems({"list": [1, 9]})}
    assert places == {("list", 1), ("name",), ()}
    assert validator.locate_problems({"list": [], "name": "x"}) == []


def test_problems_with_a_place_are_bounded() -> None:
    validator = SchemaValidator({"items": {"type": "string"}})
    assert len(validator.locate_problems(list(range(1000)))) == MAX_PROBLEMS
