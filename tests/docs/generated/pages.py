"""The pages of the documentation, and the blocks in them that are made from the code.

A generated block stands between `<!-- generated: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.support.paths import REPOSITORY

DOCS = REPOSITORY / "docs"
_BLOCK = re.compile(r"(<!-- generated: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def doc_pages() -> list[Path]:
    """Return the pages of the site, and the root pages that link to them."""
    return [
        *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
        *sorted(DOCS.rglob("*.md")),
    ]


def with_blocks(page: str, blocks: Mapping[str, Callable[[], str]]) -> str:
    """Return the page with its generated blocks replaced by current ones."""
    return _BLOCK.sub(lambda found: f"{found[1]}\n{blocks[found[2]]()}\n\n{found[3]}", page)


def block_names(page: str) -> list[str]:
    """Return the names of the generated blocks of a page."""
    return [found[2] for found in _BLOCK.finditer(page)]
