"""JSON that is too long for a model, cut where it stays JSON: items of arrays, ends of texts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from mcpgen.runtime.content import JsonObject

MAX_CHARACTERS = 100_000

_SHORTEST_TEXT = 40  # of a text that is cut; below this, too little would stay to be of use


@dataclass(frozen=True, slots=True)
class Shortened:
    """A value within its bound. `notes` tell what was cut: "`/items` shows 40 of 900"."""

    value: Any
    text: str  # the value, as compact JSON
    notes: tuple[str, ...] = ()


def shortened(value: Any, max_characters: int = MAX_CHARACTERS) -> Shortened:
    """Cut a JSON value so that its text has at most `max_characters`.

    The last items of the longest arrays go first, then the ends of long texts; names and
    structure stay, so a value of nothing but names may remain longer.
    """
    text = _text(value)
    if len(text) <= max_characters:
        return Shortened(value, text)
    return _Cutter(_characters).shortened(value, max_characters)


def cut_to_bytes(value: Any, max_bytes: int) -> Shortened:
    """Cut a JSON value, as `shortened` does, so that its text has at most `max_bytes` in UTF-8."""
    if _bytes(value) <= max_bytes:
        return Shortened(value, _text(value))
    return _Cutter(_bytes).shortened(value, max_bytes)


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _characters(value: Any) -> int:
    return len(_text(value))


def _bytes(value: Any) -> int:
    return len(msgspec.json.encode(value))


@dataclass(frozen=True, slots=True)
class _Cutter:
    """Cuts values to a bound in the unit in which `size` measures the JSON text of one."""

    size: Callable[[Any], int]
    notes: list[str] = field(default_factory=list)

    def shortened(self, value: Any, bound: int) -> Shortened:
        cut = self._cut(value, bound, "")
        return Shortened(cut, _text(cut), tuple(self.notes))

    def _cut(self, value: Any, budget: int, pointer: str) -> Any:
        if isinstance(value, list):
            return self._cut_array(value, budget, pointer)
        if isinstance(value, dict):
            return self._cut_object(value, budget, pointer)
        if isinstance(value, str):
            return self._cut_text(value, budget, pointer)
        return value

    def _cut_text(self, text: str, budget: int, pointer: str) -> str:
        # No character takes less than one, so that no more of them than the budget need a look.
        lengths = range(min(len(text), budget) + 1)
        fitting = bisect_right(lengths, budget, key=lambda length: self.size(text[:length])) - 1
        kept = max(fitting, _SHORTEST_TEXT)
        if kept < len(text):
            self.notes.append(f"`{pointer or '/'}` shows {kept:,} of {len(text):,} characters")
        return text[:kept]

    def _cut_array(self, items: list[Any], budget: int, pointer: str) -> list[Any]:
        left = budget - 2
        kept: list[Any] = []
        for item in items:
            size = self.size(item) + 1
            if size > left:
                break
            kept.append(item)
            left -= size
        if not kept and items:  # one item alone is too long: show what fits of it
            kept = [self._cut(items[0], left, f"{pointer}/0")]
        if len(kept) < len(items):
            self.notes.append(f"`{pointer or '/'}` shows {len(kept):,} of {len(items):,} items")
        return kept

    def _cut_object(self, members: JsonObject, budget: int, pointer: str) -> JsonObject:
        """Keep short members whole; the long ones share what is left evenly."""
        sizes = {name: self.size(member) for name, member in members.items()}
        left = budget - 2 - sum(self.size(name) + 2 for name in members)
        shares: dict[str, int] = {}
        for rest, name in enumerate(sorted(sizes, key=lambda name: sizes[name])):
            shares[name] = max(0, min(sizes[name], left // (len(sizes) - rest)))
            left -= shares[name]
        return {
            name: member
            if sizes[name] <= shares[name]
            else self._cut(member, shares[name], f"{pointer}/{_escaped(name)}")
            for name, member in members.items()
        }


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
