"""`.mcpgen/base.json`: the `merged` files as mcpgen last made them, before any edit.

One committed file of texts by lines, so that it survives squashed merges, shallow clones and zip
downloads. Where it was lost, it is made anew from the skeletons that mcpgen ever shipped.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import SequenceMatcher

from mcpgen.emit.lockfile.lockfile import LockedFile
from mcpgen.emit.merge.blocks import fold
from mcpgen.emit.write.ownership import STATE_FOLDER
from mcpgen.ir.file_set import FileSet, Owner, PlannedFile

BASE_FILE = f"{STATE_FOLDER}/base.json"

Skeletons = Callable[[], Sequence[FileSet]]
"""Renders every skeleton that mcpgen ever shipped for this project, today's first."""


def make_base(merged: Iterable[PlannedFile]) -> PlannedFile:
    """Make the base of the next run."""
    lines = {file.path: file.content.decode().split("\n") for file in merged}
    text = json.dumps(lines, indent=1, sort_keys=True) + "\n"
    return PlannedFile(BASE_FILE, text.encode(), Owner.GENERATED)


class Base:
    """What the `merged` files were; asks for older skeletons only where that was lost."""

    def __init__(
        self,
        content: bytes | None,
        locked: Mapping[str, LockedFile],
        skeletons: Skeletons,
    ) -> None:
        self._texts = _read(content)
        self._locked = locked
        self._skeletons = skeletons
        self._rendered: Sequence[FileSet] | None = None

    @property
    def is_lost(self) -> bool:
        """Whether there is none, or none that can be read."""
        return self._texts is None

    def knows(self, path: str) -> bool:
        """Whether an earlier run made the file, as far as the base tells."""
        return self._texts is not None and path in self._texts

    def of(self, path: str, yours: bytes) -> bytes | None:
        """Return what mcpgen made of a file, of which the user made `yours`; None if it never did.

        Of older skeletons it is the one with the recorded hash, else the one that `yours` has most
        lines of.
        """
        if self._texts is not None:
            text = self._texts.get(path)
            return None if text is None else text.encode()
        made = [
            file.content for files in self._all_rendered() for file in files if file.path == path
        ]
        locked = self._locked.get(path)
        for content in made:
            if locked is not None and locked.is_untouched(content):
                return content
        return max(made, key=lambda content: _likeness(content, yours), default=None)

    def _all_rendered(self) -> Sequence[FileSet]:
        if self._rendered is None:
            self._rendered = self._skeletons()
        return self._rendered


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
