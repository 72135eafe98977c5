"""Tests of plain sentences of documents."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpgen.text import prose

PIECES = ("a", "Bc", "Note", " ", ",", ".", "12", "e.g.", "No", "i", "See", " for more information")


@given(text=st.lists(st.sampled_from(PIECES), max_size=8).map("".join), limit=st.integers(2, 60))
def test_plain_words_take_no_other_form_than_other_text(text: str, limit: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        shortcut = prose.whole_sentence.__wrapped__(text, limit)
        patch.setattr(prose, "_PLAIN_SENTENCE", re.compile(r"(?!)"))
        assert shortcut == prose.whole_sentence.__wrapped__(text, limit)


@pytest.mark.parametrize(
    ("text", "limit", "sentence"),
    [
        ("The name, as users see it", 40, "The name, as users see it."),
        ("The name. It is unique.", 40, "The name."),
        ("The name", 8, ""),
        ("The name", 9, "The name."),
        ("The <b>name</b>", 40, "The name."),
    ],
)
def test_a_description_is_one_whole_sentence(text: str, limit: int, sentence: str) -> None:
    assert prose.whole_sentence(text, limit) == sentence
