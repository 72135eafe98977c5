"""Merging `pyproject.toml` by meaning: our keys change, the user's comments and order stay."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from msgspec import Struct, field

KeyPath = tuple[str, ...]

_REQUIREMENTS = (
    ("build-system", "requires"),
    ("project", "dependencies"),
    ("project", "optional-dependencies"),
    ("dependency-groups",),
)
_MISSING = object()  # marks a key that a text does not have; None is a value of JSON


class Edits(Struct):
    """Changes of the user's settings, in the order of ours."""

    values: dict[KeyPath, Any] = field(default_factory=dict)
    removed: list[KeyPath] = field(default_factory=list)
    conflicts: list[KeyPath] = field(default_factory=list)  # changed by both, in different ways


def merge_values(base: Any, yours: Any, ours: Any) -> Edits:
    """Compare three mappings, as parsed from JSON or TOML, and return the edits of `yours`."""
    edits = Edits()
    _merge_mappings((), base, yours, ours, edits)
    return edits


def _merge_mappings(
    at: KeyPath,
    base: Mapping[str, Any],
    yours: Mapping[str, Any],
    ours: Mapping[str, Any],
    edits: Edits,
) -> None:
    for key in (*ours, *(key for key in base if key not in ours)):
        sides = (base.get(key, _MISSING), yours.get(key, _MISSING), ours.get(key, _MISSING))
        _merge((*at, key), *sides, edits)


def _merge(at: KeyPath, base: Any, yours: Any, ours: Any, edits: Edits) -> None:
    if ours in (base, yours):
        return
    known = type(ours)() if base is _MISSING else base
    if isinstance(known, Mapping) and isinstance(yours, Mapping) and isinstance(ours, Mapping):
        # Key by key, even where the user changed no value: comments are theirs too.
        _merge_mappings(at, known, yours, ours, edits)
    elif yours == base:
        if ours is _MISSING:
            edits.removed.append(at)
        else:
            edits.values[at] = ours
    elif yours is _MISSING or ours is _MISSING:
        pass  # deletions of the user stay, and their changes are theirs now
    elif _is_texts(known) and _is_texts(yours) and _is_texts(ours):
        _merge_texts(at, known, yours, ours, edits)
    else:
        edits.conflicts.append(at)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)


def _merge_texts(
    at: KeyPath, base: Sequence[str], yours: Sequence[str], ours: Sequence[str], edits: Edits
) -> None:
    by_name = at in _REQUIREMENTS or at[:-1] in _REQUIREMENTS
    entries = _by_name if by_name else _by_text
    known, theirs, new = map(entries, (base, yours, ours))
    merged = list(yours)
    for name in (*new, *(name for name in known if name not in new)):
        was, is_now, shall = known.get(name, []), theirs.get(name, []), new.get(name, [])
        if shall in (was, is_now):
            continue
        if is_now == was:
            merged = _replace_entries(merged, was, shall)
        elif is_now and shall:
            requirement = _merge_requirement(was, is_now, shall) if by_name else ""
            if requirement:
                merged = _replace_entries(merged, is_now, [requirement])
            else:
                edits.conflicts.append((*at, name))
    if merged != list(yours):
        edits.values[at] = merged


def _by_text(texts: Sequence[str]) -> dict[str, list[str]]:
    return {text: [text] for text in texts}


def _by_name(requirements: Sequence[str]) -> dict[str, list[str]]:
    """Group requirements by the normalized name of their package (PEP 503)."""
    groups: dict[str, list[str]] = {}
    for requirement in requirements:
        found = re.match(r"\s*([A-Za-z0-9._-]+)", requirement)
        name = re.sub(r"[-_.]+", "-", found[1]).lower() if found else requirement
        groups.setdefault(name, []).append(requirement)
    return groups


class _Requirement(Struct, frozen=True):
    """A requirement (PEP 508) as far as a merge looks at it."""

    name: str
    extras: tuple[str, ...]
    rest: str  # versions, markers or a URL

    @classmethod
    def parse(cls, text: str) -> _Requirement | None:
        found = re.match(r"\s*([A-Za-z0-9._-]+)(?:\s*\[([^\]]*)\])?(.*)", text, re.DOTALL)
        if found is None:
            return None
        extras = (extra.strip() for extra in (found[2] or "").split(","))
        return cls(found[1], tuple(filter(None, extras)), found[3])


def _merge_requirement(base: Sequence[str], yours: Sequence[str], ours: Sequence[str]) -> str:
    """Merge one requirement that both sides changed; "" if both changed its versions.

    Extras are merged one by one, so that an extra that mcpgen adds reaches a requirement whose
    versions the user changed.
    """
    if not len(base) == len(yours) == len(ours) == 1:
        return ""
    was, theirs, new = (_Requirement.parse(texts[0]) for texts in (base, yours, ours))
    if was is None or theirs is None or new is None:
        return ""
    if len({was.rest.strip(), theirs.rest.strip(), new.rest.strip()}) == 3:
        return ""
    rest = theirs.rest if new.rest.strip() == was.rest.strip() else new.rest
    kept = [extra for extra in theirs.extras if extra not in was.extras or extra in new.extras]
    added = [it for it in new.extras if it not in was.extras and it not in theirs.extras]
    extras = ",".join((*kept, *added))
    return theirs.name + (f"[{extras}]" if extras else "") + rest


def _replace_entries(entries: list[str], old: Sequence[str], new: Sequence[str]) -> list[str]:
    at = entries.index(old[0]) if old else len(entries)
    before, after = entries[:at], [entry for entry in entries[at:] if entry not in old]
    return [*before, *new, *after]


def merge_toml(base: str, yours: str, ours: str) -> tuple[str, tuple[str, ...]]:
    """Return `yours` with the changes of `ours`, and the keys whose values conflict.

    Raises:
        ValueError: a text is not TOML, or an edit would change its other values.
    """
    # Imported here: only a run that merges needs it. Editing TOML so that comments, order and
    # quoting survive takes a parser that keeps them, which the standard library does not have.
    import tomlkit
    from tomlkit.items import Table

    values = tomllib.loads(yours)
    edits = merge_values(tomllib.loads(base), values, tomllib.loads(ours))
    document, new = tomlkit.parse(yours), tomlkit.parse(ours)
    sections: list[str] = []
    for at, value in edits.values.items():
        item = _at(new, at)
        if isinstance(item, Table):
            sections.append(_section(at, item))
        else:
            _set(_at(document, at[:-1]), at[-1], value, item)
    for at in edits.removed:
        del _at(document, at[:-1])[at[-1]]
    # A new table goes to the end: put in the middle, it would come between a table and the comment
    # above that.
    text = "\n\n".join((tomlkit.dumps(document).rstrip("\n"), *sections)) + "\n"
    if tomllib.loads(text) != apply_edits(values, edits):
        raise ValueError("it cannot be edited in place")
    return text, tuple(".".join(at) for at in edits.conflicts)


def apply_edits(values: Any, edits: Edits) -> Any:
    """Apply edits to `values`, and return them."""
    for at, value in edits.values.items():
        _at(values, at[:-1])[at[-1]] = value
    for at in edits.removed:
        del _at(values, at[:-1])[at[-1]]
    return values


def _at(values: Any, path: KeyPath) -> Any:
    for key in path:
        values = values[key]
    return values


def _section(at: KeyPath, table: Any) -> str:
    """Return a table with its complete header, as a text."""
    import tomlkit

    for key in reversed(at[1:]):
        holder = tomlkit.table(is_super_table=True)
        holder.append(key, table)
        table = holder
    return tomlkit.dumps(tomlkit.document().append(at[0], table)).strip("\n")


def _set(holder: Any, key: str, value: Any, item: Any) -> None:
    """Set a key, in the spelling of ours; in a list, only the entries change."""
    from tomlkit.items import Array

    array = holder.get(key)
    is_list = isinstance(array, Array) and isinstance(value, list)
    if is_list and all(isinstance(entry, str) for entry in (*array, *value)):
        _change_entries(array, value)
    else:
        holder[key] = item


def _change_entries(array: Any, value: list[str]) -> None:
    """Change an array to `value`; an entry that replaces another one has its comment."""
    steps = SequenceMatcher(None, list(array), value, autojunk=False).get_opcodes()
    for kind, start, stop, new_start, new_stop in reversed(steps):
        if kind == "equal":
            continue
        in_place = min(stop - start, new_stop - new_start)
        for number in range(in_place):
            array[start + number] = value[new_start + number]
        for number in reversed(range(start + in_place, stop)):
            del array[number]
        for number in range(in_place, new_stop - new_start):
            array.insert(start + number, value[new_start + number])
