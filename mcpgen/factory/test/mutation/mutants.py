"""A mutant: one fault in one place of a generated package, told as a change of a file's content."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, TypeAlias

from msgspec import Struct

Tokens: TypeAlias = tuple[str, ...]


class Gone(Enum):
    """Stands for a value that is taken away."""

    GONE = "gone"


GONE = Gone.GONE


class TextChange(Struct, frozen=True):
    """Other text in place of what stands from `start` to `end`, in characters of the file."""

    file: str  # below the project's folder
    start: int
    end: int
    text: str

    def apply(self, content: bytes) -> bytes:
        """Give the file's content with the change."""
        source = content.decode()
        return (source[: self.start] + self.text + source[self.end :]).encode()


class JsonChange(Struct, frozen=True):
    """Another value in place of the one at a JSON Pointer's tokens; `GONE` takes it away."""

    file: str
    tokens: Tokens
    value: Any

    def apply(self, content: bytes) -> bytes:
        """Give the file's content with the change."""
        return json.dumps(_replace_value(json.loads(content), self.tokens, self.value)).encode()


Change: TypeAlias = TextChange | JsonChange


class Mutant(Struct, frozen=True):
    """A package with one fault. `tool` is "" where the fault is the whole server's."""

    operator: str
    tool: str
    place: str  # "src/pets_mcp/_generated/tools/pets.py:42", or a file and a JSON Pointer
    what: str  # "`GET` became `POST`"
    changes: tuple[Change, ...]
    equivalent: str = ""  # the rule by which nobody could tell it from the original

    @property
    def id(self) -> str:
        """Tell it from every other mutant of the package, the same in each run."""
        return f"{self.operator} {self.place} {self.what}"

    def files(self, originals: Mapping[str, bytes]) -> dict[str, bytes]:
        """Give the files that differ, with their content."""
        changed: dict[str, bytes] = {}
        for change in self.changes:
            before = changed.get(change.file, originals[change.file])
            changed[change.file] = change.apply(before)
        return changed


def at(value: Any, tokens: Sequence[str]) -> Any:
    """Give what stands at a JSON Pointer's tokens."""
    for token in tokens:
        value = value[int(token)] if isinstance(value, list) else value[token]
    return value


def _replace_value(root: Any, tokens: Tokens, value: Any) -> Any:
    root = copy.deepcopy(root)
    holder, last = at(root, tokens[:-1]), tokens[-1]
    key: Any = int(last) if isinstance(holder, list) else last
    if value is GONE:
        del holder[key]
    else:
        holder[key] = value
    return root
