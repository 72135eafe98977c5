from __future__ import annotations

import pytest

from mcpgen.factory.test.run import SelectionError, parse_selection

NAMES = ["A sold pet", "get_pet", "mcpgen.tests.yaml"]


@pytest.mark.parametrize(
    ("expression", "is_meant"),
    [
        ("", True),
        ("  ", True),
        ("sold", True),
        ("SOLD", True),
        ("new", False),
        ("not new", True),
        ("not not sold", True),
        ("sold and get_pet", True),
        ("sold and new", False),
        ("new or tests.yaml", True),
        ("new and sold or get_pet", True),
        ("new and (sold or get_pet)", False),
        ("not new and not(fresh)", True),
        ("android", False),  # a word, though it begins with `and`
    ],
)
def test_a_selection_expression_has_the_meaning_of_pytest(expression: str, is_meant: bool) -> None:
    assert parse_selection(expression)(NAMES) is is_meant


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("(", "expected a word, `not` or `(`, found the end"),
        ("(sold", "expected `)`, found the end"),
        ("sold)", "expected `and`, `or` or the end, found `)`"),
        ("sold and", "expected a word, `not` or `(`, found the end"),
        ("or sold", "expected a word, `not` or `(`, found `or sold`"),
        ("a pet", "expected `and`, `or` or the end, found `pet`"),
        ("a == 'pet'", "expected `and`, `or` or the end, found `== 'pet'`"),
    ],
)
def test_an_invalid_expression_is_reported_with_its_position(expression: str, found: str) -> None:
    with pytest.raises(SelectionError) as refused:
        parse_selection(expression)
    assert str(refused.value) == f"`{expression}`: {found}"
