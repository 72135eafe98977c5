"""Which named schemas others need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mcpgen.ir.json_types import JsonSchema, JsonValue

PREFIX = "#/$defs/"


def names_reached(roots: Iterable[JsonSchema], schemas: Mapping[str, JsonSchema]) -> set[str]:
    """Names that `roots` refer to, directly or through other schemas."""
    reached: set[str] = set()
    waiting: list[JsonValue] = list(roots)
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting.extend(value)
        elif isinstance(value, dict):
            reference = value.get("$ref")
            if isinstance(reference, str) and reference.startswith(PREFIX):
                name = reference[len(PREFIX) :]
                if name not in reached and name in schemas:
                    reached.add(name)
                    waiting.append(schemas[name])
            waiting.extend(value.values())
    return reached
