"""Tests of the annotation rules on the labelled set: 486 operations of 20 published documents."""

from __future__ import annotations

import pytest

from tests.annotations.measure import judge, measure, read_rows
from tests.annotations.sample import (
    HELD_OUT,
    TUNING,
    iterate_operations,
    read_document,
    sample,
)
from tests.support.corpus import CORPUS, is_present

EFFECTS = {"read", "add", "change", "destroy"}


def test_the_set_is_large_enough_and_every_row_has_a_label() -> None:
    rows = read_rows()
    assert len(rows) >= 400
    assert {row.document for row in rows} == TUNING.keys() | HELD_OUT.keys()
    assert len(TUNING) == len(HELD_OUT) == 10
    assert {row.effect for row in rows} == EFFECTS
    assert len({(row.document, row.method, row.path) for row in rows}) == len(rows)


@pytest.mark.parametrize("is_trusted", [False, True], ids=["untrusted", "own"])
@pytest.mark.parametrize("is_held_out", [False, True], ids=["tuning", "held out"])
def test_the_rules_reach_their_goals(is_held_out: bool, is_trusted: bool) -> None:
    rows = [row for row in read_rows() if row.is_held_out is is_held_out]
    found = measure(judge(rows, {}, is_trusted=is_trusted))
    assert found.read_only_precision.share >= 0.98, str(found.read_only_precision)
    assert found.destructive_recall.share >= 0.95, str(found.destructive_recall)


@pytest.mark.parametrize("is_held_out", [False, True], ids=["tuning", "held out"])
def test_own_documents_get_the_more_precise_hints(is_held_out: bool) -> None:
    rows = [row for row in read_rows() if row.is_held_out is is_held_out]
    cautious, precise = (measure(judge(rows, {}, is_trusted=own)) for own in (False, True))
    assert precise.read_only_recall.share >= 0.95 > cautious.read_only_recall.share
    assert precise.destructive_precision.share >= 0.85 > cautious.destructive_precision.share


def test_removals_have_the_destructive_effect() -> None:
    found = measure(judge(read_rows(), {}, is_trusted=False))
    assert found.removal_recall.share >= 0.9, str(found.removal_recall)


@pytest.mark.skipif(not is_present(), reason="there is no corpus of published documents")
def test_the_rows_are_those_that_chance_chose() -> None:
    rows = [row for row in read_rows() if row.stratum != "named"]
    for document, file in (TUNING | HELD_OUT).items():
        if document == "slack":
            continue
        operations = list(iterate_operations(document, read_document(file, CORPUS)))
        chosen = [(each.stratum, each.method, each.path) for each in sample(document, operations)]
        committed = [row for row in rows if row.document == document]
        assert [(row.stratum, row.method, row.path) for row in committed] == chosen
