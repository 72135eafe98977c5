"""Projection of a JSON value: selected members, and lists cut to a limit."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from msgspec import Struct

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.protocol.jsonrpc import encode_json
from mcpgen.text.json_pointer import json_pointer

_MAX_MEASURED = 64 * 1024 * 1024
"""Bytes that are encoded to find out how long the parts of a value are.

Each level of nesting encodes its parts again, so a value of 10 MB is cut at most six levels deep.
"""
_FEW_MEMBERS = 1_000  # whose names all stay
_SHORTEST_TEXT = 40  # of a text that is cut; below this, too little would stay to be of use


@dataclass(frozen=True, slots=True)
class Shortened:
    """A value within its limit; `notes` describe the cuts: "`/items` shows 40 of 900"."""

    value: Any
    text: str  # the value, as compact JSON
    notes: tuple[str, ...] = ()


def shorten(value: Any, max_characters: int) -> Shortened:
    """Cut a JSON value so that its text has at most `max_characters`.

    The last items of the longest arrays go first, then the ends of long texts. Structure stays, and
    so do the names of members, but for those of an object that has thousands of them.
    """
    encoded = msgspec.json.encode(value)
    if len(encoded) <= 4 * max_characters and len(text := encoded.decode()) <= max_characters:
        return Shortened(value, text)
    del encoded
    return _Cutter(lambda part: len(_encode_text(part))).shorten(value, max_characters)


def cut_to_bytes(value: Any, max_bytes: int) -> Shortened:
    """Cut a JSON value, as `shorten` does, so that its text has at most `max_bytes` in UTF-8."""
    encoded = msgspec.json.encode(value)
    if len(encoded) <= max_bytes:
        return Shortened(value, encoded.decode())
    del encoded
    return _Cutter(lambda part: len(msgspec.json.encode(part))).shorten(value, max_bytes)


def _encode_text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


@dataclass(slots=True)
class _Cutter:
    """Cuts values to a bound in the unit in which `size` measures the JSON text of one."""

    measure: Callable[[Any], int]
    notes: list[str] = field(default_factory=list)
    left_to_measure: int = _MAX_MEASURED

    def count(self, value: Any) -> int:
        """Return the size of the JSON text of a value."""
        size = self.measure(value)
        self.left_to_measure -= size
        return size

    def shorten(self, value: Any, bound: int) -> Shortened:
        cut = self._cut(value, bound, "")
        return Shortened(cut, _encode_text(cut), tuple(self.notes))

    def _cut(self, value: Any, budget: int, pointer: str) -> Any:
        if self.left_to_measure < 0 and isinstance(value, (dict, list)):
            self.notes.append(f"`{pointer}` is left out")
            return type(value)()
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
        fitting = bisect_right(lengths, budget, key=lambda length: self.count(text[:length])) - 1
        kept = max(fitting, _SHORTEST_TEXT)
        if kept < len(text):
            self.notes.append(f"`{pointer or '/'}` shows {kept:,} of {len(text):,} characters")
        return text[:kept]

    def _cut_array(self, items: list[Any], budget: int, pointer: str) -> list[Any]:
        left = budget - 2
        kept: list[Any] = []
        for item in items:
            size = self.count(item) + 1
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
        names = self._select_names(members, budget)
        if len(names) < len(members):
            shown = f"{len(names):,} of {len(members):,} members"
            self.notes.append(f"`{pointer or '/'}` shows {shown}")
            members = {name: members[name] for name in names}
        sizes = {name: self.count(member) for name, member in members.items()}
        left = budget - 2 - sum(self.count(name) + 2 for name in members)
        shares: dict[str, int] = {}
        for rest, name in enumerate(sorted(sizes, key=lambda name: sizes[name])):
            shares[name] = max(0, min(sizes[name], left // (len(sizes) - rest)))
            left -= shares[name]
        return {
            name: member
            if sizes[name] <= shares[name]
            else self._cut(member, shares[name], pointer + json_pointer([name]))
            for name, member in members.items()
        }

    def _select_names(self, members: JsonObject, budget: int) -> list[str]:
        """Return the names, or as many of the first ones as leave half of the room for values."""
        if len(members) <= _FEW_MEMBERS or sum(map(len, members)) + 4 * len(members) <= budget // 2:
            return list(members)
        left, names = budget // 2, []
        for name in members:
            left -= len(name) + 4
            if left < 0:
                break
            names.append(name)
        return names


ITEMS: Final = "[]"  # leads to the items of a list, where a name leads to a member


class Projection(Struct, frozen=True):
    """The `result` of a tool's contract.

    `select` contains the members to keep: nested objects by name, {} for a whole value.
    """

    select: JsonObject = {}
    max_items: int | None = None
    max_bytes: int | None = None
    rest: str = ""  # how a caller can fetch what was cut

    def apply(self, value: Any) -> tuple[Any, tuple[str, ...]]:
        """Return the projected value, and notes on what was cut and how to fetch it.

        Values other than objects and lists are unchanged.
        """
        if not isinstance(value, dict | list):
            return value, ()
        value = _select_members(value, self.select)
        notes: list[str] = []
        if self.max_items is not None:
            value = _cut_lists(value, self.max_items, notes)
        if self.max_bytes is not None:
            short = cut_to_bytes(value, self.max_bytes)
            value, omitted = _drop_longest(short.value, self.max_bytes)
            gone = tuple(f"`/{name}{end}" for name in omitted for end in "`/")
            told = (note for note in short.notes if not note.startswith(gone))
            notes += [*told, *(f"`/{name}` has no room" for name in omitted)]
        if not notes:
            return value, ()
        return value, (f"Cut: {'; '.join(notes)}. {self.rest}".rstrip(),)


def _select_members(value: Any, wanted: JsonObject) -> Any:
    """Select members of a value, even if the API returned one item instead of a list."""
    if not wanted:
        return value
    inner = wanted.get(ITEMS, wanted)
    if isinstance(value, list):
        return [_select_members(item, inner) for item in value]
    if isinstance(value, dict):
        return {
            name: _select_members(item, inner[name])
            for name, item in value.items()
            if name in inner
        }
    return value


def _cut_lists(value: Any, max_items: int, notes: list[str]) -> Any:
    """Cut a list, or the lists that are members of an object, to `max_items`."""
    if isinstance(value, list):
        return _cut(value, max_items, "/", notes)
    return {
        name: _cut(member, max_items, f"/{name}", notes) if isinstance(member, list) else member
        for name, member in value.items()
    }


def _drop_longest(value: Any, max_bytes: int) -> tuple[Any, list[str]]:
    """Drop the longest members until the value fits; return it and the dropped names."""
    if len(encode_json(value)) <= max_bytes:
        return value, []
    if isinstance(value, list):
        return [], [""]
    kept = dict(value)
    omitted: list[str] = []
    for name in sorted(value, key=lambda name: -len(encode_json(value[name]))):
        if len(encode_json(kept)) <= max_bytes:
            break
        omitted.append(name)
        del kept[name]
    return kept, omitted


def _cut(items: list[Any], max_items: int, shown_as: str, notes: list[str]) -> list[Any]:
    if len(items) > max_items:
        notes.append(f"`{shown_as}` shows {max_items:,} of {len(items):,} items")
    return items[:max_items]
