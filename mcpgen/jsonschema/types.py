"""Names for decoded JSON.

Decoded JSON is `Any` on purpose: its reader checks it, and a recursive alias would only move the
casts.
"""

from __future__ import annotations

from typing import Any, TypeAlias

JsonValue: TypeAlias = Any
JsonObject: TypeAlias = dict[str, Any]

JsonSchema: TypeAlias = dict[str, Any] | bool
"""A JSON Schema in the 2020-12 dialect. `$ref`s are local: `#/$defs/<name>`."""

ONE_SCHEMA = frozenset(
    {
        "additionalProperties",
        "contains",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
"""The keywords of JSON Schema 2020-12 whose value is a schema."""
SEVERAL_SCHEMAS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
"""Keywords whose value is a list of schemas."""
MAPS_OF_SCHEMAS = frozenset({"$defs", "dependentSchemas", "patternProperties", "properties"})
"""Keywords whose value maps arbitrary names to schemas."""
