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

    assert ("buy", "purchas", 4) in read_wordnet()
    assert ("buy", "purchas", ALIKE) in read_vocabulary()
    (row,) = (row for row in make_rows() if row.startswith("purchas\t"))
    assert _read_weights(row)["buy"] == 4


def _read_weights(row: str) -> dict[str, int]:
    cells = (cell.partition(" ") for cell in row.split("\t")[1:])
    return {phrase: int(weight) for weight, _, phrases in cells for phrase in phrases.split(",")}
