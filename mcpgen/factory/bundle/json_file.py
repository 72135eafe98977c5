"""The JSON files of bundles."""

from __future__ import annotations

import json

from mcpgen.jsonschema.types import JsonValue


def encode_file(value: JsonValue) -> bytes:
    """Return a JSON file, its members in their order."""
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def omit_empty(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return an object without members that are empty texts, lists or objects, or None."""
    return {key: it for key, it in value.items() if it is not None and it not in ("", [], {})}
