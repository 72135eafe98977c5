"""Faults of JSON Schemas that a server publishes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import jsonschema_rs

from mcpgen.absent import ABSENT
from mcpgen.jsonschema.dialects import (
    JSON_SCHEMA_DRAFT_07,
    find_dialect,
    meta_schema,
)
from mcpgen.jsonschema.values import value_at
from mcpgen.text.json_pointer import json_pointer

_MAX_FAULTS: Final = 3
_MAX_TEXT: Final = 160


def find_schema_faults(schema: Any, *, is_input: bool) -> list[str]:
    """Return the faults of a tool's schema; [] also if its dialect is unknown here."""
    if not isinstance(schema, dict):
        return ["it is not an object"]
    if is_input and schema.get("type") != "object":
        return ['its root has no `"type": "object"`']
    try:
        dialect = find_dialect(schema)
    except ValueError:
        return []
    validator: jsonschema_rs.Validator = meta_schema()
    if dialect == JSON_SCHEMA_DRAFT_07:
        validator = jsonschema_rs.Draft7Validator({"$ref": JSON_SCHEMA_DRAFT_07}, offline=True)
    found = []
    for error in islice(validator.iter_errors(schema), _MAX_FAULTS):
        where = json_pointer(list(error.instance_path)) or "the root"
        found.append(f"{where}: {error.message[:_MAX_TEXT]}")
    return found or list(islice(_iterate_dangling(schema, schema), _MAX_FAULTS))


def _iterate_dangling(node: Any, root: Any) -> Iterator[str]:
    """Yield local references by JSON Pointer that lead nowhere."""
    if isinstance(node, list):
        for item in node:
            yield from _iterate_dangling(item, root)
    if not isinstance(node, dict) or ("$id" in node and node is not root):
        return
    reference = node.get("$ref")
    is_local = isinstance(reference, str) and reference.startswith("#/") and "%" not in reference
    if is_local and value_at(root, str(reference)[1:]) is ABSENT:
        yield f"`{reference}` does not exist"
    for key, value in node.items():
        if key not in ("enum", "const", "default", "examples", "example"):
            yield from _iterate_dangling(value, root)
