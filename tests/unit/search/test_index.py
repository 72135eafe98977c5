"""What puts one tool before another that shares as many words with a question."""

from __future__ import annotations

import pytest

from mcpgen.search.index import Entry, ToolIndex
from mcpgen.search.words import verbs, words


def entry(operation: str, *, title: str = "order", **known: object) -> Entry:
    """Give a tool about orders, by its operation and what is known of it told from others."""
    verb = words(title)[0]
    return Entry(
        name=operation.lower().replace(" ", "_"),
        summary="",
        operation=operation,
        tag="orders",
        verb=verb if verb in verbs() else "",
        subject=tuple(words(str(known.get("subject", "orders")))),
        names=tuple(words(str(known.get("names", "")))),
        lists=tuple(words(str(known.get("lists", "")))),
        effect=str(known.get("effect", "read")),
        is_own=bool(known.get("is_own")),
        is_deprecated=bool(known.get("is_deprecated")),
        terms={9: " ".join(words("order user shop company"))},
    )


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("which order", "GET a"),
        ("change an order", "PUT a"),
        ("get rid of an order", "DELETE a"),
        ("which orders", "GET z"),
        ("which order of mine", "GET y"),
        ("what is in order 88", "GET o/{order_id}"),
    ],
)
def test_the_intent_of_a_question_determines_the_first_result(question: str, first: str) -> None:
    index = ToolIndex(
        [
            entry("DELETE a", effect="remove"),
            entry("GET a"),
            entry("GET o/{order_id}", names="order", is_deprecated=True),
            entry("GET y", is_own=True, subject="my orders"),
            entry("GET z", lists="orders"),
            entry("PUT a", effect="change"),
        ]
    )
    found = index.search(question)
    assert found[0].operation == first
    assert len(found) == 6


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("orders of a shop", "GET /shops/{owner}/{shop}/orders"),
        ("orders of acme/web", "GET /shops/{owner}/{shop}/orders"),
        ("orders of a company", "GET /companies/{company}/orders"),
        ("orders of all shops in a company", "GET /companies/{company}/orders"),
    ],
)
def test_a_tool_for_the_named_resource_is_first(question: str, first: str) -> None:
    index = ToolIndex(
        [
            entry("GET /companies/{company}/orders", subject="company orders"),
            entry("GET /shops/{owner}/{shop}/orders", subject="shop orders"),
        ]
    )
    assert index.search(question)[0].operation == first


def test_a_synonym_weighs_less_than_the_word_itself() -> None:
    tools = [entry("GET said"), entry("GET alike"), entry("GET other")]
    for tool, said in zip(tools, ("repair", "mend", "paint"), strict=True):
        tool.terms[5] = " ".join(words(said))
    index = ToolIndex(tools)

    assert [tool.operation for tool in index.search("repair")] == ["GET said", "GET alike"]
    assert [tool.operation for tool in index.search("mend")] == ["GET alike", "GET said"]


def test_a_tool_is_found_by_its_name_and_ties_are_sorted_by_name() -> None:
    index = ToolIndex([entry("GET c"), entry("GET b"), entry("GET a")])

    assert [tool.name for tool in index.search("order")] == ["get_a", "get_b", "get_c"]
    assert index.search("get_c")[0].name == "get_c"
    assert index.search("nothing of it") == []
