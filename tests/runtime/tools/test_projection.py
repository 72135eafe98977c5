"""Tests of the part of a result that a contract keeps."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import convert

from mcpgen.runtime.tools.projection import Cut, Projection, merge_cuts, select_members, shorten


def narrowed(value: Any, **entry: Any) -> tuple[Any, list[str]]:
    kept, cuts = convert(entry, Projection).cut(value)
    return kept, [cut.describe() for cut in cuts]


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
        # The response does not match its description: unselected members are still removed.
        ({"[]": {"id": {}}}, {"id": 1, "secret": 2}, {"id": 1}),
        ({"id": {}}, [{"id": 1, "secret": 2}], [{"id": 1}]),
        ({"id": {}}, "plain text", "plain text"),
    ],
)
def test_only_selected_members_are_kept(select: Any, value: Any, kept: Any) -> None:
    assert select_members(value, select) == kept


def test_lists_are_truncated_with_a_note() -> None:
    value = {"items": [1, 2, 3], "tags": ["a"], "inner": {"list": [1, 2, 3]}}
    kept, notes = narrowed(value, max_items=2)
    assert kept == {"items": [1, 2], "tags": ["a"], "inner": {"list": [1, 2, 3]}}
    assert notes == ["`/items` shows 2 of 3 items"]
    assert narrowed([1, 2, 3], max_items=1) == ([1], ["`/` shows 1 of 3 items"])


def test_values_that_are_not_json_containers_are_unchanged() -> None:
    assert narrowed("plain text", max_bytes=256) == ("plain text", [])


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
    assert narrowed({"text": "é" * 100}, max_bytes=256) == ({"text": "é" * 100}, [])


def test_the_rest_of_a_result_is_never_dropped() -> None:
    value = {f"member{n}": "z" * 60 for n in range(30)}
    kept, cuts = Projection(max_bytes=256).cut(value, is_rest=True)
    assert kept
    assert cuts[-1].following not in kept


def test_what_is_cut_twice_goes_on_where_less_is_shown() -> None:
    items = [{"id": number, "text": "x" * 100, "tags": [1, 2, 3]} for number in range(50)]
    kept, cuts = Projection(max_items=20, max_bytes=1000).cut({"items": items})
    (cut,) = cuts
    assert cut == Cut(("items",), "items", len(kept["items"]), 50, len(kept["items"]))
    # An earlier cut inside an item that is no longer shown is dropped.
    earlier = (Cut(("items", 30, "tags"), "items", 1, 3, 1), Cut(("items",), "items", 40, 50, 40))
    assert merge_cuts(earlier, cuts, kept) == cuts


def test_many_long_members_are_cut_at_one_place() -> None:
    short = shorten({f"member{n}": "z" * 600 for n in range(30)}, 4000)
    (cut,) = short.cuts
    assert cut.describe() == f"`/` shows {len(short.value)} of 30 members"
    assert cut.following == f"member{len(short.value)}"
