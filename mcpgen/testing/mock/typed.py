"""Conversion of texts on the wire to JSON values, by their schemas."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from mcpgen.jsonschema.schemas import Schemas, UnusableSchemaError
from mcpgen.jsonschema.types import JsonSchema, JsonValue

Shape: TypeAlias = "str | list[Shape] | dict[str, Shape] | None"
"""A value with a known structure whose scalars are still texts; None is an explicit null."""

_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)\Z")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?\Z")


@dataclass(frozen=True, slots=True)
class Reading:
    """The possible values of a parameter or body, likeliest first.

    Text on the wire does not distinguish "7" from the number, or an item from a list of one. If the
    schema does not either, there are several values. `problem` says why none is valid.
    """

    values: tuple[JsonValue, ...]
    problem: str = ""

    @property
    def value(self) -> JsonValue:
        """The likeliest value."""
        return self.values[0]


def read_shapes(shapes: Iterable[Shape], schema: JsonSchema, schemas: Schemas) -> Reading:
    """Return the valid values of these shapes; all of them if none is valid."""
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
            candidates.append(None)  # last: a text is likelier, if it is valid
        return read_values(candidates, schema, schemas)
    except UnusableSchemaError as error:
        return Reading(tuple(candidates) or (None,), str(error))


def read_values(values: list[JsonValue], schema: JsonSchema, schemas: Schemas) -> Reading:
    """Return the valid values; all of them, with the first problem, if none is valid."""
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
    """Return whether `a[0]=x&a[1]=y` is a list: if the schema allows lists and no objects."""
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
    if "array" in types and "string" not in types:  # a list with one item
        return [_convert(text, schemas.item_schema(schema), schemas, wants_text)]
    return text


def _parse_integer(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text  # longer than Python's limit


def _parse_nested_json(text: str) -> list[JsonValue] | dict[str, JsonValue] | None:
    """Return the list or object in a text, for values nested deeper than a style supports."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, list | dict) else None
