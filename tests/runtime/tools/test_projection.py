"""The part of a result that a contract keeps."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import convert

from mcpgen.runtime.tools.projection import Projection


def narrowed(value: Any, **entry: Any) -> tuple[Any, tuple[str, ...]]:
    return convert(entry, Projection).apply(value)


@pytest.mark.parametrize(
    ("select", "value", "kept"),
    [
        ({}, {"a": 1}, {"a": 1}),
        ({"a": {}}, {"a": {"b": 1}, "c": 2}, {"a": {"b": 1}}),
        ({"a": {"b": {}}}, {"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}),
        ({"a": {"b": {}}}, {"a": None}, {"a": None}),
        ({"a": {}}, {"c": 2}, {}),
        ({"[]": {"id": {}}}, [{"id": 1, "x": 2}, {"x": 3}], [{"id": 1}, {}]),
        ({"a": {"[]": {"[]": {"id": {}}}}}, {"a": [[{"id": 1, "x": 2}]]}, {"a": [[{"id": 1}]]}),
        # The API answers otherwise than it is described: nothing slips through that was left out.
        ({"[]": {"id": {}}}, {"id": 1, "secret": 2}, {"id": 1}),
        ({"id": {}}, [{"id": 1, "secret": 2}], [{"id": 1}]),
        ({"id": {}}, "plain text", "plain text"),
    ],
)
def test_only_selected_members_are_kept(select: Any, value: Any, kept: Any) -> None:
    assert narrowed(value, select=select) == (kept, ())


def test_lists_are_truncated_with_a_note_how_to_get_the_rest() -> None:
    value = {"items": [1, 2, 3], "tags": ["a"], "inner": {"list": [1, 2, 3]}}
    kept, notes = narrowed(value, max_items=2, rest="Ask for `page` 2.")
    assert kept == {"items": [1, 2], "tags": ["a"], "inner": {"list": [1, 2, 3]}}
    assert notes == ("Cut: `/items` shows 2 of 3 items. Ask for `page` 2.",)
    assert narrowed([1, 2, 3], max_items=1) == ([1], ("Cut: `/` shows 1 of 3 items.",))


@pytest.mark.parametrize(
    "value",
    [
        {"items": [{"name": "é" * 30, "n": n} for n in range(50)], "next": "c"},
        [{"name": "ü" * 90, "text": "x" * 90, "more": "y" * 300}] * 3,
        {f"member{n}": "z" * 60 for n in range(30)},
        {"text": "é" * 400},
    ],
)
def test_a_result_never_exceeds_max_bytes(value: Any) -> None:
    kept, notes = narrowed(value, max_bytes=256)
    assert len(json.dumps(kept, ensure_ascii=False, separators=(",", ":")).encode()) <= 256
    assert notes
    assert type(kept) is type(value)


def test_a_result_within_the_limit_is_unchanged() -> None:
    assert narrowed({"text": "é" * 100}, max_bytes=256) == ({"text": "é" * 100}, ())
