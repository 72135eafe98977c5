"""Merging `pyproject.toml` by meaning: our keys change, the user's comments and order stay."""

from __future__ import annotations

import tomllib
from difflib import SequenceMatcher
from typing import Any

from mcpgen.emit.merge.values import Edits, KeyPath, merge_values


def merge_toml(base: str, yours: str, ours: str) -> tuple[str, tuple[str, ...]]:
    """Return `yours` with the changes of `ours`, and the keys whose values conflict.

    Raises:
        ValueError: a text is no TOML, or cannot be edited without changing what else it says.
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
        spelled = _at(new, at)
        if isinstance(spelled, Table):
            sections.append(_section(at, spelled))
        else:
            _set(_at(document, at[:-1]), at[-1], value, spelled)
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
    """Spell a table with its whole header, as a text of its own."""
    import tomlkit

    for key in reversed(at[1:]):
        holder = tomlkit.table(is_super_table=True)
        holder.append(key, table)
        table = holder
    return tomlkit.dumps(tomlkit.document().append(at[0], table)).strip("\n")


def _set(holder: Any, key: str, value: Any, spelled: Any) -> None:
    """Set a key as ours spells it; of a list only the entries change, and not what is between."""
    from tomlkit.items import Array

    array = holder.get(key)
    is_list = isinstance(array, Array) and isinstance(value, list)
    if is_list and all(isinstance(entry, str) for entry in (*array, *value)):
        _change_entries(array, value)
    else:
        holder[key] = spelled


def _change_entries(array: Any, value: list[str]) -> None:
    """Bring an array to `value`; an entry that takes another's place has the comment beside it."""
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
