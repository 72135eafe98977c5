"""Headers of multipart parts, whose values come from the document and not from arguments."""

from __future__ import annotations

from typing import Any

CONTENT_ID = "content-id"  # identifies a part for references (RFC 2387, section 3.4)


def read_fixed_value(schema: Any) -> Any:
    """Return the only value that a header's schema allows, or its default; None without one."""
    if not isinstance(schema, dict):
        return None
    values = schema.get("enum", ())
    return schema.get("const", schema.get("default", values[0] if len(values) == 1 else None))
