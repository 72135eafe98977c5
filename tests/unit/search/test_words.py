"""Tests of matching words of questions and tools: endings, plurals, abbreviations, spellings."""

from __future__ import annotations

import pytest

from mcpgen.search.words import words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("repositories", "repo"),
        ("listing branches", "list_branch"),
        ("getPetsById", "get pet id"),
        ("/orgs/{org}/members", "organization organization member"),
        ("protect", "protection"),
        ("assigned", "assignees"),
        ("memberships", "member"),
        ("HTTPServer", "http server"),
        ("queries", "query"),
        ("statuses", "status"),
        ("recursively", "recursive"),
        ("organisation licences", "organization license"),
        ("What is in the file?", "what file"),
    ],
)
def test_inflected_forms_of_a_word_are_equal(one: str, other: str) -> None:
    assert words(one) == words(other) != []


@pytest.mark.parametrize(("one", "other"), [("user", "use"), ("action", "act"), ("issue", "is")])
def test_words_that_only_look_similar_are_distinct(one: str, other: str) -> None:
    assert words(one) != words(other)


def test_a_text_of_stop_words_has_no_words() -> None:
    assert words("is it of the … — ?") == []
