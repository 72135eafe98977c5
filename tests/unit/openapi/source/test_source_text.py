"""Tests of the location of a character, with lines that end as in editors."""

from __future__ import annotations

import pytest

from mcpgen.openapi.source import source_text
from mcpgen.openapi.source.source_text import SourceText


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", ["", "\n"])
def test_lines_end_with_lf_cr_or_crlf(end: str, last: str) -> None:
    source = SourceText("api.yaml", f"one{end}{end}three{last}")
    at = source.location(source.text.index("three") + 2)
    assert (at.line, at.column, at.excerpt) == (3, 3, "three")


def test_the_end_of_a_text_is_on_its_last_line() -> None:
    source = SourceText("api.yaml", "one\ntwo")
    at = source.location(len(source.text))
    assert (at.line, at.column, at.excerpt) == (2, 4, "two")


def test_unicode_line_separators_do_not_end_a_line() -> None:
    source = SourceText("api.yaml", "one\u2028\x0b\x85two")
    assert source.location(source.text.index("two")).line == 1


@pytest.mark.parametrize("block", [1, 2, 3, 5])
def test_lines_are_counted_over_the_borders_of_blocks(
    monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(source_text, "_BLOCK", block)
    source = SourceText("pets.yaml", "a\r\nbb\rc\n\nd")
    found = [source.location(offset) for offset in range(len(source.text) + 1)]
    assert [(place.line, place.column) for place in found] == [
        *[(1, 1), (1, 2), (1, 3)],
        *[(2, 1), (2, 2), (2, 3)],
        *[(3, 1), (3, 2)],
        (4, 1),
        *[(5, 1), (5, 2)],
    ]
    assert [place.excerpt for place in found] == ["a"] * 3 + ["bb"] * 3 + ["c"] * 2 + [""] + [
        "d"
    ] * 2
