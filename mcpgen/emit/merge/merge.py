"""Merging of project files that both the user and mcpgen changed, by kind of file.

Files that must parse, such as TOML, never get conflict markers: the user's text is kept, and the
text of mcpgen is written to a file beside it.
"""

from __future__ import annotations

import ast
import functools
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import PurePosixPath

from msgspec import Struct

from mcpgen.emit.lockfile import LockedFile
from mcpgen.emit.merge.diff3 import Conflict, Lines, diff3, is_clean, join, with_markers
from mcpgen.emit.merge.toml import apply_edits, merge_toml, merge_values
from mcpgen.ir.file_set import STATE_FOLDER, FileSet, Owner, PlannedFile

_MARKER = re.compile(r"\s*<!-- /?mcpgen:([a-z-]+) -->\s*\Z")
_START = re.compile(r"\s*<!-- mcpgen:([a-z-]+) -->\s*\Z")

TESTS = "tests"

Blocks = Mapping[str, tuple[str, ...]]
"""The lines between a block's two markers, by its name."""


def fold(lines: Sequence[str]) -> tuple[list[str], Blocks]:
    """Return a text without the content of its blocks, and the blocks; their markers stay.

    A marker without its counterpart, or one that occurs twice, is ordinary text.
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
    """Return the lines, from 0, of markers that belong to no block, as `fold` recognizes blocks.

    A name without any marker is ignored: a user who deletes both markers does not want the block.
    """
    rest, blocks = fold(lines)
    return [
        number
        for number, line in enumerate(lines)
        if (found := _MARKER.match(line)) and found[1] not in blocks and line in rest
    ]


def unfold(lines: Sequence[str], blocks: Blocks) -> list[str]:
    """Insert the blocks that `fold` removed between their markers."""
    text: list[str] = []
    for line, following in zip(lines, (*lines[1:], ""), strict=True):
        text.append(line)
        found = _START.match(line)
        if found and following.strip() == f"<!-- /mcpgen:{found[1]} -->":
            text += blocks.get(found[1], ())
    return text


def with_block(text: str, name: str, content: str) -> str:
    """Replace the lines of a block of a text, if it has that block."""
    rest, blocks = fold(text.split("\n"))
    if name not in blocks:
        return text
    return "\n".join(unfold(rest, {**blocks, name: tuple(content.splitlines())}))


_UNIONS = frozenset({".dockerignore", ".gitattributes", ".gitignore"})


class Merged(Struct, frozen=True):
    """The merged file of the user, and the conflicts that remain."""

    content: bytes
    has_markers: bool = False
    is_offered: bool = False  # ours is not merged completely, and written to a file beside it
    contested: tuple[str, ...] = ()  # keys that kept the user's value, if known
    has_lost_lines: bool = False  # lines of the user in a marked block, which is ours


def merge(path: str, base: bytes, yours: bytes, ours: bytes) -> Merged:
    """Merge the changes of both sides; all texts have LF line ends."""
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


BASE_FILE = f"{STATE_FOLDER}/base.json"

Skeletons = Callable[[], Sequence[FileSet]]
"""Renders every skeleton that mcpgen ever shipped for this project, today's first."""


def make_base(merged: Iterable[PlannedFile]) -> PlannedFile:
    """Create the base for the next run."""
    lines = {file.path: file.content.decode().split("\n") for file in merged}
    text = json.dumps(lines, indent=1, sort_keys=True) + "\n"
    return PlannedFile(BASE_FILE, text.encode(), Owner.GENERATED)


class Base:
    """Earlier versions of `merged` files; renders older skeletons only if the record is lost."""

    def __init__(
        self,
        content: bytes | None,
        locked: Mapping[str, LockedFile],
        skeletons: Skeletons,
    ) -> None:
        self._texts = _read(content)
        self._locked = locked
        self._skeletons = functools.cache(skeletons)

    @property
    def is_lost(self) -> bool:
        """Whether there is no readable record."""
        return self._texts is None

    def is_recorded(self, path: str) -> bool:
        """Return whether an earlier run wrote the file, by this record."""
        return self._texts is not None and path in self._texts

    def of(self, path: str, yours: bytes) -> bytes | None:
        """Return mcpgen's version of a file that is now `yours`; None if there never was one.

        Among older skeletons, it is the one with the recorded hash, else the one with the most
        lines of `yours`.
        """
        if self._texts is not None:
            text = self._texts.get(path)
            return None if text is None else text.encode()
        made = [file.content for files in self._skeletons() for file in files if file.path == path]
        locked = self._locked.get(path)
        for content in made:
            if locked is not None and locked.is_untouched(content):
                return content
        return max(made, key=lambda content: _likeness(content, yours), default=None)


def _read(content: bytes | None) -> dict[str, str] | None:
    try:
        base = json.loads(content or b"")
        return {path: "\n".join(lines) for path, lines in base.items()}
    except (ValueError, TypeError, AttributeError):
        return None


def _likeness(made: bytes, yours: bytes) -> float:
    """Compare without the marked blocks, whose text changes with the document."""
    lines, your_lines = (
        fold(text.decode("utf-8", "replace").split("\n"))[0] for text in (made, yours)
    )
    return SequenceMatcher(None, lines, your_lines, autojunk=False).ratio()
