"""Tests of the rows of clients.toml, and of the checks of their limits."""

from __future__ import annotations

import re
from typing import Any

import pytest

from mcpgen.ir.client_checks import CheckedServer, find_missing_hints, iterate_excesses
from mcpgen.ir.clients import EFFECTS, ClientLimit, read_clients
from mcpgen.jsonschema.features import iterate_features, iterate_schemas

ALL_LIMITS = [(client, limit) for client in read_clients().values() for limit in client.limit]
FEATURES = {
    "additional-properties", "all-of", "array-without-items", "choice", "choice-in-items",
    "dialect", "duplicate-required", "dynamic-reference", "exclusive-bounds", "length-bounds",
    "missing-hints", "not", "number-bounds", "one-of", "open-object", "optional-property",
    "property-names", "recursion", "reference", "root-choice", "type-union",
}  # fmt: skip


@pytest.mark.parametrize(("client", "limit"), ALL_LIMITS, ids=lambda it: it.id)
def test_every_limit_states_one_thing_a_source_and_a_month(client: Any, limit: ClientLimit) -> None:
    kinds = [limit.counts is not None, bool(limit.pattern), bool(limit.features)]
    assert kinds.count(True) == 1, client.id
    assert (limit.most > 0) == (limit.counts is not None)
    assert limit.source
    assert re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", limit.verified)
    assert limit.effect in EFFECTS
    assert set(limit.features) <= FEATURES


def test_limits_have_unique_ids_within_their_client() -> None:
    for client in read_clients().values():
        own = [limit.id for limit in client.limit if limit.id != "tool-name"]
        assert len(own) == len(set(own)), client.id


def test_a_client_has_the_limits_of_the_api_that_it_extends() -> None:
    names = {limit.id for limit in read_clients()["claude-desktop"].limit}
    assert {"property-name", "root-choice", "name-length"} <= names


def tool(name: str = "get_pet", **more: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}, **more}


def excesses(limit: ClientLimit, *tools: dict[str, Any], server: str = "shop") -> list[str]:
    return [each.message for each in iterate_excesses(CheckedServer(server, tools), limit)]


def row(**more: Any) -> ClientLimit:
    return ClientLimit("x", "rule", "dropped", "source", "2026-11", **more)


@pytest.mark.parametrize(("length", "count"), [(55, 0), (56, 1)])
def test_a_name_is_measured_with_what_the_client_puts_around_it(length: int, count: int) -> None:
    limit = row(counts="tool-name", most=60, around="{server}.{tool}")
    assert len(excesses(limit, tool("a" * length))) == count


@pytest.mark.parametrize(("tools", "count"), [(2, 0), (3, 1)])
def test_tools_are_counted_once_for_the_server(tools: int, count: int) -> None:
    limit = row(counts="tools", most=2)
    found = excesses(limit, *(tool(f"t{number}") for number in range(tools)))
    assert found == ["3 tools are listed (limit: 2)"] * count


@pytest.mark.parametrize(("key", "is_reported"), [("a.b", False), ("uids[]", True)])
def test_property_names_are_matched_at_every_level(key: str, is_reported: bool) -> None:
    limit = row(pattern="^[a-z.]+$")
    inner = {"type": "object", "properties": {key: {"type": "string"}}}
    schema = {"type": "object", "properties": {"list": {"type": "array", "items": inner}}}
    assert bool(excesses(limit, tool(inputSchema=schema))) == is_reported


@pytest.mark.parametrize(
    ("what", "most", "is_reported"),
    [
        ("all-enum-values", 3, False),
        ("all-enum-values", 2, True),
        ("all-properties", 3, False),
        ("all-properties", 2, True),
        ("all-optional-parameters", 2, False),
        ("all-optional-parameters", 1, True),
        ("all-unions", 1, False),
        ("all-unions", 0, True),
    ],
)
def test_counts_of_a_request_add_up(what: Any, most: int, is_reported: bool) -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"enum": [1, 2, 3]},
            "b": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "c": {},
        },
        "required": ["a"],
    }
    assert bool(excesses(row(counts=what, most=most), tool(inputSchema=schema))) == is_reported


@pytest.mark.parametrize(
    ("schema", "feature"),
    [
        ({"anyOf": [{}]}, "root-choice"),
        ({"properties": {"a": {"oneOf": [{}]}}}, "one-of"),
        ({"properties": {"a": {"allOf": [{}]}}}, "all-of"),
        ({"properties": {"a": {"anyOf": [{}]}}}, "choice"),
        ({"properties": {"a": {"type": "array"}}}, "array-without-items"),
        ({"properties": {"a": {"items": {"anyOf": [{}]}}}}, "choice-in-items"),
        ({"properties": {"a": {"type": ["string", "null"]}}}, "type-union"),
        ({"properties": {"a": {"$ref": "#/$defs/A"}}}, "reference"),
        ({"$defs": {"A": {"items": {"$ref": "#/$defs/A"}}}}, "recursion"),
        ({"$schema": "x"}, "dialect"),
        ({"required": ["a", "a"]}, "duplicate-required"),
        ({"properties": {"a": {"exclusiveMinimum": 1}}}, "exclusive-bounds"),
        ({"properties": {"a": {"multipleOf": 1}}}, "number-bounds"),
        ({"properties": {"a": {"maxLength": 1}}}, "length-bounds"),
        ({"properties": {"a": {"propertyNames": {}}}}, "property-names"),
        ({"properties": {"a": {"not": {}}}}, "not"),
        ({"properties": {"a": {"$dynamicRef": "#x"}}}, "dynamic-reference"),
        ({"additionalProperties": False}, "additional-properties"),
        ({"properties": {"a": {}}}, "optional-property"),
        ({"type": "object"}, "open-object"),
    ],
)
def test_each_construct_is_found(schema: Any, feature: str) -> None:
    assert feature in {each.name for each in iterate_features(schema)}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {}, "additionalProperties": False},
        {
            "type": "object",
            "properties": {"anyOf": {"type": "string", "enum": ["oneOf"], "default": "$ref"}},
            "required": ["anyOf"],
            "additionalProperties": False,
        },
    ],
)
def test_names_and_data_are_no_constructs(schema: Any) -> None:
    assert {each.name for each in iterate_features(schema)} == {"additional-properties"}


@pytest.mark.parametrize("schema", [None, 7, [], {"properties": 3, "anyOf": {}, "required": None}])
def test_any_json_can_be_examined(schema: Any) -> None:
    assert [*iterate_schemas(schema)]
    assert {each.name for each in iterate_features(schema)} <= {"choice", "root-choice"}


@pytest.mark.parametrize(
    ("annotations", "missing"),
    [
        (None, ("readOnlyHint", "destructiveHint", "openWorldHint")),
        ({"readOnlyHint": True, "openWorldHint": True}, ()),
        ({"readOnlyHint": False, "openWorldHint": True}, ("destructiveHint",)),
        (
            {"readOnlyHint": "yes", "destructiveHint": True, "openWorldHint": False},
            ("readOnlyHint",),
        ),
    ],
)
def test_missing_hints_are_those_that_matter(annotations: Any, missing: tuple[str, ...]) -> None:
    assert find_missing_hints(tool(annotations=annotations)) == missing
