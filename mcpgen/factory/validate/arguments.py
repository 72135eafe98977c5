"""Arguments for the tools of a server, valid and invalid, from their schemas."""

from __future__ import annotations

import json
from typing import Any

from mcpgen.jsonschema.samples import CannotSampleError, sample
from mcpgen.jsonschema.types import JsonObject
from mcpgen.jsonschema.validation import SchemaValidator

_WRONG_TYPE: dict[str, Any] = {
    "string": {"mcpgen": "not text"},
    "integer": {"mcpgen": "not a number"},
    "number": {"mcpgen": "not a number"},
    "boolean": {"mcpgen": "not a boolean"},
    "array": 7,
    "object": 7,
}


class NoArgumentsError(Exception):
    """No arguments can be created from a schema."""


def make_arguments(tool: JsonObject) -> JsonObject:
    """Return arguments that are valid against the tool's `inputSchema`.

    Raises:
        NoArgumentsError: the schema is invalid, refers to other documents, or is too hard.
    """
    schema = tool.get("inputSchema")
    if not isinstance(schema, dict):
        raise NoArgumentsError("the tool has no input schema")
    local = json.loads(json.dumps(schema).replace("#/definitions/", "#/$defs/"))
    named = {**(local.pop("definitions", None) or {}), **(local.get("$defs") or {})}
    try:
        for which in ("example", "smallest"):
            made = sample(local, schemas=named, which=which)
            if isinstance(made, dict) and SchemaValidator(schema).is_valid(made):
                return made
    except (CannotSampleError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise NoArgumentsError(f"no arguments can be made from its schema: {error}") from None
    raise NoArgumentsError("no arguments can be made from its schema")


def make_invalid_arguments(tool: JsonObject) -> tuple[JsonObject, str] | None:
    """Return arguments that the tool's `inputSchema` rejects and what is wrong with them.

    A required property is missing, or one has a wrong type. None if the schema allows too much for
    arguments that are certainly invalid.
    """
    schema = tool.get("inputSchema")
    if not isinstance(schema, dict) or not isinstance(schema.get("properties"), dict):
        return None
    try:
        valid = make_arguments(tool)
        validator = SchemaValidator(schema)
    except (NoArgumentsError, ValueError):
        return None
    properties = schema["properties"]
    required = schema.get("required")
    for name in required if isinstance(required, list) else ():
        described = properties.get(name)
        if isinstance(described, dict) and "default" not in described and name in valid:
            broken = {key: value for key, value in valid.items() if key != name}
            if not validator.is_valid(broken):
                return broken, f"without the required `{name}`"
    for name, described in properties.items():
        kind = described.get("type") if isinstance(described, dict) else None
        if isinstance(kind, str) and kind in _WRONG_TYPE:
            broken = {**valid, name: _WRONG_TYPE[kind]}
            if not validator.is_valid(broken):
                return broken, f"with a value of the wrong type for `{name}`"
    return None
