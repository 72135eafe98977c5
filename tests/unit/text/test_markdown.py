"""Tests of Markdown in documents: code is kept, markup and dangling references are removed."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpgen.text.prose import plain_line, plain_text


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("Use `refs/heads/<branch name>`, <b>not</b> x.", "Use `refs/heads/<branch name>`, not x."),
        ("``a ` <b>`` and <i>c</i>", "``a ` <b>`` and c"),
        ("A size like `>10` or `<10`", "A size like `>10` or `<10`"),
        ("```sh\ncurl <url> # [x](y)\n| a |\n```\n<p>end", "curl <url> # [x](y)\n| a |\nend"),
        ("~~~\n<x>\n~~~\n<b>y</b>", "<x>\ny"),
        ("`a &lt;id&gt; b`", "`a <id> b`"),
        ("`no end <b>x</b>", "`no end x"),
        ("`one\n\ntwo <b>x</b>`", "`one\ntwo x `"),
        ("`a\u200bb`", "`ab`"),
    ],
)
def test_code_stays_as_it_is(text: str, cleaned: str) -> None:
    assert plain_text(text) == cleaned


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("a `&lt;` b", "a `<` b"),
        ("a </b> b", "a b"),
        ("a &amp; b", "a & b"),
        ("> a", "a"),
        ("[a](b) c", "a c"),
        ("| a", ""),
        ("# a", "a:"),
        ("**a** b", "a b"),
        ("__a__ b", "a b"),
        ("a  b", "a b"),
        ("a\tb", "a b"),
        (" a_b [c] * (d)! ", "a_b [c] * (d)!"),
    ],
)
def test_each_kind_of_markup_is_removed_from_a_single_line(text: str, cleaned: str) -> None:
    assert plain_text(text) == cleaned


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("> [!NOTE]\n> Only admins.", "Only admins."),
        ("> [!TIP]\n> Be quick.\nNext.", "Be quick.\nNext."),
        (
            "Before.\n\n> [!WARNING]\n> Deletes all.\n> Really.",
            "Before.\nWarning: Deletes all.\nReally.",
        ),
        ("> [!caution] Mind the gap.", "Warning: Mind the gap."),
        ("values > 5 and\n>= 6", "values > 5 and\n>= 6"),
    ],
)
def test_marks_of_alerts_are_removed(text: str, cleaned: str) -> None:
    assert plain_text(text) == cleaned


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ('The page. For more information, see "[Paging](https://a.example/p)."', "The page."),
        (
            "Lists.\n\nFor further details on\nsorting, see [A](x) and [B](y).\nNext.",
            "Lists.\nNext.",
        ),
        ("Lists. See [the guide](https://a.example) for more details. Then.", "Lists. Then."),
        ("Lists. Learn more in [our docs](https://a.example).", "Lists."),
        ("It fails; for more information, see [Errors](e.html).", "It fails."),
        ("A key (see [Keys](https://a.example/k)) of yours.", "A key of yours."),
        ('See <a href="https://a.example">the docs</a>.', ""),
        ("More information: [Docs](https://a.example)", ""),
    ],
)
def test_references_that_lead_nowhere_are_removed(text: str, cleaned: str) -> None:
    assert plain_text(text) == cleaned


@pytest.mark.parametrize(
    "text",
    [
        "See [List pets](#operation/listPets) for the ids.",  # another operation of the document
        "For more information, see https://a.example/guide.",  # can be opened
        "Use the [new endpoint](https://a.example) instead.",
        "See [the colours](https://a.example) that are allowed here.",
        "To see more, pass `all`. [Docs](https://a.example) say so.",
        "Read [the file](https://a.example/x) of the user.",
    ],
)
def test_links_that_say_something_keep_their_text(text: str) -> None:
    cleaned = plain_line(text)
    for word in ("List pets", "https://a.example/guide", "new endpoint", "colours", "Docs", "file"):
        assert (word in text) == (word in cleaned)


@given(st.text(alphabet="`<>[]()!#|&;lt \n\0a", max_size=120))
def test_any_text_is_cleaned_without_placeholders(text: str) -> None:
    assert "\0" not in plain_text(text)


UNITS = [
    "see [", "`", "``a", "for more information ", "> [!", "<a href=", "<a href=x>", "(see [a](b) ",
    "```\n", "see [a](b), [a](b) ", "for more info see [x](y) and ", ". \n", "[a](b",
    "; for more information, see ",
]  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_an_enormous_hostile_text_is_cleaned_in_linear_time(unit: str) -> None:
    text = unit * (400_000 // len(unit))
    started = time.process_time()
    plain_text.__wrapped__(text)
    # 0.1 s at most on the machine of the author; a quadratic search needs minutes.
    assert time.process_time() - started < 10
