"""Projection of a JSON value: selected members, and lists cut to a limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from msgspec import Struct

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.protocol.jsonrpc import encode_json
from mcpgen.runtime.tools.truncation import cut_to_bytes

ITEMS: Final = "[]"  # leads to the items of a list, where a name leads to a member


@dataclass(frozen=True, slots=True)
class ProjectedValue:
    """A projected value; `notes` describe what was cut and how to fetch it."""

    value: Any
    notes: tuple[str, ...] = ()


class Projection(Struct, frozen=True):
    """The `result` of a tool's contract.

    `select` contains the members to keep: nested objects by name, {} for a whole value.
    """

    select: JsonObject = {}
    max_items: int | None = None
    max_bytes: int | None = None
    rest: str = ""  # how a caller can fetch what was cut

    def apply(self, value: Any) -> ProjectedValue:
        """Return the projected value; values other than objects and lists are unchanged."""
        if not isinstance(value, dict | list):
            return ProjectedValue(value)
        value = _select_members(value, self.select)
        notes: list[str] = []
        if self.max_items is not None:
            value = _cut_lists(value, self.max_items, notes)
        if self.max_bytes is not None:
            short = cut_to_bytes(value, self.max_bytes)
            value, omitted = _drop_longest(short.value, self.max_bytes)
            told = (note for note in short.notes if not _is_note_on(note, omitted))
            notes += [*told, *(f"`/{name}` has no room" for name in omitted)]
        if not notes:
            return ProjectedValue(value)
        note = f"Cut: {'; '.join(notes)}."
        return ProjectedValue(value, (f"{note} {self.rest}".rstrip(),))


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
    sizes = {name: len(encode_json(member)) for name, member in value.items()}
    omitted: list[str] = []
    while value and len(encode_json(value)) > max_bytes:
        longest = max(value, key=lambda name: sizes[name])
        value = {name: member for name, member in value.items() if name != longest}
        omitted.append(longest)
    return value, omitted


def _is_note_on(note: str, names: list[str]) -> bool:
    return any(note.startswith((f"`/{name}`", f"`/{name}/")) for name in names)


def _cut(items: list[Any], max_items: int, shown_as: str, notes: list[str]) -> list[Any]:
    if len(items) > max_items:
        notes.append(f"`{shown_as}` shows {max_items:,} of {len(items):,} items")
    return items[:max_items]
