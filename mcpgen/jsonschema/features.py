"""Constructs of a schema that some readers of JSON Schema reject or ignore."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from mcpgen.jsonschema.references import find_edges, find_recursive_names
from mcpgen.jsonschema.types import (
    MAPS_OF_SCHEMAS,
    ONE_SCHEMA,
    SEVERAL_SCHEMAS,
    JsonObject,
    JsonSchema,
    JsonValue,
)

Tokens = tuple[str, ...]
CHOICES: Final = ("allOf", "anyOf", "oneOf")
MAX_NODES: Final = 100_000
"""Schemas inside one schema that are visited; of a larger one, the rest is ignored."""

_MAPS: Final = MAPS_OF_SCHEMAS | {"definitions"}  # `$defs` of drafts before 2019-09
_BY_KEYWORD: Final = {
    "$ref": ("reference",),
    "$dynamicRef": ("reference", "dynamic-reference"),
    "$recursiveRef": ("reference", "dynamic-reference"),
    "$schema": ("dialect",),
    "allOf": ("choice", "all-of"),
    "anyOf": ("choice",),
    "oneOf": ("choice", "one-of"),
    "not": ("not",),
    "exclusiveMinimum": ("exclusive-bounds", "number-bounds"),
    "exclusiveMaximum": ("exclusive-bounds", "number-bounds"),
    "minimum": ("number-bounds",),
    "maximum": ("number-bounds",),
    "multipleOf": ("number-bounds",),
    "minLength": ("length-bounds",),
    "maxLength": ("length-bounds",),
    "propertyNames": ("property-names",),
    "additionalProperties": ("additional-properties",),
}


class Subschema(Struct, frozen=True):
    """A schema inside another one."""

    schema: JsonSchema
    tokens: Tokens  # JSON Pointer tokens from the outer schema
    keyword: str  # that contains it: "properties", "items"; "" of the outer schema
    depth: int  # objects and arrays around it


class Feature(Struct, frozen=True):
    """One construct: its name, how a message calls it, and the schema that has it."""

    name: str
    spelling: str
    tokens: Tokens


def iterate_schemas(schema: JsonValue) -> Iterator[Subschema]:
    """Yield a schema and all schemas inside it, parents first, in document order.

    References are not followed. Whatever is no schema is skipped, so that any JSON can be passed.
    """
    waiting = [Subschema(schema, (), "", 0)]
    visited = 0
    while waiting and visited < MAX_NODES:
        node = waiting.pop()
        visited += 1
        yield node
        if isinstance(node.schema, dict):
            waiting.extend(reversed([*_iterate_children(node, node.schema)]))


def _iterate_children(node: Subschema, schema: JsonObject) -> Iterator[Subschema]:
    for keyword, value in schema.items():
        is_definition = keyword in ("$defs", "definitions")
        depth = 0 if is_definition else node.depth + (keyword not in CHOICES)
        at = (*node.tokens, keyword)
        if keyword in _MAPS and isinstance(value, dict):
            for name, child in value.items():
                if isinstance(child, dict | bool):
                    yield Subschema(child, (*at, name), keyword, depth)
        elif keyword in SEVERAL_SCHEMAS and isinstance(value, list):
            for number, child in enumerate(value):
                if isinstance(child, dict | bool):
                    yield Subschema(child, (*at, str(number)), keyword, depth)
        elif keyword in ONE_SCHEMA and isinstance(value, dict | bool):
            yield Subschema(value, at, keyword, depth)


def iterate_features(schema: JsonValue) -> Iterator[Feature]:
    """Yield the constructs of a schema for the arguments of a tool."""
    if not isinstance(schema, dict):
        return
    for keyword in CHOICES:
        if keyword in schema:
            yield Feature("root-choice", f"`{keyword}` at the root", (keyword,))
    definitions = schema.get("$defs") or schema.get("definitions")
    named = definitions if isinstance(definitions, dict) else {}
    for name in sorted(find_recursive_names(find_edges(named))):
        yield Feature("recursion", f"recursion through `{name}`", ("$defs", name))
    for node in iterate_schemas(schema):
        if isinstance(node.schema, dict):
            yield from _iterate_own_features(node, node.schema)


def _iterate_own_features(node: Subschema, schema: JsonObject) -> Iterator[Feature]:
    for keyword in schema:
        for name in _BY_KEYWORD.get(keyword, ()):
            yield Feature(name, f"`{keyword}`", (*node.tokens, keyword))
    if node.keyword in ("items", "prefixItems") and "anyOf" in schema:
        yield Feature("choice-in-items", "an `anyOf` in `items`", (*node.tokens, "anyOf"))
    kind = schema.get("type")
    if isinstance(kind, list) and len(kind) > 1:
        yield Feature("type-union", "several types", (*node.tokens, "type"))
    if kind == "array" and "items" not in schema:
        yield Feature("array-without-items", "an array without `items`", node.tokens)
    required = schema.get("required")
    names = (
        [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    )
    if len(set(names)) < len(names):
        yield Feature(
            "duplicate-required", "a name twice in `required`", (*node.tokens, "required")
        )
    properties = schema.get("properties")
    if isinstance(properties, dict) and not set(properties) <= set(names):
        yield Feature("optional-property", "an optional property", node.tokens)
    is_object = kind == "object" or isinstance(properties, dict)
    if is_object and schema.get("additionalProperties") is not False:
        yield Feature("open-object", "an object without `additionalProperties: false`", node.tokens)
