"""Values that a parameter can carry without ambiguity, by location and style."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from mcpgen.ir.api import Operation, Parameter
from mcpgen.jsonschema.schemas import Schemas
from mcpgen.jsonschema.types import JsonValue
from mcpgen.plan.arguments.media_types import is_json

_DELIMITERS = {"spaceDelimited": " ", "tabDelimited": "\t", "pipeDelimited": "|"}


def travels(parameter: Parameter, value: JsonValue) -> bool:
    """Check whether a parameter can carry a value without ambiguity."""
    if is_json(parameter.content_type):
        return True
    if has_empty(value):
        return False
    texts = list(_iterate_texts(value))
    is_composite = isinstance(value, list | dict)
    delimiter = _DELIMITERS.get(parameter.style, "")
    if parameter.location == "path":
        return all(
            text.isprintable()
            and text not in {"", ".", ".."}
            and not (delimiter and is_composite and delimiter in text)
            for text in texts
        )
    separators = delimiter
    if parameter.location == "header" or parameter.style == "cookie":
        if not all(text.isascii() and text.isprintable() for text in texts):
            return False
        separators = (delimiter or ",=") if is_composite else ""
        if any(text != text.strip() or (not text and delimiter.isspace()) for text in texts):
            return False
    if parameter.style == "cookie":
        separators += ' ",;&\\'
    return not any(set(separators) & set(text) for text in texts)


def is_mistaken_for_others(
    parameter: Parameter, value: JsonValue, operation: Operation, schemas: Schemas
) -> bool:
    """Whether members of an exploded object travel as if they were other parameters' values."""
    if not (_is_spread(parameter) and isinstance(value, dict)):
        return False
    others: set[str] = set()
    for other in operation.parameters:
        if other is not parameter and other.location == parameter.location:
            others.add(other.name)
            if _is_spread(other):
                others |= schemas.property_names(other.schema)
    return not others.isdisjoint(value)


def _is_spread(parameter: Parameter) -> bool:
    return parameter.explode and parameter.style in ("form", "cookie")


def has_empty(value: JsonValue) -> bool:
    """Whether a value contains an empty list or object, which styles cannot represent."""
    return value in ({}, []) or any(map(has_empty, _list_members(value)))


def remove_empty(value: JsonValue) -> JsonValue:
    """Return a value without empty lists and objects as members."""
    if isinstance(value, list):
        return [remove_empty(item) for item in value]
    if not isinstance(value, dict):
        return value
    members = ((name, remove_empty(item)) for name, item in value.items())
    return {name: item for name, item in members if item not in ({}, [])}


def has_null(value: JsonValue) -> bool:
    """Whether a value is null or contains null."""
    return value is None or any(map(has_null, _list_members(value)))


def _list_members(value: JsonValue) -> Collection[JsonValue]:
    """Return the values directly in an object or a list."""
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _iterate_texts(value: JsonValue) -> Iterator[str]:
    """Yield all strings in a value, with the names of members."""
    if isinstance(value, str):
        yield value
    if isinstance(value, dict):
        yield from value
    for item in _list_members(value):
        yield from _iterate_texts(item)
