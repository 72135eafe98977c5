"""Merging a file of the skeleton that both the user and mcpgen changed; how depends on its kind.

A file that stops the toolchain where it does not parse never gets conflict markers: there the
user's text stays, and ours is offered beside it.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath

from msgspec import Struct

from mcpgen.emit.merge.blocks import TESTS, fold, unfold
from mcpgen.emit.merge.diff3 import Conflict, Lines, diff3, is_clean, join, with_markers
from mcpgen.emit.merge.toml import apply_edits, merge_toml
from mcpgen.emit.merge.values import merge_values

_UNIONS = frozenset({".dockerignore", ".gitattributes", ".gitignore"})


class Merged(Struct, frozen=True):
    """What becomes of the user's file, and what is left for them to decide."""

    content: bytes
    has_markers: bool = False
    is_offered: bool = False  # ours could not all be brought in, and goes beside it
    contested: tuple[str, ...] = ()  # the keys where the user's value stands, where that is known
    has_lost_lines: bool = False  # what the user wrote inside a marked block, which is ours


def merge(path: str, base: bytes, yours: bytes, ours: bytes) -> Merged:
    """Bring the changes of both sides together; all texts have LF line ends."""
    name = PurePosixPath(path)
    texts = (base.decode("utf-8", "replace"), yours.decode(), ours.decode())
    if name.name in _UNIONS:
        return _merge_union(*texts)
    if name.suffix == ".md":
        return _merge_markdown(*texts)
    if name.name == "Dockerfile":
        return _merge_marked(*(text.split("\n") for text in texts))
    if name.suffix == ".toml":
        return _merge_by_meaning(merge_toml, *texts)
    merged = _merge_whole(name.suffix, *texts)
    if merged.is_offered and name.suffix == ".json":
        return _merge_by_meaning(_merge_json, *texts)
    return merged


def _merge_union(base: str, yours: str, ours: str) -> Merged:
    mine = yours.split("\n")

    def both(conflict: Conflict) -> Lines:
        return (*conflict.yours, *(line for line in conflict.ours if line not in mine))

    pieces = diff3(base.split("\n"), mine, ours.split("\n"))
    return Merged("\n".join(join(pieces, both)).encode())


def _merge_markdown(base: str, yours: str, ours: str) -> Merged:
    (base_lines, was), (your_lines, theirs), (our_lines, new) = (
        fold(text.split("\n")) for text in (base, yours, ours)
    )
    new = {name: lines for name, lines in new.items() if name != TESTS or name not in theirs}
    merged = _merge_marked(base_lines, your_lines, our_lines)
    lines = unfold(merged.content.decode().split("\n"), {**theirs, **new})
    return Merged(
        "\n".join(lines).encode(),
        has_markers=merged.has_markers,
        has_lost_lines=any(
            name in new and lines not in (was.get(name), new[name])
            for name, lines in theirs.items()
        ),
    )


def _merge_marked(base: Lines, yours: Lines, ours: Lines) -> Merged:
    pieces = diff3(base, yours, ours)
    text = "\n".join(join(pieces, with_markers))
    return Merged(text.encode(), has_markers=not is_clean(pieces))


def _merge_whole(suffix: str, base: str, yours: str, ours: str) -> Merged:
    """Merge by lines; where they conflict or the result does not parse, the user's file stays."""
    pieces = diff3(base.split("\n"), yours.split("\n"), ours.split("\n"))
    text = "\n".join(join(pieces, lambda conflict: conflict.yours))
    if is_clean(pieces) and _parses(suffix, text):
        return Merged(text.encode())
    return Merged(yours.encode(), is_offered=True)


def _parses(suffix: str, text: str) -> bool:
    # Imported here: only a project in which both sides changed a file needs it.
    import yaml

    parsers: Mapping[str, Callable[[str], object]] = {
        ".json": json.loads,
        ".py": ast.parse,
        ".yaml": yaml.safe_load,
        ".yml": yaml.safe_load,
    }
    try:
        parsers.get(suffix, str)(text)
    except (ValueError, SyntaxError, RecursionError, yaml.YAMLError):
        return False
    return True


def _merge_by_meaning(
    merge_text: Callable[[str, str, str], tuple[str, tuple[str, ...]]],
    base: str,
    yours: str,
    ours: str,
) -> Merged:
    try:
        text, contested = merge_text(base, yours, ours)
    except ValueError:
        return Merged(yours.encode(), is_offered=True)
    return Merged(text.encode(), is_offered=bool(contested), contested=contested)


def _merge_json(base: str, yours: str, ours: str) -> tuple[str, tuple[str, ...]]:
    values = json.loads(yours)
    if not isinstance(values, dict):
        raise ValueError("it is no object")  # noqa: TRY004 - the text is at fault, not a caller
    edits = merge_values(json.loads(base), values, json.loads(ours))
    text = json.dumps(apply_edits(values, edits), indent=2, ensure_ascii=False) + "\n"
    return text, tuple(".".join(at) for at in edits.conflicts)
