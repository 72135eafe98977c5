"""Comparison of a projected result with its response, leaf by leaf.

The runtime walks down the projection; this compares every scalar of both sides by its path, so that
a fault of one does not hide in the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TypeAlias

from mcpgen.jsonschema.types import JsonValue
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.upstream.http.messages import HttpResponse
from mcpgen.text.json_pointer import json_pointer

_Place: TypeAlias = "tuple[str | int, ...]"
_ITEMS = "[]"


def compare_projection(
    kept: JsonObject, response: HttpResponse, result: JsonObject
) -> Iterator[str]:
    """Yield the differences between a result and the part of a response that `kept` selects."""
    value = json.loads(response.body)
    structured = result.get("structuredContent", {})
    found = dict(_list_leaves(structured if isinstance(value, dict) else structured.get("result")))
    size = len(json.dumps(structured, ensure_ascii=False, separators=(",", ":")).encode())
    answered = dict(_list_leaves(value))
    wanted = {place: leaf for place, leaf in answered.items() if _is_kept(place, kept)}
    for place in sorted(found.keys() - wanted.keys(), key=repr):
        yield f"`{json_pointer(place)}` is in the result, expected to be removed"
    if "max_bytes" in kept and len(response.body) > kept["max_bytes"]:
        if size > kept["max_bytes"]:
            yield f"the result has {size} bytes, expected at most {kept['max_bytes']}"
        return
    for place, leaf in wanted.items():
        if place not in found or found[place] != leaf:
            value = found.get(place)
            yield f"`{json_pointer(place)}` is {value!r} in the result, expected {leaf!r}"


def _list_leaves(value: JsonValue, place: _Place = ()) -> Iterator[tuple[_Place, JsonValue]]:
    """Yield every scalar of a value, with its path."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from _list_leaves(member, (*place, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _list_leaves(item, (*place, index))
    else:
        yield place, value


def _is_kept(place: _Place, kept: JsonObject) -> bool:
    index = next((step for step in place[:2] if isinstance(step, int)), 0)
    if "max_items" in kept and index >= kept["max_items"]:
        return False
    node = kept.get("select", {})
    for step in place:
        if not node:
            return True
        node = node.get(_ITEMS if isinstance(step, int) else step)
        if node is None:
            return False
    return True
