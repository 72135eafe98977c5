"""Errors and reports that the editors of configuration texts share."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from mcpgen.jsonschema.types import JsonValue


class ConfigSyntaxError(ValueError):
    """A text that cannot be parsed; `line` and `column` start at 1, 0 if they are unknown."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


class UneditableError(ValueError):
    """An entry cannot be edited without a change elsewhere in the text; the message states why."""


class Edited(Struct, frozen=True):
    """A text with a new entry, and what a removal needs to restore the text before it.

    `inserted` is the whole entry as it was inserted, "" if that was in several places. `created`
    are the containers that the edit added, by the keys that lead to them, and `inner` is the former
    text inside of each that was empty. `gap` ends the last line of the former text.
    """

    text: str
    inserted: str = ""
    created: tuple[tuple[str, ...], ...] = ()
    inner: Mapping[tuple[str, ...], str] = field(default_factory=dict)
    gap: str = ""


class Traces(Struct):
    """Traces of the edits of one file besides entries: the sum of `Edited`."""

    created: list[tuple[str, ...]] = field(default_factory=list)
    inner: dict[tuple[str, ...], str] = field(default_factory=dict)
    gap: str = ""


def find_newline(text: str) -> str:
    """Return the line ending of a text: that of its first line."""
    end = text.find("\n")
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def locate(text: str, offset: int) -> tuple[int, int]:
    """Return line and column of an offset, starting at 1."""
    line = text.count("\n", 0, offset) + 1
    return line, offset - (text.rfind("\n", 0, offset) + 1) + 1


def find_value(root: JsonValue, keys: tuple[str, ...]) -> JsonValue:
    """Return the value to which `keys` lead, None if there is none."""
    for key in keys:
        if not isinstance(root, dict):
            return None
        root = root.get(key)
    return root
