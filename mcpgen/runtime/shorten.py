"""JSON that is too long for a model, cut where it stays JSON: items of arrays, ends of texts."""

from __future__ import annotations

from dataclasses import dataclass
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
    """Cut a JSON value so that its text has at most `max_characters`, roughly.

    The last items of the longest arrays go first, then the ends of long texts; names and
    structure stay, so a value of nothing but names may remain longer.
    """
    text = _text(value)
    if len(text) <= max_characters:
        return Shortened(value, text)
    return cut_to_bytes(value, max_characters)


def cut_to_bytes(value: Any, max_bytes: int) -> Shortened:
    """Cut a JSON value, as `shortened` does, so that its text has at most `max_bytes`, roughly."""
    if _size(value) <= max_bytes:
        return Shortened(value, _text(value))
    notes: list[str] = []
    cut = _cut(value, max_bytes, "", notes)
    return Shortened(cut, _text(cut), tuple(notes))


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _size(value: Any) -> int:
    return len(msgspec.json.encode(value))


def _cut(value: Any, budget: int, pointer: str, notes: list[str]) -> Any:
    if isinstance(value, list):
        return _cut_array(value, budget, pointer, notes)
    if isinstance(value, dict):
        return _cut_object(value, budget, pointer, notes)
    if isinstance(value, str) and len(value) > max(budget, _SHORTEST_TEXT):
        kept = max(budget, _SHORTEST_TEXT)
        notes.append(f"`{pointer or '/'}` shows {kept:,} of {len(value):,} characters")
        return value[:kept]
    return value


def _cut_array(items: list[Any], budget: int, pointer: str, notes: list[str]) -> list[Any]:
    left = budget - 2
    kept: list[Any] = []
    for item in items:
        size = _size(item) + 1
        if size > left:
            break
        kept.append(item)
        left -= size
    if not kept and items:  # one item alone is too long: show what fits of it
        kept = [_cut(items[0], left, f"{pointer}/0", notes)]
    if len(kept) < len(items):
        notes.append(f"`{pointer or '/'}` shows {len(kept):,} of {len(items):,} items")
    return kept


def _cut_object(members: JsonObject, budget: int, pointer: str, notes: list[str]) -> JsonObject:
    """Keep short members whole; the long ones share what is left evenly."""
    sizes = {name: _size(member) for name, member in members.items()}
    left = budget - 2 - sum(_size(name) + 2 for name in members)
    shares: dict[str, int] = {}
    for rest, name in enumerate(sorted(sizes, key=lambda name: sizes[name])):
        shares[name] = max(0, min(sizes[name], left // (len(sizes) - rest)))
        left -= shares[name]
    return {
        name: member
        if sizes[name] <= shares[name]
        else _cut(member, shares[name], f"{pointer}/{_escaped(name)}", notes)
        for name, member in members.items()
    }


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
