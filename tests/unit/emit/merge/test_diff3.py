"""Tests of merging lines: changes of one side are taken, changes of both are conflicts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpgen.emit.merge.diff3 import Conflict, diff3, is_clean, join, with_markers

texts = st.lists(st.sampled_from(["", "a", "b", "c", "one", "two", "three", "four"]), max_size=12)


def merged(base: str, yours: str, ours: str) -> str:
    """Merge texts of one-letter lines; conflicts are formatted as <yours|base|ours>."""
    pieces = diff3([*base], [*yours], [*ours])
    shown = join(pieces, lambda c: [f"<{''.join(c.yours)}|{''.join(c.base)}|{''.join(c.ours)}>"])
    return "".join(shown)


@pytest.mark.parametrize(
    ("base", "yours", "ours", "result"),
    [
        ("abc", "abc", "abc", "abc"),
        ("abc", "axc", "abc", "axc"),
        ("abc", "abc", "axc", "axc"),
        ("abc", "axc", "axc", "axc"),
        ("abcde", "xbcde", "abcdx", "xbcdx"),
        ("abcde", "bcde", "abcd", "bcd"),
        ("abc", "axc", "ayc", "a<x|b|y>c"),
        ("abcd", "axcd", "abyd", "a<xc|bc|by>d"),  # they touch
        ("ab", "axb", "ayb", "a<x||y>b"),
        ("abc", "ac", "axc", "a<|b|x>c"),
        ("", "x", "y", "<x||y>"),
        ("", "x", "x", "x"),
        ("a--b", "ax--b", "a--yb", "a<x--|--|--y>b"),  # which of the two is it between?
    ],
)
def test_diff3_merges_three_texts(base: str, yours: str, ours: str, result: str) -> None:
    assert merged(base, yours, ours) == result


def test_a_conflict_names_its_sides() -> None:
    assert list(with_markers(Conflict(("y",), ("b",), ("o",)))) == [
        "<<<<<<< yours", "y", "||||||| base", "b", "=======", "o", ">>>>>>> mcpgen",
    ]  # fmt: skip


@given(texts, texts)
def test_merging_with_an_unchanged_side_returns_the_other_side(
    base: list[str], side: list[str]
) -> None:
    for pieces in (diff3(base, side, base), diff3(base, base, side), diff3(base, side, side)):
        assert is_clean(pieces)
        assert join(pieces, lambda _: ()) == side


@given(texts, texts, texts)
def test_a_clean_merge_keeps_the_added_lines_of_each_side(
    base: list[str], yours: list[str], ours: list[str]
) -> None:
    """Where only the user's side changed, its text is kept."""
    pieces = diff3(base, yours, ours)
    if is_clean(diff3(base, yours, ours)):
        kept = join(pieces, lambda _: ())
        assert {*yours} - {*base} <= {*kept}
        assert {*ours} - {*base} <= {*kept}


@given(texts, texts, texts)
def test_the_merge_is_symmetric(base: list[str], yours: list[str], ours: list[str]) -> None:
    there = join(diff3(base, yours, ours), with_markers)
    turned = diff3(base, ours, yours)
    back = join(turned, lambda c: with_markers(Conflict(c.ours, c.base, c.yours)))
    assert there == back
