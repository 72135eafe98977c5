"""Rewrite the generated blocks of all pages: `python -m tests.docs.generated`."""

from __future__ import annotations

from tests.docs.generated.blocks import BLOCKS
from tests.docs.generated.pages import doc_pages, with_blocks

if __name__ == "__main__":
    for path in doc_pages():
        if path.exists():
            text = path.read_text("utf-8")
            made = with_blocks(text, BLOCKS)
            if made != text:
                path.write_text(made, "utf-8")
                print(f"written: {path}")
