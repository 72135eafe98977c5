"""Smaller listed schemas of results: definitions for repeated shapes, and fewer descriptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mcpgen.contract.snapshot import estimate_tokens
from mcpgen.jsonschema.references import find_reference
from mcpgen.jsonschema.types import (
    MAPS_OF_SCHEMAS,
    ONE_SCHEMA,
    SEVERAL_SCHEMAS,
    JsonObject,
    JsonSchema,
    JsonValue,
)

_LEVELS = 3  # levels of members whose descriptions can stay without those further inside


def inline_definitions(
    schemas: Sequence[JsonObject], definitions: Mapping[str, JsonObject], names: set[str]
) -> tuple[tuple[JsonObject, ...], JsonObject]:
    """Return schemas and definitions without the definitions in `names`.

    A description beside a `$ref` replaces that of the definition.
    """
    inlined = tuple(_inline(schema, definitions, names) for schema in schemas)
    rest = {
        name: _inline(schema, definitions, names)
        for name, schema in definitions.items()
        if name not in names
    }
    return inlined, rest


def fit_descriptions(listed: JsonObject, most_tokens: int) -> JsonObject:
    """Return the schema of a result with as many descriptions as fit, the outermost first.

    Names and types stay, since callers select members by them.
    """
    shortened, levels = listed, _LEVELS
    while levels >= 0 and estimate_tokens(shortened) > most_tokens:
        shortened = _drop_descriptions(listed, levels)
        levels -= 1
    return shortened


def _drop_descriptions(schema: JsonSchema, levels: int) -> Any:
    """Return a schema with the descriptions of the outer `levels` of its members."""
    if not isinstance(schema, dict):
        return schema
    found: JsonObject = {}
    for keyword, value in schema.items():
        if keyword == "description" and levels <= 0:
            continue
        if keyword in MAPS_OF_SCHEMAS:
            found[keyword] = {
                name: _drop_descriptions(it, levels - 1) for name, it in value.items()
            }
        elif keyword in ONE_SCHEMA:
            found[keyword] = _drop_descriptions(value, levels - 1)
        elif keyword in SEVERAL_SCHEMAS:
            found[keyword] = [_drop_descriptions(it, levels) for it in value]
        else:
            found[keyword] = value
    return found


def _inline(value: JsonValue, definitions: Mapping[str, JsonObject], names: set[str]) -> JsonValue:
    if isinstance(value, list):
        return [_inline(item, definitions, names) for item in value]
    if not isinstance(value, dict):
        return value
    name = find_reference(value) if "$ref" in value else ""
    if name in names:
        beside = {key: it for key, it in value.items() if key != "$ref"}
        return {**_inline(definitions[name], definitions, names), **beside}
    return {
        key: _inline(it, definitions, names) if isinstance(it, dict | list) else it
        for key, it in value.items()
    }
