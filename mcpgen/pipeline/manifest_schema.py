"""The JSON Schema of `mcpgen.yaml`, as the text of a file."""

from __future__ import annotations

from mcpgen.ir.manifest import Manifest
from mcpgen.manifest.typed_file import json_schema
from mcpgen.render.json_text import pretty


def render_manifest_schema() -> bytes:
    """Render the schema for editors; the same text for every project."""
    return pretty(json_schema(Manifest))
