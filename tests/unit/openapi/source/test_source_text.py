"""Tests of the location of a character, with lines that end as in editors."""

from __future__ import annotations

import pytest

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
