"""Tests of ranking tools that share the same number of words with a question."""

from __future__ import annotations

import msgspec
import pytest

from mcpgen.search.index import Entry, Lexicon, ToolIndex
from mcpgen.search.words import verbs, words


def entry(operation: str, *, title: str = "order", **known: object) -> Entry:
    """Return a tool about orders with this operation; `known` changes its other properties."""
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


def named_entry(name: str, text: str, **known: object) -> Entry:
    """Return an entry that has only the words of a text."""
    found = entry(f"GET {name}", subject=text, **known)
    return msgspec.structs.replace(found, terms={9: " ".join(words(text))})


def related(**meant: str) -> Lexicon:
    """Return a lexicon; underscores in the names of phrases stand for spaces."""
    return Lexicon(
        {
            " ".join(words(said.replace("_", " "))): {6: " ".join(words(text))}
            for said, text in meant.items()
        }
    )


def test_words_and_phrases_of_the_lexicon_lead_to_tools() -> None:
    tools = [named_entry("a", "network"), named_entry("b", "server")]
    index = ToolIndex(tools, related(box="server", cloud_computer="server"))

    assert [tool.operation for tool in index.search("a box")] == ["GET b"]
    assert [tool.operation for tool in index.search("a cloud computer")] == ["GET b"]
    assert index.search("a computer in the cloud") == []


def test_a_related_word_weighs_less_than_the_word_itself() -> None:
    tools = [named_entry("a", "server"), named_entry("b", "box")]
    index = ToolIndex(tools, related(box="server"))

    assert [tool.operation for tool in index.search("box")] == ["GET b", "GET a"]


@pytest.mark.parametrize(
    ("indexed", "question"),
    [("subcontractor", "sub contractors"), ("sub contractor", "a subcontractor")],
)
def test_compounds_are_found_joined_and_apart(indexed: str, question: str) -> None:
    index = ToolIndex([named_entry("a", "shop"), named_entry("b", indexed)])

    assert [tool.operation for tool in index.search(question)] == ["GET b"]


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("create an order", "POST z"),
        ("delete an order", "DELETE y"),
        ("show an order", "GET x"),
        ("the order is paid", "POST z"),
    ],
)
def test_a_tool_with_the_opposite_effect_is_not_first(question: str, first: str) -> None:
    tools = [
        entry("DELETE y", effect="remove"),
        entry("GET x"),
        entry("POST z", effect="change"),
    ]
    assert ToolIndex(tools).search(question)[0].operation == first


def test_a_search_by_post_does_not_oppose_a_question() -> None:
    found = entry("POST b", title="search orders", effect="change")
    other = entry("POST a", title="order", effect="change")

    assert ToolIndex([found, other]).search("which orders")[0].operation == "POST b"


def test_an_index_without_a_lexicon_is_still_read() -> None:
    tools = [entry("GET a"), entry("GET b")]
    lines = [msgspec.json.encode(msgspec.to_builtins(tool, str_keys=True)) for tool in tools]
    old = b"".join(line + b"\n" for line in lines)

    assert [it.name for it in ToolIndex.from_lines(old).search("order")] == ["get_a", "get_b"]

    lexicon = msgspec.json.encode(msgspec.to_builtins(related(basket="order"), str_keys=True))
    new = ToolIndex.from_lines(lexicon + b"\n" + old)
    assert [it.name for it in new.search("basket")] == ["get_a", "get_b"]


def test_filters_select_before_the_best_are_chosen() -> None:
    many = [entry(f"GET {number}") for number in range(400)]
    rare = msgspec.structs.replace(entry("GET z"), tag="rare", terms={1: "order"})

    assert [it.name for it in ToolIndex([*many, rare]).search("order", tag="rare")] == ["get_z"]


def test_nearness_ranks_all_tools_beside_the_words_that_they_share() -> None:
    index = ToolIndex([entry("GET a"), entry("GET b"), entry("PUT c", effect="change")])
    assert index.texts["get_a"] == " a"
    assert [it.name for it in index.search("which order")] == ["get_a", "get_b", "put_c"]
    near = {"get_a": -0.1, "get_b": 0.1, "put_c": 0.0}
    assert [it.name for it in index.search("which order", nearness=near)] == [
        "get_b",
        "get_a",
        "put_c",
    ]
    assert index.search("something else") == []
    assert index.search("something else", nearness=near)[0].name == "get_b"
    assert [it.name for it in index.search("order", effect="change", nearness=near)] == ["put_c"]
    assert index.search("get_a", nearness=near)[0].name == "get_a"
