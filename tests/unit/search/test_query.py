"""What a question asks for: its words are one half of that, how it is put the other."""

from __future__ import annotations

import pytest

from mcpgen.search.query import Query
from mcpgen.search.words import words


@pytest.mark.parametrize(
    ("text", "effects"),
    [
        ("", "read"),
        ("which orders are open", "read"),
        ("list the orders", "read"),
        ("to whom was it sent", "read"),
        ("orders of one customer", "read"),
        ("changed orders", "read"),
        ("open orders", "read"),
        ("have they paid", "read"),
        ("open an order", "change"),
        ("assign it to Ada", "change"),
        ("have the order shipped", "change"),
        ("please paint the door", "change"),
        ("How do I change an order?", "change"),
        ("The order was wrong. Could you change it?", "change"),
        ("order 88 should be free of charge", "change remove"),
        ("Just Ann may pay by card", "change remove"),
        ("the order is not needed any more", "change remove"),
        ("I need a receipt", "read change"),
        ("I have to pay an order: which one is it?", "read"),
        ("get rid of an order", "remove"),
        ("stop following a customer", "remove"),
        ("unsubscribe me", "remove"),
        ("unpublish the page", "remove"),
        ("Get rid of the old ones", "remove"),
        ("take them off the list", "remove"),
        ("turn the alarm off", "change remove"),
        ("download an invoice", "read change"),
    ],
)
def test_the_first_verb_determines_the_allowed_effects(text: str, effects: str) -> None:
    assert Query.read(text).effects == {*effects.split()}


@pytest.mark.parametrize(
    ("text", "also"),
    [
        ("hand the shop over to Ann", "transfer"),
        ("bring back what was deleted", "restore"),
        ("set up an alarm", "create"),
        ("unlock the door", "lock"),
        ("stop following a shop", "unfollow"),
        ("merge my PR", "pull request"),
    ],
)
def test_phrases_and_abbreviations_add_their_synonyms(text: str, also: str) -> None:
    assert {*words(also)} <= {*Query.read(text).words}


def test_a_word_with_a_number_or_a_name_refers_to_one_item() -> None:
    question = Query.read('Put order #7 into the folder "Done" with the variable stock_level')

    assert question.named == {*words("order folder variable")}


def test_plurals_slashed_names_and_possessives_are_recognised() -> None:
    question = Query.read("my orders from acme/web to a customer")

    assert question.plurals == {*words("orders")}
    assert {*words("customer")} <= question.singulars
    assert question.has_slashed_name
    assert question.is_own
    assert "acm" not in question.words
    assert Query.read("fetch https://shop.example/orders").words == tuple(words("fetch"))

    question = Query.read("orders at 7/8 or and/or")
    assert not question.is_own
