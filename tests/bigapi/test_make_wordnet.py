"""Tests of the related words: they are derived from WordNet's files and reproducible."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bigapi.make_related import TARGET as RELATED
from tests.bigapi.make_wordnet import (
    SOURCE,
    TARGET,
    iterate_rows,
    read_api_words,
    read_shares,
    read_synsets,
    read_used_words,
)

# A car, also an automobile, is a kind of vehicle; "car" can be a cabin as well.
DATA = """  1 A licence.
00000001 06 n 02 car 0 automobile 0 001 @ 00000003 n 0000 | a gloss
00000002 06 n 02 car 0 cabin 0 000 | another gloss
00000003 06 n 01 vehicle 0 001 ~ 00000001 n 0000 | a third gloss
"""
INDEX = """automobile n 1 0 1 1 00000001
cabin n 1 0 1 0 00000002
car n 2 0 2 1 00000001 00000002
vehicle n 1 0 1 1 00000003
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    for name in ("verb", "adj", "adv"):
        (tmp_path / f"data.{name}").write_text("")
        (tmp_path / f"index.{name}").write_text("")
    (tmp_path / "data.noun").write_text(DATA)
    (tmp_path / "index.noun").write_text(INDEX)
    (tmp_path / "cntlist.rev").write_text("automobile%1:06:00:: 1 3\ncar%1:06:00:: 1 8\n")
    return tmp_path


def rows(source: Path, *targets: str) -> list[str]:
    shares, used = read_shares(source), read_used_words(source)
    return list(iterate_rows(read_synsets(source), shares, frozenset(targets), used))


def test_words_of_one_sense_and_of_the_next_ones_are_related(source: Path) -> None:
    assert rows(source, "car") == ["automobile\t5 car"]
    assert rows(source, "vehicle") == ["automobile\t2 vehicle", "car\t2 vehicle"]


def test_a_rare_sense_relates_less_than_the_usual_one(source: Path) -> None:
    assert read_shares(source)["car"] == {
        ("n", "00000001"): pytest.approx(9 / 9.5),
        ("n", "00000002"): pytest.approx(0.5 / 9.5),
    }
    assert rows(source, "cabin") == []


def test_only_words_that_are_used_or_are_targets_get_a_row(source: Path) -> None:
    assert [row.partition("\t")[0] for row in rows(source, "car", "vehicle")] == [
        "automobile",
        "car",
        "vehicle",
    ]


def test_the_file_is_current() -> None:
    """Where WordNet is installed, the committed data must equal the output of the script."""
    if not SOURCE.is_dir():
        pytest.skip("WordNet is not installed: apt-get install wordnet-base")
    made = iterate_rows(
        read_synsets(SOURCE), read_shares(SOURCE), read_api_words(), read_used_words(SOURCE)
    )
    assert TARGET.read_text(encoding="utf-8").splitlines()[1:] == list(made)


def test_the_data_comes_with_its_licence() -> None:
    text = RELATED.with_name("wordnet-license.txt").read_text(encoding="utf-8")
    assert "WordNet 3.0 Copyright 2006 by Princeton University.  All rights reserved." in text
    assert "make_wordnet.py" in text
