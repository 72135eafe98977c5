"""From texts on the wire back to JSON values: what a schema lets a text mean."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from mcpgen.jsonschema.schemas import Schemas, UnusableSchemaError
from mcpgen.jsonschema.types import JsonSchema, JsonValue

Shape: TypeAlias = "str | list[Shape] | dict[str, Shape] | None"
"""A value whose structure is known and whose scalars are still texts; None is null, spelled out."""

_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)\Z")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?\Z")


@dataclass(frozen=True, slots=True)
class Reading:
    """What one parameter or body says: every value that it can mean, the likeliest first.

    A wire cannot tell the text "7" from the number, nor one item from a list of one; the schema
    mostly can, and where it cannot there are several values. `problem` says why none is valid.
    """

    values: tuple[JsonValue, ...]
    problem: str = ""

    @property
    def value(self) -> JsonValue:
        """The likeliest value."""
        return self.values[0]


def read_shapes(shapes: Iterable[Shape], schema: JsonSchema, schemas: Schemas) -> Reading:
    """Give the valid values among what these shapes can mean; all of them when none is valid."""
    found = list(shapes)
    candidates: list[JsonValue] = []
    try:
        types = schemas.types(schema)
        for shape in [shape for shape in found if _may_be(shape, types)] or found:
            for wants_text in (False, True):
                value = _convert(shape, schema, schemas, wants_text)
                if not any(_is_same(value, other) for other in candidates):
                    candidates.append(value)
        if "null" in found and "null" in types and None not in candidates:
            candidates.append(None)  # last: a text of that name is likelier, where it is valid
        return read_values(candidates, schema, schemas)
    except UnusableSchemaError as error:
        return Reading(tuple(candidates) or (None,), str(error))


def read_values(values: list[JsonValue], schema: JsonSchema, schemas: Schemas) -> Reading:
    """Give the valid ones of these values; all of them, and the first's problem, when none is."""
    try:
        valid = [value for value in values if schemas.fits(schema, value)]
        return Reading(tuple(valid or values), "" if valid else schemas.problem(schema, values[0]))
    except UnusableSchemaError as error:
        return Reading(tuple(values), str(error))


def _may_be(shape: Shape, types: frozenset[str]) -> bool:
    if isinstance(shape, str):
        return bool(types - {"array", "object"})
    if isinstance(shape, list):
        return "array" in types
    if shape is None:
        return "null" in types
    return "object" in types or ("array" in types and all(key.isdigit() for key in shape))


def _is_same(one: JsonValue, other: JsonValue) -> bool:
    return type(one) is type(other) and bool(one == other)


def _convert(shape: Shape, schema: JsonSchema, schemas: Schemas, wants_text: bool) -> JsonValue:
    if shape is None:
        return None
    if isinstance(shape, str):
        return _convert_scalar(shape, schema, schemas, wants_text)
    if isinstance(shape, dict) and _has_indices(shape, schema, schemas):
        shape = [shape[key] for key in sorted(shape, key=int)]
    if isinstance(shape, list):
        item = schemas.item_schema(schema)
        return [_convert(part, item, schemas, wants_text) for part in shape]
    return {
        name: _convert(part, schemas.property_schema(schema, name), schemas, wants_text)
        for name, part in shape.items()
    }


def _has_indices(shape: dict[str, Shape], schema: JsonSchema, schemas: Schemas) -> bool:
    """Whether `a[0]=x&a[1]=y` means a list: only where the schema has lists and no objects."""
    types = schemas.types(schema)
    are_indices = bool(shape) and all(key.isascii() and key.isdigit() for key in shape)
    return are_indices and "array" in types and "object" not in types


def _convert_scalar(text: str, schema: JsonSchema, schemas: Schemas, wants_text: bool) -> JsonValue:
    types = schemas.types(schema)
    if wants_text and "string" in types:
        return text
    if "boolean" in types and text in {"true", "false"}:
        return text == "true"
    if "null" in types and text == "null" and "string" not in types - {"null"}:
        return None
    if "integer" in types and _INTEGER.match(text):
        return _parse_integer(text)
    if "number" in types and _NUMBER.match(text):
        return float(text)
    inside = _parse_nested_json(text) if types & {"array", "object"} else None
    if inside is not None:
        return inside
    if "array" in types and "string" not in types:  # a list that happens to have one item
        return [_convert(text, schemas.item_schema(schema), schemas, wants_text)]
    return text


def _parse_integer(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text  # longer than what Python reads


def _parse_nested_json(text: str) -> list[JsonValue] | dict[str, JsonValue] | None:
    """The list or object that a text spells: what is nested deeper than a style reaches."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, list | dict) else None
