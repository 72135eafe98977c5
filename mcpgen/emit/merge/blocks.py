"""The marked blocks of a Markdown file, whose text is mcpgen's wherever the user puts them.

<!-- mcpgen:tools -->
... rewritten by every run ...
<!-- /mcpgen:tools -->

The block `tests` is not made with the project: it tells what its tests found, and a run that makes
the project anew leaves it alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_MARKER = re.compile(r"\s*<!-- /?mcpgen:([a-z-]+) -->\s*\Z")
_START = re.compile(r"\s*<!-- mcpgen:([a-z-]+) -->\s*\Z")

TESTS = "tests"

Blocks = Mapping[str, tuple[str, ...]]
"""The lines between a block's two markers, by its name."""


def fold(lines: Sequence[str]) -> tuple[list[str], Blocks]:
    """Take the blocks out of a text, and leave their markers.

    A marker without its other half, or one that stands twice, is text like any other.
    """
    rest: list[str] = []
    blocks: dict[str, tuple[str, ...]] = {}
    stripped = [line.strip() for line in lines]
    number = 0
    while number < len(lines):
        rest.append(lines[number])
        found = _START.match(lines[number])
        number += 1
        if found and stripped.count(stripped[number - 1]) == 1:
            end = f"<!-- /mcpgen:{found[1]} -->"
            if stripped.count(end) == 1 and end in stripped[number:]:
                stop = stripped.index(end)
                blocks[found[1]] = tuple(lines[number:stop])
                number = stop
    return rest, blocks


def stray_markers(lines: Sequence[str]) -> list[int]:
    """Return where markers stand that are of no block, as `fold` tells blocks; lines from 0.

    A name of which no marker is left is none: whoever deletes both does without the block.
    """
    rest, blocks = fold(lines)
    return [
        number
        for number, line in enumerate(lines)
        if line in rest and (found := _MARKER.match(line)) and found[1] not in blocks
    ]


def unfold(lines: Sequence[str], blocks: Blocks) -> list[str]:
    """Put blocks back between their markers, where `fold` left them together."""
    text: list[str] = []
    for line, following in zip(lines, (*lines[1:], ""), strict=True):
        text.append(line)
        found = _START.match(line)
        if found and following.strip() == f"<!-- /mcpgen:{found[1]} -->":
            text += blocks.get(found[1], ())
    return text


def with_block(text: str, name: str, content: str) -> str:
    """Put lines into a block of a text, if it has that block."""
    rest, blocks = fold(text.split("\n"))
    if name not in blocks:
        return text
    return "\n".join(unfold(rest, {**blocks, name: tuple(content.splitlines())}))
