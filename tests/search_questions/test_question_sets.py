"""Tests that the search questions about 24 APIs are complete, and that their answers exist."""

from __future__ import annotations

import hashlib
from collections import Counter

import pytest

from tests.annotations.sample import iterate_operations, read_document
from tests.support.corpus import CORPUS, corpus_documents, is_present
from tests.support.search_questions import FOLDER, QuestionSet, read_question_sets

SETS = read_question_sets()
SECOND = FOLDER / "second"
SECOND_SETS = read_question_sets(SECOND)


def test_every_file_of_questions_is_named_in_the_list_of_documents() -> None:
    named = {f"{each.name}.tsv" for each in SETS} | {"documents.tsv"}
    assert {path.name for path in FOLDER.glob("*.tsv")} == named
    assert {path.stem for path in SECOND.glob("*.tsv")} == {
        *(each.name for each in SECOND_SETS),
        "documents",
    }


def test_half_of_the_sets_is_held_out_and_unchanged_since_the_ranking_was_frozen() -> None:
    held_out = sorted(each.name for each in SETS if each.is_held_out)
    assert len(held_out) == len(SETS) - len(held_out) == 8
    content = b"".join((FOLDER / f"{name}.tsv").read_bytes() for name in held_out)
    assert hashlib.sha256(content).hexdigest() in (FOLDER / "README.md").read_text()


def test_the_second_held_out_sets_are_unchanged_since_they_were_written() -> None:
    assert len(SECOND_SETS) == 8
    names = sorted(each.name for each in SECOND_SETS)
    content = b"".join((SECOND / f"{name}.tsv").read_bytes() for name in names)
    assert hashlib.sha256(content).hexdigest() in (FOLDER / "README.md").read_text()


@pytest.mark.parametrize("questions", [*SETS, *SECOND_SETS], ids=lambda each: each.name)
def test_a_set_has_20_everyday_tasks_and_8_in_terms(questions: QuestionSet) -> None:
    kinds = Counter(each.kind for each in questions.questions)
    assert kinds == {"everyday": 20, "terms": 8}
    assert {each.effect for each in questions.questions} == {"read", "change"}
    assert len({each.text for each in questions.questions}) == len(questions.questions)


@pytest.mark.skipif(not is_present(), reason="there is no corpus of published documents")
@pytest.mark.parametrize("questions", SETS, ids=lambda each: each.name)
def test_every_answer_is_an_operation_of_the_document(questions: QuestionSet) -> None:
    assert questions.document in {each.name for each in corpus_documents()}
    found = iterate_operations(questions.name, read_document(questions.document, CORPUS))
    operations = {f"{each.method} {each.path}" for each in found}
    for each in questions.questions:
        assert set(each.operations) <= operations, each.text
