"""JSON values: types, lookup, copies; comparison and absent values in steps of workflows."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any, Final

from mcpgen.absent import ABSENT
from mcpgen.jsonschema.types import JsonValue

_ORDER: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_TYPES: Final[Mapping[type, str]] = {
    bool: "boolean",
    dict: "object",
    int: "integer",
    list: "array",
    NoneType: "null",
    str: "string",
}


def value_at(value: Any, pointer: str) -> Any:
    """Return the part of a value at a JSON Pointer (RFC 6901), or ABSENT."""
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return ABSENT
    return value


def find_json_type(value: JsonValue) -> str:
    """Return the JSON Schema type of a decoded value; 1.0 is an integer."""
    found = _TYPES.get(type(value))
    if found is not None:
        return found
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    return next((name for it, name in _TYPES.items() if isinstance(value, it)), "object")


def copy_value(value: Any) -> Any:
    """Return a deep copy of a decoded JSON value."""
    if isinstance(value, dict):
        return {name: copy_value(member) for name, member in value.items()}
    return [copy_value(item) for item in value] if isinstance(value, list) else value


def without_absent(value: Any) -> Any:
    """Return a value without ABSENT members and items; None if the value itself is ABSENT."""
    if isinstance(value, dict):
        return {name: without_absent(item) for name, item in value.items() if item is not ABSENT}
    if isinstance(value, list):
        return [without_absent(item) for item in value if item is not ABSENT]
    return None if value is ABSENT else value


def compare(left: Any, comparison: str, right: Any) -> bool:
    """Compare as in Arazzo's simple conditions: strings ignore case, ABSENT equals null.

    Values of different types are neither less nor greater.
    """
    left, right = _normalize(left), _normalize(right)
    if comparison in ("==", "!="):
        is_equal = left == right and isinstance(left, bool) is isinstance(right, bool)
        return is_equal is (comparison == "==")
    are_numbers = _is_number(left) and _is_number(right)
    are_texts = isinstance(left, str) and isinstance(right, str)
    return (are_numbers or are_texts) and _ORDER[comparison](left, right)


def _normalize(value: Any) -> Any:
    if isinstance(value, str):
        return value.casefold()
    return None if value is ABSENT else value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
