"""A part of a JSON value: the members that are asked for, and as much of lists as has room."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.protocol.jsonrpc import encode_json
from mcpgen.runtime.shorten import cut_to_bytes

ITEMS: Final = "[]"  # leads to the items of a list, where a name leads to a member


@dataclass(frozen=True, slots=True)
class Narrow:
    """What is left of a value. `notes` say what was cut, and how to get it."""

    value: Any
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Narrowing:
    """The `result` of a tool's contract.

    `select` has the members to keep by name, each with those inside it, and {} for all of it.
    """

    select: JsonObject
    max_items: int | None = None
    max_bytes: int | None = None
    rest: str = ""  # how a caller gets what is cut

    @classmethod
    def from_json(cls, entry: JsonObject) -> Narrowing:
        """Read `result` as it stands in `tools/<tag>.json`."""
        return cls(**{"select": {}, **entry})

    def of(self, value: Any) -> Narrow:
        """The part of a value that is given back; what is no object or list stays as it is."""
        if not isinstance(value, dict | list):
            return Narrow(value)
        value = _selected(value, self.select)
        notes: list[str] = []
        if self.max_items is not None:
            value = _first_items(value, self.max_items, notes)
        if self.max_bytes is not None:
            short = cut_to_bytes(value, self.max_bytes)
            value, omitted = _without_longest(short.value, self.max_bytes)
            told = (note for note in short.notes if not _speaks_of(note, omitted))
            notes += [*told, *(f"`/{name}` has no room" for name in omitted)]
        if not notes:
            return Narrow(value)
        return Narrow(value, (" ".join(filter(None, (f"Cut: {'; '.join(notes)}.", self.rest))),))


def _selected(value: Any, wanted: JsonObject) -> Any:
    """The wanted members of a value, also where the API answers one item in place of a list."""
    if not wanted:
        return value
    inner = wanted.get(ITEMS, wanted)
    if isinstance(value, list):
        return [_selected(item, inner) for item in value]
    if isinstance(value, dict):
        return {name: _selected(item, inner[name]) for name, item in value.items() if name in inner}
    return value


def _first_items(value: Any, max_items: int, notes: list[str]) -> Any:
    """The first items of a list, or of the lists that are members of an object."""
    if isinstance(value, list):
        return _cut(value, max_items, "/", notes)
    return {
        name: _cut(member, max_items, f"/{name}", notes) if isinstance(member, list) else member
        for name, member in value.items()
    }


def _without_longest(value: Any, max_bytes: int) -> tuple[Any, list[str]]:
    """What has room of a value whose parts cannot be cut shorter, and the members that have not."""
    if len(encode_json(value)) <= max_bytes:
        return value, []
    if isinstance(value, list):
        return [], [""]
    sizes = {name: len(encode_json(member)) for name, member in value.items()}
    omitted: list[str] = []
    while value and len(encode_json(value)) > max_bytes:
        longest = max(value, key=lambda name: sizes[name])
        value = {name: member for name, member in value.items() if name != longest}
        omitted.append(longest)
    return value, omitted


def _speaks_of(note: str, names: list[str]) -> bool:
    return any(note.startswith((f"`/{name}`", f"`/{name}/")) for name in names)


def _cut(items: list[Any], max_items: int, shown_as: str, notes: list[str]) -> list[Any]:
    if len(items) > max_items:
        notes.append(f"`{shown_as}` shows {max_items:,} of {len(items):,} items")
    return items[:max_items]
