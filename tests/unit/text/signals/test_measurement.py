"""Tests of lower bounds on the quality of detection, with labelled texts and real documents."""

from __future__ import annotations

import pytest

from mcpgen.text.signals import HIDDEN_KINDS, STEERING_KINDS, find_text_signals
from tests.support.corpus import CORPUS, is_present
from tests.unit.text.signals.measurement import (
    LabelledText,
    labelled_texts,
    measure,
    published_texts,
)

TUNING = labelled_texts("tuning")
HELD_OUT = labelled_texts("held_out")
BLIND = labelled_texts("blind")


@pytest.mark.parametrize(("texts", "recall"), [(TUNING, 0.92), (HELD_OUT, 0.93), (BLIND, 0.55)])
def test_precision_and_recall_do_not_fall(texts: list[LabelledText], recall: float) -> None:
    measured = measure(texts)
    assert measured.precision >= 0.98
    assert measured.recall >= recall


def test_the_kind_is_nearly_always_the_labelled_one() -> None:
    by_kind = measure(HELD_OUT).by_kind
    assert sum(found[kind] for kind, found in by_kind.items()) >= 0.9 * sum(
        found.total() for found in by_kind.values()
    )


def test_the_sets_are_large_and_distinct() -> None:
    assert len(HELD_OUT) >= 200
    texts = [(text.field, text.text) for text in [*TUNING, *HELD_OUT, *BLIND]]
    assert len(texts) == len(set(texts)) >= 700


def test_every_kind_has_labelled_texts() -> None:
    labelled = {text.kind for text in HELD_OUT if text.is_hostile}
    assert labelled == {*HIDDEN_KINDS, *STEERING_KINDS} - {"unchecked-text"}


@pytest.mark.parametrize("texts", [TUNING, HELD_OUT, BLIND])
def test_every_signal_names_a_part_of_its_text(texts: list[LabelledText]) -> None:
    for text in texts:
        for signal in text.signals:
            assert 0 <= signal.start < signal.end <= len(text.text)
            assert signal.kind in HIDDEN_KINDS | STEERING_KINDS
            assert signal.reason.isprintable()


def test_few_texts_of_real_documents_are_reported() -> None:
    if not is_present():
        pytest.skip(f"there is no index.csv in {CORPUS}")
    found = [
        (field, signal.kind, text)
        for field, text in published_texts(with_archives=False)
        for signal in find_text_signals(text, field)[:1]
    ]
    searched = sum(1 for _ in published_texts(with_archives=False))
    assert searched > 10_000
    assert len(found) <= 0.0005 * searched, found
