"""Tests of summaries of the shape of results."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.runtime.stored_results.summary import MAX_SUMMARY, summarize


@pytest.mark.parametrize(
    ("value", "summary"),
    [
        (7, "integer; 1 value, depth 0"),
        ([], "0 items; 1 value, depth 0"),
        ({}, "object; 1 value, depth 0"),
        (
            {"items": [{"id": 1, "tags": ["a"]}, {"id": 2, "tags": []}], "total": 2.5},
            "{items: 2 x {id: integer, tags: 0-1 x string}, total: number}; 10 values, depth 4",
        ),
        ({"a": [1, "x", None, True]}, "{a: 4 x integer|string|boolean}; 6 values, depth 2"),
        ({"a": [None, None]}, "{a: 2 x null}; 4 values, depth 2"),
        ({"text": "x" * 5000}, "{text: string of 5,000}; 2 values, depth 1"),
        ([{"a": 1}, {"b": 2}], "2 x {a: integer, b: integer}; 5 values, depth 2"),
    ],
)
def test_a_summary_has_types_lengths_counts_and_the_depth(value: Any, summary: str) -> None:
    assert summarize(value) == summary


def test_a_summary_is_bounded_for_wide_and_deep_values() -> None:
    wide = {f"member number {number}": {str(it): it for it in range(50)} for number in range(500)}
    deep: Any = 1
    for _ in range(100):
        deep = [deep]
    for value in (wide, [wide] * 20):
        shape = summarize(value).partition(";")[0]
        assert len(shape) <= MAX_SUMMARY
    assert summarize(wide).endswith("25,501 values, depth 2")
    assert summarize(deep).endswith("101 values, depth 100")
