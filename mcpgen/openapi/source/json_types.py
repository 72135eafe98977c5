"""Names of JSON types for messages."""

from __future__ import annotations

from mcpgen.jsonschema.types import JsonValue


def describe_type(value: JsonValue) -> str:
    """Return the JSON type of a value with its article: "an array"."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case list():
            return "an array"
        case dict():
            return "an object"
    return "a number"
