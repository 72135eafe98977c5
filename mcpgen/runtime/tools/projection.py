"""Projection of a JSON value: selected members, and lists cut to a limit."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.protocol.jsonrpc import encode_json
from mcpgen.text.json_pointer import json_pointer

_MAX_MEASURED = 64 * 1024 * 1024
"""Bytes that are encoded to find out how long the parts of a value are.

Each level of nesting encodes its parts again, so a value of 10 MB is cut at most six levels deep.
"""
_FEW_MEMBERS = 1_000  # whose names all stay
_SHORTEST_TEXT = 40  # of a text that is cut; below this, too little would stay to be of use
_MAX_CHARACTER_BYTES = 4  # in UTF-8
_ROOM_FOR_NOTES = 1_000  # bytes
_MANY_CUTS = 10  # from which on objects are cut at one place each: the caller reads every note

Place: TypeAlias = tuple[str | int, ...]
"""The tokens of a JSON Pointer; indexes of lists and texts are integers."""


class Cut(Struct, frozen=True):
    """A list, text or object that is not shown to its end."""

    place: Place
    unit: str  # "items", "characters" or "members"
    shown: int
    total: int
    following: str | int  # the first index, or the first name, that is not shown

    def describe(self, skipped: int = 0) -> str:
        """Describe the cut: "`/items` shows 40 of 900 items".

        `skipped` is the number of items or characters before the shown ones.
        """
        where = f"`{json_pointer(self.place) or '/'}` shows"
        if skipped:
            first, last = skipped + min(1, self.shown), skipped + self.shown
            return f"{where} {self.unit} {first:,} to {last:,} of {skipped + self.total:,}"
        return f"{where} {self.shown:,} of {self.total:,} {self.unit}"


class Shortened(Struct, frozen=True):
    """A value within its limit, and what was cut."""

    value: Any
    text: str  # the value, as compact JSON
    cuts: tuple[Cut, ...] = ()


def shorten(value: Any, max_bytes: int, *, has_notes: bool = False) -> Shortened:
    """Cut a JSON value so that its text has at most `max_bytes` in UTF-8.

    The last items of the longest arrays go first, then the ends of long texts. Structure stays, and
    so do the names of members, but for objects with thousands of members or many long ones, whose
    last members go. At least the beginning of each list and text stays. With `has_notes`, a value
    that is cut leaves room for notes on its cuts.
    """
    encoded = msgspec.json.encode(value)
    if len(encoded) <= max_bytes:
        return Shortened(value, encoded.decode())
    del encoded
    return _Cutter().shorten(value, leave_room(max_bytes) if has_notes else max_bytes)


def shorten_text(text: str, max_bytes: int, *, has_notes: bool = False) -> Shortened:
    """Cut a text, as `shorten` does, that is sent as it is and not as JSON."""
    if len(text) * _MAX_CHARACTER_BYTES <= max_bytes or _count_text(text) <= max_bytes:
        return Shortened(text, text)
    cutter = _Cutter(_count_text)
    kept = cutter.cut_text(text, leave_room(max_bytes) if has_notes else max_bytes, ())
    return Shortened(kept, kept, tuple(cutter.cuts))


def leave_room(max_bytes: int) -> int:
    """Return how much of a limit a value that is cut may take, so that notes on its cuts fit."""
    return max_bytes - min(_ROOM_FOR_NOTES, max_bytes // 4)


def merge_cuts(earlier: Sequence[Cut], later: Sequence[Cut], value: Any) -> tuple[Cut, ...]:
    """Return the cuts of a value that was cut twice, without those inside of parts that are gone.

    `value` is what both left of it.
    """
    again = {cut.place: cut for cut in later}
    kept: list[Cut] = []
    for cut in earlier:
        if cut.place in again:
            again[cut.place] = replace(again[cut.place], total=cut.total)
        elif _has_place(value, cut.place if cut.shown else cut.place[:-1]):
            kept.append(cut)
    return (*kept, *again.values())


def _has_place(value: Any, place: Place) -> bool:
    for token in place:
        try:
            value = value[token]
        except (LookupError, TypeError):
            return False
    return True


def _cut_all(place: Place, value: JsonObject | list[Any] | str) -> Cut:
    """Return the cut of a value of which nothing is shown."""
    if isinstance(value, dict):
        return Cut(place, "members", 0, len(value), next(iter(value), ""))
    return Cut(place, "items" if isinstance(value, list) else "characters", 0, len(value), 0)


def _count_bytes(value: Any) -> int:
    return len(msgspec.json.encode(value))


def _count_text(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


class _Cutter(Struct):
    """Cuts values to a bound of the size that `measure` returns."""

    measure: Callable[[Any], int] = _count_bytes
    cuts: list[Cut] = []
    left_to_measure: int = _MAX_MEASURED

    def count(self, value: Any) -> int:
        """Return the size of the JSON text of a value."""
        size = self.measure(value)
        self.left_to_measure -= size
        return size

    def shorten(self, value: Any, bound: int) -> Shortened:
        cut = self._cut(value, bound, ())
        return Shortened(cut, msgspec.json.encode(cut).decode(), tuple(self.cuts))

    def _cut(self, value: Any, budget: int, place: Place) -> Any:
        if isinstance(value, str):
            return self.cut_text(value, budget, place)
        if not isinstance(value, (dict, list)) or not value:
            return value
        if self.left_to_measure < 0:
            self.cuts.append(_cut_all(place, value))
            return type(value)()
        if isinstance(value, list):
            return self._cut_array(value, budget, place)
        return self._cut_object(value, budget, place)

    def cut_text(self, text: str, budget: int, place: Place) -> str:
        """Keep what fits of the beginning of a text."""
        # No character takes less than one, so that no more of them than the budget need a look.
        lengths = range(min(len(text), max(budget, 0)) + 1)
        fitting = bisect_right(lengths, budget, key=lambda length: self.count(text[:length])) - 1
        kept = max(fitting, _SHORTEST_TEXT)
        if kept < len(text):
            self.cuts.append(Cut(place, "characters", kept, len(text), kept))
        return text[:kept]

    def _cut_array(self, items: list[Any], budget: int, place: Place) -> list[Any]:
        left = budget - 2
        kept: list[Any] = []
        for item in items:
            size = self.count(item) + 1
            if size > left:
                break
            kept.append(item)
            left -= size
        if not kept:  # one item alone is too long: show what fits of it
            kept = [self._cut(items[0], left, (*place, 0))]
        if len(kept) < len(items):
            self.cuts.append(Cut(place, "items", len(kept), len(items), len(kept)))
        return kept

    def _cut_object(self, members: JsonObject, budget: int, place: Place) -> JsonObject:
        """Keep short members whole; the long ones share what is left evenly."""
        names = self._select_names(members, budget)
        sizes = {name: self.count(members[name]) for name in names}
        left = budget - 2 - sum(self.count(name) + 2 for name in names)
        shares = _share(sizes, left)
        too_long = sum(sizes[name] > shares[name] for name in names)
        if too_long > 1 and len(self.cuts) + too_long > _MANY_CUTS:
            names = _fit_names(sizes, left)
            shares = dict.fromkeys(names, left) if len(names) == 1 else sizes
        kept = {
            name: members[name]
            if sizes[name] <= shares[name]
            else self._cut(members[name], shares[name], (*place, name))
            for name in names
        }
        if len(names) < len(members):
            following = list(members)[len(names)]
            self.cuts.append(Cut(place, "members", len(names), len(members), following))
        return kept

    def _select_names(self, members: JsonObject, budget: int) -> list[str]:
        """Return the names, or as many of the first ones as leave half of the room for values."""
        if len(members) <= _FEW_MEMBERS or sum(map(len, members)) + 4 * len(members) <= budget // 2:
            return list(members)
        left, names = budget // 2, []
        for name in members:
            left -= self.count(name) + 2
            if left < 0:
                break
            names.append(name)
        return names or [next(iter(members))]


def _share(sizes: dict[str, int], left: int) -> dict[str, int]:
    """Share what is left evenly among members that take more."""
    shares: dict[str, int] = {}
    for rest, name in enumerate(sorted(sizes, key=lambda name: sizes[name])):
        shares[name] = max(0, min(sizes[name], left // (len(sizes) - rest)))
        left -= shares[name]
    return shares


def _fit_names(sizes: dict[str, int], left: int) -> list[str]:
    """Return as many of the first names as have room for their members, at least one."""
    names: list[str] = []
    for name, size in sizes.items():
        left -= size
        if left < 0:
            break
        names.append(name)
    return names or [next(iter(sizes))]


ITEMS: Final = "[]"  # leads to the items of a list, where a name leads to a member


class Projection(Struct, frozen=True):
    """The `result` of a tool's contract.

    `select` contains the members to keep: nested objects by name, {} for a whole value.
    """

    select: JsonObject = {}
    max_items: int | None = None
    max_bytes: int | None = None

    def cut(self, value: Any, *, is_rest: bool = False) -> tuple[Any, tuple[Cut, ...]]:
        """Return the value within the limits, and what was cut.

        Values other than objects and lists are unchanged. What is left of the first result
        (`is_rest`) may exceed `max_bytes`, so that each part has a call that shows it.
        """
        if not isinstance(value, dict | list):
            return value, ()
        cuts: tuple[Cut, ...] = ()
        if self.max_items is not None:
            value, cuts = _cut_lists(value, self.max_items)
        if self.max_bytes is not None:
            short = shorten(value, self.max_bytes)
            value, cuts = short.value, merge_cuts(cuts, short.cuts, short.value)
            if not is_rest:
                value, dropped = _drop_longest(value, self.max_bytes)
                cuts = merge_cuts(cuts, dropped, value)
        return value, cuts


def select_members(value: Any, selection: JsonObject) -> Any:
    """Select members of a value, even if the API returned one item instead of a list."""
    if not selection:
        return value
    inner = selection.get(ITEMS, selection)
    if isinstance(value, list):
        return [select_members(item, inner) for item in value]
    if isinstance(value, dict):
        return {
            name: select_members(item, inner[name]) for name, item in value.items() if name in inner
        }
    return value


def _cut_lists(value: Any, max_items: int) -> tuple[Any, tuple[Cut, ...]]:
    """Cut a list, or the lists that are members of an object, to `max_items`."""
    cuts: list[Cut] = []

    def cut(items: list[Any], place: Place) -> list[Any]:
        if len(items) > max_items:
            cuts.append(Cut(place, "items", max_items, len(items), max_items))
        return items[:max_items]

    if isinstance(value, list):
        value = cut(value, ())
    else:
        value = {
            name: cut(member, (name,)) if isinstance(member, list) else member
            for name, member in value.items()
        }
    return value, tuple(cuts)


def _drop_longest(value: Any, max_bytes: int) -> tuple[Any, tuple[Cut, ...]]:
    """Drop the longest members until the value fits; return it and what was dropped."""
    if len(encode_json(value)) <= max_bytes:
        return value, ()
    if isinstance(value, list):
        return [], (_cut_all((), value),)
    kept = dict(value)
    dropped: list[Cut] = []
    for name in sorted(value, key=lambda name: -len(encode_json(value[name]))):
        if len(encode_json(kept)) <= max_bytes:
            break
        member = kept.pop(name)
        if isinstance(member, dict | list | str):
            dropped.append(_cut_all((name,), member))
        else:
            dropped.append(Cut((), "members", len(kept), len(value), name))
    return kept, tuple(dropped)
