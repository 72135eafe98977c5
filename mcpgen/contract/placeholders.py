"""Placeholder values of settings that are sent in requests, for tests and `.env.example`."""

from __future__ import annotations

from typing import Any

import msgspec

from mcpgen.jsonschema.samples import CannotSampleError, Samples
from mcpgen.jsonschema.types import JsonObject

PLACEHOLDER = "placeholder-"
_NOT_EMPTY = {"minItems": 1, "minLength": 1, "minProperties": 1}


def sample_setting(name: str, schema: Any, samples: Samples) -> Any:
    """Return a value for a setting: a recognisable placeholder if its schema allows one.

    Raises:
        CannotSampleError: no valid value was found.
    """
    placeholder = f"{PLACEHOLDER}{name.lower()}"
    if not samples.problem(schema, placeholder):
        return placeholder
    return samples.sample({"allOf": [schema, _NOT_EMPTY]}, seed=name)


def text_of_setting(value: Any) -> str:
    """Return the text of an environment variable for a JSON value."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def sample_text(entry: JsonObject) -> str:
    """Return a sample text for a setting of a server's contract; "" if none was found."""
    schema = entry["schema"]
    definitions = schema.get("$defs", {}) if isinstance(schema, dict) else {}
    try:
        value = sample_setting(entry["name"], schema, Samples(definitions, "request"))
    except CannotSampleError:
        return ""
    return text_of_setting(value)
