"""Tests of the file of related words: made from both sources, and current."""

from __future__ import annotations

from tests.bigapi.make_related import (
    ALIKE,
    IDIOM,
    TARGET,
    make_rows,
    read_vocabulary,
    read_wordnet,
)


def test_the_file_is_current() -> None:
    assert TARGET.read_text(encoding="utf-8").splitlines()[1:] == make_rows()


def test_a_row_has_the_phrases_of_both_sources_with_the_greatest_weight() -> None:
    (row,) = (row for row in make_rows() if row.startswith("refund\t"))
    said = _read_weights(row)
    assert said["mone back"] == IDIOM
    assert said["credit"] == ALIKE
    assert said["repay"] == 1
    assert "refund" not in said

    assert ("chor", "task", IDIOM) in read_vocabulary()
    assert ("chor", "task", 3) in read_wordnet()
    (row,) = (row for row in make_rows() if row.startswith("task\t"))
    assert _read_weights(row)["chor"] == IDIOM


def _read_weights(row: str) -> dict[str, int]:
    cells = (cell.partition(" ") for cell in row.split("\t")[1:])
    return {phrase: int(weight) for weight, _, phrases in cells for phrase in phrases.split(",")}
