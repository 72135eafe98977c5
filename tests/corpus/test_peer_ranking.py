"""Tests of how results of FastMCP's search are counted."""

from __future__ import annotations

from tests.corpus.peer_ranking import count
from tests.support.search_questions import SearchQuestion


def test_answers_are_counted_by_kind() -> None:
    delete, get, put = "DELETE /things/{id}", "GET /things/{id}", "PUT /things/{id}"
    everyday = SearchQuestion("everyday", "throw it away", [delete], "change")
    terms = SearchQuestion("terms", "get thing", [get], "read")
    answers = [[delete], [get, delete], [put, get], [], [put]]
    assert count([everyday, everyday, terms, terms, everyday], answers) == {
        "everyday asked": 3,
        "everyday first": 1,
        "everyday found": 2,
        "terms asked": 2,
        "terms first": 0,
        "terms found": 1,
        "confused": 2,
    }
