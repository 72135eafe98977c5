"""The portable profile of listed tools, checked independently of the planner."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import jsonschema_rs

NAME = re.compile(r"[a-z][a-z0-9_]{0,47}\Z")
PROPERTY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}\Z")
NOT_IN_EVERY_ENGINE = re.compile(r"\(\?[=!<]|\\[1-9kpPAzZ]|\(\?[a-z]+[:)]|\(\?P|\[\[:")
ROOT_COMBINATORS = ("oneOf", "anyOf", "allOf", "not", "if")
ONLY_OPENAPI = (
    "nullable", "discriminator", "xml", "example", "externalDocs", "readOnly", "writeOnly",
    "$schema", "$id", "$anchor", "$dynamicRef", "$recursiveRef",
)  # fmt: skip
MAX_DESCRIPTION = 1024
MAX_ENUM = 100
MAX_DEPTH = 40  # with definitions written out once; a client reads this without recursing far


def departures(tool: dict[str, Any]) -> Iterator[str]:
    """Yield how a listed tool violates the profile."""
    if not NAME.match(tool["name"]):
        yield f"N1: the name `{tool['name']}`"
    if not 1 <= len(tool.get("description", "")) <= MAX_DESCRIPTION:
        yield f"D1: a description of {len(tool.get('description', ''))} characters"
    for key in ("inputSchema", "outputSchema"):
        if key in tool:
            yield from (f"{key}: {text}" for text in _of_root(tool[key], is_input=key[0] == "i"))


def _of_root(schema: dict[str, Any], *, is_input: bool) -> Iterator[str]:
    if not jsonschema_rs.meta.is_valid(schema):
        yield "is no valid schema of 2020-12"
    if schema.get("type") != "object":
        yield 'S1: the root is not "type": "object"'
    if found := [name for name in ROOT_COMBINATORS if name in schema]:
        yield f"S1: {found} at the root"
    if is_input and schema.get("additionalProperties") is not False:
        yield "S11: the root admits arguments that it does not have"
    definitions = schema.get("$defs", {})
    yield from _of_schema(schema, "#", definitions, 0, is_input=is_input)


def _of_schema(
    schema: Any, at: str, definitions: dict[str, Any], depth: int, *, is_input: bool
) -> Iterator[str]:
    if not isinstance(schema, dict):
        yield f"S9: {at} is {schema!r}"
        return
    if depth > MAX_DEPTH:
        yield f"S8: {at} nests over {MAX_DEPTH} deep"
        return
    yield from _of_keywords(schema, at, definitions, is_input=is_input)
    for where, child in _children(schema):
        yield from _of_schema(child, f"{at}/{where}", definitions, depth + 1, is_input=is_input)


def _of_keywords(
    schema: dict[str, Any], at: str, definitions: dict[str, Any], *, is_input: bool
) -> Iterator[str]:
    if found := [name for name in ONLY_OPENAPI if name in schema]:
        yield f"S6: {at} has {found}"
    reference = schema.get("$ref", "")
    if reference and reference.removeprefix("#/$defs/") not in definitions:
        yield f"S2: {at} refers to {reference}, which is not there"
    if not is_input:  # what comes back is shown, and never sent by a model
        return
    types = schema.get("type", [])
    if isinstance(types, list) and len(types) > 1:
        yield f"S5: {at} has the types {types}"
    if types == "array" and "items" not in schema:
        yield f"S3: {at} has no items"
    if NOT_IN_EVERY_ENGINE.search(schema.get("pattern", "")):
        yield f"S6: {at} has the pattern {schema['pattern']}"
    if len(schema.get("enum", ())) > MAX_ENUM:
        yield f"S8: {at} has an enum of {len(schema['enum'])}"
    properties = schema.get("properties", {})
    for name in properties:
        if not PROPERTY.match(name):
            yield f"S4: {at} has the property `{name}`"
    required = schema.get("required", [])
    if len(required) != len(set(required)) or not set(required) <= properties.keys():
        yield f"S10: {at} requires {required}"


def _children(schema: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for keyword in ("properties", "$defs"):
        for name, child in schema.get(keyword, {}).items():
            yield f"{keyword}/{name}", child
    for keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for number, child in enumerate(schema.get(keyword, ())):
            yield f"{keyword}/{number}", child
    for keyword in ("items", "additionalProperties", "not"):
        child = schema.get(keyword)
        if child is not None and not (keyword == "additionalProperties" and child is False):
            yield keyword, child
