"""The JSON Schema of `mcpgen.yaml`, as the text of a file."""

from __future__ import annotations

from mcpgen.manifest.typed_file import STORED_SCHEMA


def read_manifest_schema() -> bytes:
    """Read the schema for editors; the same text for every project."""
    return STORED_SCHEMA.read_bytes()
