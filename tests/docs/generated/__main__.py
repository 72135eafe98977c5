"""Rewrite the generated blocks of all pages, and the schema: `python -m tests.docs.generated`."""

from __future__ import annotations

from mcpgen.ir.manifest import Manifest
from mcpgen.manifest.typed_file import STORED_SCHEMA, json_schema
from mcpgen.render.json_text import pretty
from tests.docs.generated.blocks import BLOCKS
from tests.docs.generated.pages import doc_pages, with_blocks

if __name__ == "__main__":
    STORED_SCHEMA.write_bytes(pretty(json_schema(Manifest)))
    for path in doc_pages():
        if path.exists():
            text = path.read_text("utf-8")
            made = with_blocks(text, BLOCKS)
            if made != text:
                path.write_text(made, "utf-8")
                print(f"written: {path}")
