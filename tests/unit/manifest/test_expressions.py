"""Tests of runtime expressions and simple conditions, parsed from text."""

from __future__ import annotations

import pytest

from mcpgen.ir.workflow import (
    Comparison,
    Expression,
    InputValue,
    ItemValue,
    Junction,
    ListOf,
    Literal,
    Negation,
    ObjectOf,
    OutputValue,
    ResponseValue,
    Truth,
)
from mcpgen.manifest.expressions import ExpressionError, read_condition, read_value


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("$inputs.q", InputValue("q")),
        ("$inputs.order.lines[0].isbn", InputValue("order", "/lines/0/isbn")),
        ("$inputs.order#/a~1b", InputValue("order", "/a~1b")),
        ("$steps.find-it.outputs.isbn", OutputValue("find-it", "isbn")),
        ("$steps.find.outputs.book.price", OutputValue("find", "book", "/price")),
        ("$item", ItemValue()),
        ("$item.id", ItemValue("/id")),
        ("$response.body", ResponseValue("body")),
        ("$response.body#/items/0", ResponseValue("body", "/items/0")),
        ("$response.header.ETag", ResponseValue("header", "ETag")),
        ("$statusCode", ResponseValue("status")),
    ],
)
def test_an_expression_is_parsed(text: str, expression: Expression) -> None:
    assert read_value(text) == expression


def test_structures_contain_literals_and_expressions() -> None:
    assert read_value({"a": ["$item", 1, None], "b": "x $ y"}) == ObjectOf(
        (("a", ListOf((ItemValue(), Literal(1), Literal(None)))), ("b", Literal("x $ y")))
    )


def test_a_double_dollar_escapes_a_leading_dollar() -> None:
    assert read_value("$$inputs.q") == Literal("$inputs.q")


@pytest.mark.parametrize(
    "text",
    [
        "$",
        "$input.q",
        "$inputs",
        "$inputs.",
        "$steps.a.isbn",
        "$url",
        "$response.body#/~2",
        "$item ",
    ],
)
def test_other_texts_with_a_leading_dollar_are_rejected(text: str) -> None:
    with pytest.raises(ExpressionError):
        read_value(text)


def test_an_invalid_expression_is_reported_with_its_location() -> None:
    with pytest.raises(ExpressionError) as caught:
        read_value({"items": ["$item", {"isbn": "$itm"}]})
    assert caught.value.tokens == ("items", "1", "isbn")


def test_not_binds_closer_than_and_and_closer_than_or() -> None:
    found = read_condition("!$item || $inputs.a == 'it''s' && ($inputs.b < -1.5 || true)")
    assert found == Junction(
        "or",
        (
            Negation(Truth(ItemValue())),
            Junction(
                "and",
                (
                    Comparison(InputValue("a"), "==", Literal("it's")),
                    Junction(
                        "or",
                        (
                            Comparison(InputValue("b"), "<", Literal(-1.5)),
                            Truth(Literal(value=True)),
                        ),
                    ),
                ),
            ),
        ),
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "$item =",
        "$item == ",
        "== 1",
        "($item",
        "$item)",
        "$item 1",
        "$item == 'open",
        "$item && || $item",
        "(" * 60 + "$item" + ")" * 60,
        "!" * 900 + "$item",
        "$item == " + "1" * 2000,
    ],
)
def test_an_invalid_condition_is_rejected(text: str) -> None:
    with pytest.raises(ExpressionError):
        read_condition(text)
