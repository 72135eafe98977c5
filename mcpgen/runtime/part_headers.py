"""Headers that a document gives the parts of a body: no argument does."""

from __future__ import annotations

from typing import Any

CONTENT_ID = "content-id"  # by which others refer to a part (RFC 2387, section 3.4)


def fixed_value(schema: Any) -> Any:
    """Give the one value that a schema leaves a header, or its default; None where it has none."""
    if not isinstance(schema, dict):
        return None
    values = schema.get("enum", ())
    return schema.get("const", schema.get("default", values[0] if len(values) == 1 else None))
