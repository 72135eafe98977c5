"""Tests of what a question asks for, by its words and by its phrasing."""

from __future__ import annotations

import pytest

from mcpgen.search.query import CHANGE, READ, Query
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
        ("ring my phone", "change"),
        ("print the invoice", "read"),
        ("never send it again", "change remove"),
        ("when a customer pays, send a receipt", "change"),
        ("it is wrong, which order was that", "change"),
        ("it is wrong: which order was that?", "read"),
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
    assert {*Query.read("fetch https://shop.example/orders").words} == {*words("fetch")}

    question = Query.read("orders at 7/8 or and/or")
    assert not question.is_own


@pytest.mark.parametrize(
    ("text", "effects"),
    [
        ("the customer has left", "change"),
        ("our shop is now called Sunrise", "change"),
        ("I have just handed the order over", "change"),
        ("orders that are open", "read"),
        ("orders I have paid", "read"),
        ("all orders that were paid", "read"),
    ],
)
def test_a_statement_requests_a_change_and_a_description_does_not(text: str, effects: str) -> None:
    question = Query.read(text)

    assert question.effects == {*effects.split()}
    assert question.is_command == (effects == "change")


@pytest.mark.parametrize("text", ["which orders are open", "delete an order", "Who paid?"])
def test_a_verb_or_a_question_word_makes_a_command(text: str) -> None:
    assert Query.read(text).is_command


@pytest.mark.parametrize(
    "named", ['"summer sale"', "summer@sale.example", "https://summer.example/sale", "summer_sale"]
)
def test_names_and_addresses_weigh_less_than_topics(named: str) -> None:
    found = Query.read(f"send an order to {named}").words

    (order,), (summer,) = words("order"), words("summer")
    assert found[order] == 1
    assert found.get(summer, 0) < 0.5


def test_a_word_that_is_also_outside_of_a_name_keeps_its_weight() -> None:
    found = Query.read('the order "order of Ann"').words

    assert found[words("order")[0]] == 1


def test_words_without_a_topic_weigh_less() -> None:
    found = Query.read("send the other order over to him").words

    assert {word for word, weight in found.items() if weight == 1} == {*words("send order")}


def test_phrases_are_runs_of_words_without_articles() -> None:
    found = Query.read("sign in to the shop").phrases

    assert {"sign in", "sign in to", "in to shop", "sign in to shop"} <= {*found}
    assert not any(" the " in phrase for phrase in found)


@pytest.mark.parametrize(
    ("text", "effect"),
    [
        ("I threw the folder away, when was that", READ),
        ("everybody in our company who has a login", READ),
        ("the text to Kai didn't arrive", CHANGE),
        ("bring the parcel out again", CHANGE),
    ],
)
def test_questions_after_a_statement_read_and_failures_are_to_be_recorded(
    text: str, effect: str
) -> None:
    assert Query.read(text).effects == {effect}
