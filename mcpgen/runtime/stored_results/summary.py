"""Summary of the shape of a JSON value: types, lengths of arrays, number of values, depth."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

MAX_SUMMARY: Final = 400  # characters
_MAX_MEMBERS: Final = 12  # of one object that are named
_MAX_SAMPLES: Final = 20  # items of a list whose shapes are joined
_MAX_DEPTH: Final = 4
_LONG_TEXT: Final = 200  # characters from which on the length is stated
_MORE: Final = "…"


def summarize(value: Any) -> str:
    """Return the shape of a value: `{items: 900 x {id: integer}, total: integer}; 1,802 values, …`.

    The shape has at most `MAX_SUMMARY` characters. It joins the first items of a list; the lengths
    of lists that differ are a range.
    """
    shape = _describe([value], 0)
    if len(shape) > MAX_SUMMARY:
        shape = shape[: MAX_SUMMARY - 1] + _MORE
    count, depth = _measure(value)
    return f"{shape}; {count:,} value{'s'[: count - 1]}, depth {depth}"


def _measure(value: Any) -> tuple[int, int]:
    """Return how many values there are, and how many levels of objects and lists."""
    level, count, depth = [value], 0, -1
    while level:
        count, depth = count + len(level), depth + 1
        level = [inner for item in level for inner in _list_parts(item)]
    return count, depth


def _list_parts(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _describe(values: list[Any], depth: int) -> str:
    """Describe values that are at the same place of different items."""
    objects = [it for it in values if isinstance(it, dict)]
    lists = [it for it in values if isinstance(it, list)]
    kinds: list[str] = []
    if objects:
        kinds.append(_describe_objects(objects, depth))
    if lists:
        kinds.append(_describe_lists(lists, depth))
    for value in values:
        if not isinstance(value, dict | list) and (name := _name_type(value)) not in kinds:
            kinds.append(name)
    known = [kind for kind in kinds if kind != "null"]
    return "|".join(known or kinds or ["any"])


def _describe_objects(objects: list[dict[str, Any]], depth: int) -> str:
    names = list(dict.fromkeys(name for each in objects for name in each))
    if depth >= _MAX_DEPTH or not names:
        return "object"
    members = [
        f"{name}: {_describe([each[name] for each in objects if name in each], depth + 1)}"
        for name in names[:_MAX_MEMBERS]
    ]
    if len(names) > _MAX_MEMBERS:
        members.append(f"{_MORE} {len(names) - _MAX_MEMBERS:,} more")
    return f"{{{', '.join(members)}}}"


def _describe_lists(lists: list[list[Any]], depth: int) -> str:
    lengths = [len(each) for each in lists]
    least, most = min(lengths), max(lengths)
    count = f"{most:,}" if least == most else f"{least:,}-{most:,}"
    if not most or depth >= _MAX_DEPTH:
        return f"{count} items"
    samples = [item for each in lists for item in each[:_MAX_SAMPLES]][:_MAX_SAMPLES]
    return f"{count} x {_describe(samples, depth + 1)}"


def _name_type(value: Any) -> str:
    if isinstance(value, str):
        return f"string of {len(value):,}" if len(value) >= _LONG_TEXT else "string"
    if isinstance(value, bool):
        return "boolean"
    if value is None:
        return "null"
    return "integer" if isinstance(value, int) else "number"
