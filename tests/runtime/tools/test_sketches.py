"""Tests of sketches of results, which replace output schemas."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.runtime.tools.sketches import MAX_SKETCH, sketch_result

STRING = {"type": "string"}
USER = {"$ref": "#/$defs/User"}
LISTS = {"type": "array", "items": {"$ref": "#/$defs/Lists"}}


@pytest.mark.parametrize(
    ("schema", "sketch"),
    [
        ({"type": "object"}, "object"),
        ({"properties": {"id": {"type": "integer"}, "on": True}}, "{id: integer, on: any}"),
        ({"properties": {"tags": {"type": "array", "items": STRING}}}, "{tags: string[]}"),
        (
            {
                "properties": {
                    "a": {"anyOf": [STRING, {"type": "null"}]},
                    "b": {"type": ["string", "null"]},
                }
            },
            "{a: string, b: string}",
        ),
        (
            {
                "properties": {"owner": USER, "all": {"type": "array", "items": USER}},
                "$defs": {"User": {"properties": dict.fromkeys("abcdefgh", STRING)}},
            },
            "{owner: {a, b, c, d, e, f, …}, all: {a, b, c, d, e, f, …}[]}",
        ),
        (
            {"properties": {"a": LISTS}, "$defs": {"Lists": LISTS}},
            "{a: array[][][]}",
        ),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"x": STRING}}}}, "{x: string}"),
    ],
)
def test_a_sketch_names_members_and_types(schema: Any, sketch: str) -> None:
    assert sketch_result(schema) == sketch


def test_a_long_sketch_ends_with_an_ellipsis() -> None:
    schema = {"properties": {f"member_number_{number}": STRING for number in range(100)}}
    sketch = sketch_result(schema)
    assert MAX_SKETCH - 40 < len(sketch) <= MAX_SKETCH
    assert sketch.endswith(", …}")
