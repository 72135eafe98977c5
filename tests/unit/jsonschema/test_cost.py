"""Tests of the bounds on the cost of evaluating a schema, and of evaluation within them."""

from __future__ import annotations

import time
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpgen.jsonschema.cost import CostModel, SchemaCosts
from mcpgen.jsonschema.validation import SchemaValidator
from mcpgen.jsonschema.violations import unknown_names

DRAFT_07 = "http://json-schema.org/draft-07/schema#"
SECONDS = 10.0
"""Limit in CPU time for work that takes at most 0.4 s on an idle machine."""
NO_LOCATION = "does not match its schema; too deep or too large to report the location"
TOO_COMPLEX = "the value is too complex to validate, so it is rejected; send a smaller one"
A = {"$ref": "#/$defs/A"}
IN_A = {"properties": {"a": A}}


def nested(leaf: Any, levels: int) -> Any:
    for _ in range(levels):
        leaf = {"a": leaf}
    return leaf


def recursive(schema: dict[str, Any]) -> dict[str, Any]:
    return {"$defs": {"A": schema}, "$ref": "#/$defs/A"}


RECURSIVE: dict[str, dict[str, Any]] = {
    "anyOf": recursive({"anyOf": [IN_A, {**IN_A, "minProperties": 1}], "type": "object"}),
    "oneOf": recursive({"oneOf": [IN_A, {**IN_A, "minProperties": 1}], "type": "object"}),
    "allOf": recursive({"allOf": [IN_A, {**IN_A, "minProperties": 1}], "type": "object"}),
    "if": recursive({"if": IN_A, "then": IN_A, "else": IN_A, "type": "object"}),
    "not": recursive({"allOf": [{"not": {"not": IN_A}}] * 2, "type": "object"}),
    "dependentSchemas": recursive({"dependentSchemas": {"a": IN_A}, **IN_A, "type": "object"}),
    "patternProperties": recursive({"patternProperties": {"a": A, "^a": A}, "type": "object"}),
    "unevaluatedProperties": recursive(
        {"anyOf": [IN_A, {"properties": {"b": A}}], "unevaluatedProperties": A, "type": "object"}
    ),
    "$dynamicRef": {
        "$dynamicAnchor": "node",
        "type": "object",
        "anyOf": [
            {"properties": {"a": {"$dynamicRef": "#node"}}},
            {"properties": {"a": {"$dynamicRef": "#node"}}, "minProperties": 1},
        ],
    },
    "$anchor": {
        "$anchor": "node",
        "type": "object",
        "anyOf": [{"properties": {"a": {"$ref": "#node"}}}] * 2,
    },
    "draft-07": {
        "$schema": DRAFT_07,
        "type": "object",
        "anyOf": [{"properties": {"a": {"$ref": "#"}}}] * 2,
        "dependencies": {"a": {"properties": {"a": {"$ref": "#"}}}},
    },
}


@pytest.mark.parametrize("schema", RECURSIVE.values(), ids=list(RECURSIVE))
def test_a_deep_instance_of_a_recursive_schema_is_validated_in_bounded_time(
    schema: dict[str, Any],
) -> None:
    validator = SchemaValidator(schema)
    started = time.process_time()
    leaves: tuple[Any, ...] = ({}, 1)
    for leaf in leaves:
        is_valid = validator.is_valid(nested(leaf, 100))
        assert is_valid is not bool(validator.problems(nested(leaf, 100)))
        assert validator.places(nested(leaf, 100)) is None
    assert time.process_time() - started < SECONDS


@pytest.mark.parametrize("schema", RECURSIVE.values(), ids=list(RECURSIVE))
def test_errors_of_a_flat_instance_are_collected(schema: dict[str, Any]) -> None:
    (problem, *_) = SchemaValidator(schema).problems({"a": 1})
    assert not problem.endswith(NO_LOCATION)


def doubled(levels: int) -> dict[str, Any]:
    read_levels = range(levels)
    definitions: dict[str, Any] = {
        f"D{n}": {"anyOf": [{"$ref": f"#/$defs/D{n + 1}"}] * 2} for n in read_levels
    }
    definitions[f"D{levels}"] = {"type": "string"}
    return {"$defs": definitions, "$ref": "#/$defs/D0"}


FRACTIONS = {"items": {"anyOf": [{"multipleOf": 0.01}, {}]}}
ONE_BY_ONE = {"items": {"anyOf": [{"enum": [*range(1000)]}, {}]}}
PATTERN = {"items": {"anyOf": [{"pattern": r"^(?:(a)|(aa)|a(?=a))*\1b$"}, {"type": "string"}]}}
PATTERNS: dict[str, Any] = {"patternProperties": {f"^x{n}.*y": {} for n in range(2000)}}
WIDE = [10**20 + number for number in range(20_000)]
EXPENSIVE: dict[str, tuple[dict[str, Any], Any]] = {
    "doubled references": (doubled(100), 1),
    "extreme fractions": (FRACTIONS, [1e308] * 90_000),
    "long fractions": ({"items": {"multipleOf": 0.5}}, [10**4000] * 900),
    "wide integers that must differ": ({"uniqueItems": True}, WIDE),
    "wide integers inside of what must differ": ({"uniqueItems": True}, [[it] for it in WIDE]),
    "numbers compared one by one": (ONE_BY_ONE, [999.0] * 50_000),
    "objects compared one by one": (
        {"items": {"enum": [{"a": n} for n in range(1000)]}},
        [{"a": 999}] * 30_000,
    ),
    "names and patterns": (PATTERNS, {f"name{n}": 1 for n in range(50_000)}),
    "items and alternatives": (
        {"allOf": [{"contains": {"enum": [-n - 1]}, "minContains": 0} for n in range(200)]},
        [*range(100_000)],
    ),
}


@pytest.mark.parametrize(("schema", "instance"), EXPENSIVE.values(), ids=list(EXPENSIVE))
def test_an_expensive_instance_is_rejected_without_evaluating_it(
    schema: dict[str, Any], instance: Any
) -> None:
    validator = SchemaValidator(schema)
    started = time.process_time()
    assert validator.problems(instance) == (TOO_COMPLEX,)
    assert validator.places(instance) is None
    assert time.process_time() - started < SECONDS


HARMLESS: dict[str, tuple[dict[str, Any], Any]] = {
    "few doubled references": (doubled(6), "x"),
    "prices": (FRACTIONS, [19.99] * 20_000),
    "different integers": ({"uniqueItems": True}, [*range(50_000)]),
    "a few wide integers": ({"uniqueItems": True}, WIDE[:100]),
    "words and a backtracking pattern": (PATTERN, ["ab"] * 1_000),
    "many texts and a backtracking pattern": (PATTERN, ["a" * 40 + "!"] * 20_000),
    "codes": (ONE_BY_ONE, [7] * 1_000),
}


@pytest.mark.parametrize(("schema", "instance"), HARMLESS.values(), ids=list(HARMLESS))
def test_an_instance_within_the_budget_is_valid(schema: dict[str, Any], instance: Any) -> None:
    started = time.process_time()
    assert SchemaValidator(schema).problems(instance) == ()
    assert time.process_time() - started < SECONDS


def test_an_infinitely_recursive_schema_is_not_evaluated() -> None:
    names = [f"N{number}" for number in range(20)]
    definitions = {
        name: {"allOf": [{"$ref": f"#/$defs/{other}"} for other in names if other != name]}
        for name in names
    }
    validator = SchemaValidator({"$defs": definitions, "$ref": "#/$defs/N0"})
    started = time.process_time()
    assert validator.problems({"a": 1}) == (TOO_COMPLEX,)
    assert validator.problems("a") == (TOO_COMPLEX,)
    assert time.process_time() - started < SECONDS


def test_subtypes_that_refer_back_to_their_union_are_evaluated() -> None:
    kinds = range(20)
    pet = {"oneOf": [{"$ref": f"#/$defs/Kind{kind}"} for kind in kinds], "required": ["kind"]}
    subtypes = {
        f"Kind{kind}": {
            "allOf": [
                {"$ref": "#/$defs/Pet"},
                {"properties": {"kind": {"const": kind}, "age": {"type": "integer"}}},
            ]
        }
        for kind in kinds
    }
    validator = SchemaValidator(
        {"items": {"$ref": "#/$defs/Pet"}, "$defs": {"Pet": pet, **subtypes}}
    )
    assert validator.is_valid([{"kind": 3, "age": 1}] * 1_000)
    assert "`/0/age` must be an integer" in validator.problems([{"kind": 3, "age": "x"}])[0]


def test_invalid_arguments_too_deep_to_explain_are_named() -> None:
    properties = {"body": {"properties": {"first": A, "second": A, "third": {}}}, "limit": {}}
    schema = {"$defs": {"A": RECURSIVE["anyOf"]["$defs"]["A"]}, "properties": properties}
    deep, right = nested(1, 60), nested({}, 60)
    problems = SchemaValidator(schema).problems
    assert problems({"body": {"first": deep, "second": right}, "limit": 1}) == (
        f"`/body/first` {NO_LOCATION}",
    )
    assert problems({"body": {"first": deep, "second": deep}}) == (
        f"`/body/first` {NO_LOCATION}",
        f"`/body/second` {NO_LOCATION}",
    )
    assert problems({"body": {"first": right}}) == ()


def test_a_violation_that_is_too_deep_does_not_show_the_value() -> None:
    assert SchemaValidator(RECURSIVE["anyOf"]).broken_rules(nested("secret", 60)) == (NO_LOCATION,)
    assert "too complex" in SchemaValidator(doubled(100)).broken_rules(1)[0]


def test_a_long_text_is_not_copied_for_each_alternative() -> None:
    validator = SchemaValidator({"anyOf": [{"type": "integer", "maximum": n} for n in range(50)]})
    started = time.process_time()
    assert validator.problems("x" * 4_000_000) == (f"the value {NO_LOCATION}",)
    assert time.process_time() - started < SECONDS


def test_comparisons_of_long_unknown_names_are_limited() -> None:
    known = ["a" * 59 + str(number) for number in range(600)]
    started = time.process_time()
    text = unknown_names((), ["a" * 58 + f"b{number}" for number in range(20)], known)
    assert time.process_time() - started < SECONDS
    assert text.count("did you mean") == 3


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}},
        recursive({**IN_A, "type": "object"}),
        {"type": "array", "items": {"oneOf": [{"type": "string"}, {"type": "integer"}]}},
    ],
)
def test_an_ordinary_schema_is_evaluated_directly(schema: dict[str, Any]) -> None:
    """The validator's own method is bound, so that a call costs nothing more."""
    assert CostModel(schema).is_harmless
    assert isinstance(SchemaValidator(schema).is_valid, type("".join))


NAMES = st.sampled_from(("A", "B"))
LEAVES = st.sampled_from(
    (True, {}, {"type": "object"}, {"type": "string"}, {"const": 1}, {"minProperties": 1})
) | NAMES.map(lambda name: {"$ref": f"#/$defs/{name}"})


def applicators(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=3)
    members = st.dictionaries(st.sampled_from("ab"), inner, min_size=1)
    return st.fixed_dictionaries(
        {},
        optional={
            **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), several),
            **dict.fromkeys(("properties", "patternProperties", "dependentSchemas"), members),
            **dict.fromkeys(("not", "if", "then", "else", "items", "contains"), inner),
            **dict.fromkeys(("additionalProperties", "unevaluatedProperties"), inner),
        },
    )


SCHEMAS = st.recursive(LEAVES, applicators, max_leaves=6)
INSTANCES = st.recursive(
    st.sampled_from((1, "x", None)),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(st.fixed_dictionaries({"A": SCHEMAS, "B": SCHEMAS}), INSTANCES, st.integers(0, 40))
def test_any_schema_is_validated_in_bounded_time_like_the_library(
    definitions: dict[str, Any], leaf: Any, levels: int
) -> None:
    schema = {"$defs": definitions, "$ref": "#/$defs/A"}
    validator = SchemaValidator(schema)
    started = time.process_time()
    for instance in (leaf, nested(leaf, levels)):
        problems = validator.problems(instance)
        assert validator.is_valid(instance) is not bool(problems)
        if problems != (TOO_COMPLEX,):
            library = jsonschema_rs.Draft202012Validator(schema, offline=True)
            assert library.is_valid(instance) is not bool(problems)
    assert time.process_time() - started < SECONDS


@pytest.mark.parametrize(
    "kind", [kind for kind, schema in RECURSIVE.items() if schema.get("$ref") == A["$ref"]]
)
def test_shared_costs_of_definitions_equal_separate_costs(kind: str) -> None:
    definitions = {
        **RECURSIVE[kind]["$defs"],
        "B": {"properties": {"b": A, "c": {"$ref": "#/$defs/B"}}},
    }
    costs = SchemaCosts({"$defs": definitions})
    for root in (A, {"$ref": "#/$defs/B"}, {"items": A}, {"type": "string"}):
        alone = CostModel({**root, "$defs": definitions})
        shared = CostModel(root, costs)
        assert shared.is_harmless == alone.is_harmless
        for levels in (1, 5, 100):
            value = nested({}, levels)
            for limit in (100, 100_000):
                assert shared.allows(value, backtracks=100, max_steps=limit) == alone.allows(
                    value, backtracks=100, max_steps=limit
                ), (root, levels, limit)
