"""What puts one tool before another that shares as many words with a question."""

from __future__ import annotations

import pytest

from mcpgen.runtime.tool_index import Entry, ToolIndex
from mcpgen.runtime.words import words


def entry(operation: str, *, effect: str = "read", lists: str = "", is_own: bool = False) -> Entry:
    """Give a tool about orders, by its operation alone told from others."""
    return Entry(
        name=operation.lower().replace(" ", "_"),
        summary="",
        operation=operation,
        tag="orders",
        subject=tuple(words("order")),
        terms=dict.fromkeys(words("order user"), 3.0),
        lists=tuple(words(lists)),
        effect=effect,
        is_own=is_own,
        prior=1.0,
    )


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("which order", "GET a"),
        ("change an order", "PUT a"),
        ("get rid of an order", "DELETE a"),
        ("which orders", "GET z"),
        ("which order of mine", "GET y"),
        ("who ordered", "GET a"),
    ],
)
def test_what_a_question_asks_for_decides(question: str, first: str) -> None:
    index = ToolIndex(
        [
            entry("DELETE a", effect="remove"),
            entry("GET a"),
            entry("GET y", is_own=True),
            entry("GET z", lists="orders"),
            entry("PUT a", effect="change"),
        ]
    )
    found = index.search(question)
    assert found[0].operation == first
    assert len(found) == 5
