"""Merging of two schemas that apply to the same value, keyword by keyword.

`intersect` is exact. `mcpgen.jsonschema.shapes` merges one level for display, with `join_values`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from math import lcm
from typing import Any

from mcpgen.jsonschema.types import JsonObject, JsonSchema, JsonValue


def join_values(keyword: str, one: JsonValue, other: JsonValue) -> JsonValue | None:
    """Return the value of a keyword that asserts what two values of it assert.

    None: the keyword has no such value, because they contradict each other, because it contains
    schemas, or because it can state only one of them.
    """
    if keyword not in _JOINED:
        return None
    joined = _JOINED[keyword](one, other)
    return None if joined == [] else joined


def intersect(one: JsonSchema, other: JsonSchema) -> JsonSchema:
    """Return a schema that allows what both allow, or False if they contradict each other.

    What no single keyword can assert, such as two patterns, stays in `allOf`. Annotations of
    `one` win.
    """
    if one is False or other is False:
        return False
    if one is True or other is True:
        return other if one is True else one
    both = {**other, **one}
    if one and other:
        _join(one, other, both)
    return False if [] in (both.get("type"), both.get("enum")) else both


def _join(one: JsonObject, other: JsonObject, both: JsonObject) -> None:
    """Join in `both` the keywords that both sides have."""
    for keyword in other.keys() & one.keys():
        if one[keyword] == other[keyword]:
            continue
        join = _JOINED.get(keyword) or _JOINED_SCHEMAS.get(keyword)
        if join is not None:
            both[keyword] = join(one[keyword], other[keyword])
        elif keyword in _ASSERTIONS:
            both["allOf"] = [*both.get("allOf", ()), {keyword: other[keyword]}]
    _join_properties(one, other, both)


def _join_properties(one: JsonObject, other: JsonObject, both: JsonObject) -> None:
    """Join `properties`; what one side does not declare must be additional there."""
    names = {**one.get("properties", {}), **other.get("properties", {})}
    if names:
        both["properties"] = {
            name: intersect(_find_property(one, name), _find_property(other, name))
            for name in names
        }


def _find_property(schema: JsonObject, name: str) -> JsonSchema:
    declared: JsonSchema | None = schema.get("properties", {}).get(name)
    if declared is not None:
        return declared
    if schema.get("patternProperties"):
        return True  # may match one of the patterns; the finished value is checked
    additional: JsonSchema = schema.get("additionalProperties", True)
    return additional


def _join_types(one: JsonValue, other: JsonValue) -> list[str]:
    left, right = _list_types(one), _list_types(other)
    joined = [name for name in left if name in right or (name == "integer" and "number" in right)]
    if "integer" in right and "number" in left and "integer" not in left:
        joined.append("integer")
    return joined


def _list_types(declared: JsonValue) -> list[str]:
    return [declared] if isinstance(declared, str) else list(declared)


def _join_multiples(one: JsonValue, other: JsonValue) -> JsonValue:
    left, right = Fraction(str(one)), Fraction(str(other))
    joined = Fraction(
        lcm(left.numerator * right.denominator, right.numerator * left.denominator),
        left.denominator * right.denominator,
    )
    return int(joined) if joined.denominator == 1 else float(joined)


def _join_prefixes(one: list[Any], other: list[Any]) -> list[Any]:
    longer, shorter = (one, other) if len(one) >= len(other) else (other, one)
    joined = [intersect(left, right) for left, right in zip(longer, shorter, strict=False)]
    return joined + longer[len(shorter) :]


def _join_names(one: Iterable[str], other: Iterable[str]) -> list[str]:
    return list(dict.fromkeys([*one, *other]))


_JOINED: dict[str, Callable[[Any, Any], JsonValue]] = {
    "type": _join_types,
    "enum": lambda one, other: [value for value in one if value in other],
    "required": _join_names,
    "minimum": max,
    "exclusiveMinimum": max,
    "minLength": max,
    "minItems": max,
    "minProperties": max,
    "maximum": min,
    "exclusiveMaximum": min,
    "maxLength": min,
    "maxItems": min,
    "maxProperties": min,
    "multipleOf": _join_multiples,
    "uniqueItems": lambda one, other: one or other,
}
_JOINED_SCHEMAS: dict[str, Callable[[Any, Any], JsonValue]] = {
    "items": intersect,
    "prefixItems": _join_prefixes,
    "additionalProperties": intersect,
    "allOf": lambda one, other: [*one, *other],
}
_ASSERTIONS = frozenset(
    {"const", "contains", "dependentSchemas", "format", "not", "pattern", "patternProperties"}
)
