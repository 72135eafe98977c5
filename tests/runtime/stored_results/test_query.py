"""Tests of JMESPath expressions: what they select, and bounds on their work."""

from __future__ import annotations

import time
import tracemalloc
from typing import Any

import pytest

from mcpgen.runtime.stored_results import query
from mcpgen.runtime.stored_results.parts import MAX_QUERY
from mcpgen.runtime.stored_results.query import QueryError, evaluate

VALUE: dict[str, Any] = {
    "items": [{"id": number, "tags": ["a", "b"], "name": f"n{number}"} for number in range(20_000)],
    "text": "x" * 1_000_000,
    "odd name": {"0": [1, 2, 3]},
}
GROWS = "|".join(["[@,@]"] * 120)
"""Its value has few objects, and 2^120 values as text."""


@pytest.mark.parametrize(
    ("expression", "selected"),
    [
        ("items[?id>`19997`].name", ["n19998", "n19999"]),
        ("items[:2].{number: id}", [{"number": 0}, {"number": 1}]),
        ("length(items)", 20_000),
        ('"odd name"."0"[1:]', [2, 3]),
        ("items | [3].tags[0]", "a"),
        ("items[?contains(tags, 'c')]", []),
        ("max_by(items, &id).id", 19_999),
        ("items[].tags[] | length(@)", 40_000),
        ("sum(items[*].id)", 199_990_000),
        ("nothing", None),
        ("items[0] == items[0]", True),
        ("items[0] == items[1]", False),
        ("join('-', items[:3].name)", "n0-n1-n2"),
    ],
)
def test_an_expression_selects_as_the_standard_says(expression: str, selected: Any) -> None:
    assert evaluate(expression, VALUE) == selected


HOSTILE = [
    GROWS,
    f"({GROWS})[0] == `1`",
    f"avg({GROWS})",
    f"keys({GROWS})",
    f"reverse({GROWS})",
    f"to_string({GROWS})",
    f"{{a: {GROWS}}}",
    "|".join(["[@,@][]"] * 120),
    "[items,items][]|" + "|".join(["[@,@,@,@,@,@,@,@,@,@][]"] * 30),
    "to_string(@)|" + "|".join(["to_string([@])"] * 60),
    "join(text, items[*].name)",
    "items[*].[@,@] == items[*].[@,@]",
    "items[*].[tags[*].[@,@,@,@,@,@,@,@,@]]",
    "items|" + "|".join(["[::-1]"] * 140),
]


@pytest.mark.parametrize("expression", HOSTILE)
def test_a_hostile_expression_ends_within_its_steps_and_memory(
    expression: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query, "MAX_STEPS", 20_000)  # tracing takes ten times as long
    tracemalloc.start()
    try:
        with pytest.raises(QueryError, match="takes too long"):
            evaluate(expression, VALUE)
        assert tracemalloc.get_traced_memory()[1] < 40_000_000
    finally:
        tracemalloc.stop()


def test_the_most_steps_take_about_a_second() -> None:
    begun = time.process_time()
    with pytest.raises(QueryError, match="takes too long"):
        evaluate(f"keys({GROWS})", VALUE)
    assert time.process_time() - begun < 10


@pytest.mark.parametrize("expression", ["(" * 900, "!" * 900 + "a", "[" * 900, "a." * 400 + "a("])
def test_a_deep_expression_is_rejected(expression: str) -> None:
    with pytest.raises(QueryError):
        evaluate(expression, VALUE)


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("", "cannot be empty"),
        ("items[", "Incomplete expression"),
        ("`{", "Unclosed"),
        ("absent(@)", "Unknown function"),
        ("length(@, @)", "argument"),
        ("avg(text)", "`avg` expects array-number, but got string"),
        (f"sort_by(items, &({GROWS}))", "`sort_by` expects string or number, but got array"),
        ("ceil(to_number('1e999'))", "infinity"),
        ("a" * (MAX_QUERY + 1), "at most 1,000 characters"),
    ],
)
def test_an_invalid_expression_is_rejected_in_a_short_sentence(
    expression: str, problem: str
) -> None:
    with pytest.raises(QueryError) as raised:
        evaluate(expression, VALUE)
    assert problem in str(raised.value)
    assert len(str(raised.value)) < 500
