"""What a question asks for, by its verbs: to read, to change, to remove."""

from __future__ import annotations

import pytest

from mcpgen.runtime.verbs import effect_of, with_plain_verbs


@pytest.mark.parametrize(
    ("question", "effect"),
    [
        ("who has starred this", "read"),
        ("list the branches", "read"),
        ("all open invoices", "read"),
        ("Create a branch", "change"),
        ("assign it to Ada", "change"),
        ("delete the branch", "remove"),
        ("unassign Ada", "remove"),
        ("invoices of May", ""),
        ("", ""),
    ],
)
def test_the_first_word_tells_what_is_asked_for(question: str, effect: str) -> None:
    assert effect_of(question) == effect


@pytest.mark.parametrize(
    ("question", "plain"),
    [
        ("turn the alarm off", "disable the alarm off"),
        ("Get rid of the old ones", "delete the old ones"),
        ("bring a lost order back", "restore a lost order back"),
        ("send the message again", "rerun the message again"),
        ("turnOnLights", "turnOnLights"),
    ],
)
def test_a_verb_of_several_words_is_said_as_one(question: str, plain: str) -> None:
    assert with_plain_verbs(question) == plain
