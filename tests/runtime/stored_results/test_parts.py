"""Tests of the calls that continue reading a stored result."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.runtime.stored_results.parts import Reading
from mcpgen.runtime.tools.projection import Cut

VALUE = {"a": 1, "b": [[1, 2], {"x y": "text"}], "c": 3}


@pytest.mark.parametrize(
    ("reading", "cut", "offset", "arguments", "reason"),
    [
        # The members that are shown need not be the first ones.
        ({}, Cut((), "members", 1, 3, "c"), 0, {"pointer": "", "offset": 2}, "`/` shows 1 of 3"),
        ({}, Cut(("b",), "items", 1, 2, 1), 0, {"pointer": "/b", "offset": 1}, "`/b` shows 1 of 2"),
        (
            {"pointer": "/b"},
            Cut((0, "x y"), "characters", 2, 4, 2),
            1,
            {"pointer": "/b/1/x y", "offset": 2},
            "`/b/1/x y` shows 2 of 4 characters",
        ),
        (
            {"query": "b[*]"},
            Cut((0, "x y"), "characters", 2, 4, 2),
            1,
            {"query": 'b[*] | [1]."x y"', "offset": 2},
            "`/1/x y` shows 2 of 4 characters",
        ),
        ({"pointer": None}, Cut((), "characters", 5, 9, 5), 2, {"offset": 7}, "characters 3 to 7"),
    ],
)
def test_a_call_begins_with_the_first_part_that_is_not_shown(
    reading: Any, cut: Cut, offset: int, arguments: Any, reason: str
) -> None:
    value: Any = VALUE["b"] if "b" in str(reading) else VALUE
    (call,) = Reading("read", "h", **reading).list_calls([cut], value, offset)
    assert call.call == {"name": "read", "arguments": {"handle": "h", **arguments}}
    assert reason in call.reason
