"""Tests of document text as shown to models."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpgen.ir.portable_profile import MAX_DESCRIPTION
from mcpgen.text.prose import first_sentence, plain_text, shorten_at_sentence


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("<p>Lists <b>pets</b>.</p>", "Lists pets ."),
        ("a &lt; b &amp; c", "a < b & c"),
        ("Use [the docs](https://x.example/y).", "Use the docs."),
        ("![logo](a.png)Pets", "logoPets"),
        ("# Title\n\ntext", "Title:\ntext"),
        ("| a | b |\n|---|---|\n| 1 | 2 |\ntext", "text"),
        ("```json\n{}\n```", "{}"),
        ("**bold** and `code`", "bold and `code`"),
        ("a\u200bb\u202ec\U000e0041d\x00\x1b", "abcd"),
        ("one\u2028two", "onetwo"),
        ("keep\n\n\nlines", "keep\nlines"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
    ],
)
def test_markup_and_invisible_characters_are_removed(text: str, cleaned: str) -> None:
    assert plain_text(text) == cleaned


@given(st.text(max_size=300), st.integers(min_value=10, max_value=200))
def test_shortened_text_keeps_its_limit(text: str, limit: int) -> None:
    assert len(shorten_at_sentence(text, limit)) <= limit


def test_text_is_truncated_after_a_sentence_if_possible() -> None:
    assert shorten_at_sentence("One two three. Four five six.", 20) == "One two three."
    assert shorten_at_sentence("One two three four five six", 15) == "One two three…"


def test_first_sentence_is_one_line() -> None:
    assert first_sentence("One\ntwo. Three.", 80) == "One two."


def description(make: Any, **operation: Any) -> str:
    method = operation.pop("method", "get")
    text = make(make.document(operation, method=method)).tool().description
    assert isinstance(text, str)
    return text


def test_the_summary_is_followed_by_the_description(make: Any) -> None:
    text = description(make, summary="List all the pets of the shop", description="Newest first.")
    assert text == "List all the pets of the shop.\nNewest first."


def test_a_description_without_a_summary_is_used(make: Any) -> None:
    text = description(make, description="Lists all the pets that are for sale. Newest first.")
    assert text == "Lists all the pets that are for sale.\nNewest first."


def test_a_description_that_repeats_the_summary_is_omitted(make: Any) -> None:
    text = description(
        make,
        summary="Lists the pets that are for sale here",
        description="lists the pets that are for sale here.",
    )
    assert text == "Lists the pets that are for sale here (`GET /pets`)."


def test_an_operation_without_texts_is_described_by_its_request(make: Any) -> None:
    assert description(make) == "Calls `GET /pets`."


def test_the_description_mentions_deprecation_and_destruction(make: Any) -> None:
    text = description(make, summary="Remove pets", deprecated=True, method="delete")
    assert text.startswith("[deprecated] Remove pets")
    assert "Destructive" in text


def test_long_descriptions_keep_the_last_notes(make: Any) -> None:
    text = description(make, description="Word. " * 1000, method="delete")
    assert len(text) <= MAX_DESCRIPTION
    assert text.endswith("may not come back.")


@pytest.mark.parametrize(
    ("summary", "details", "told"),
    [
        (
            "Get a pet of the shop",
            "Returns the pet of the shop, with its owner. Quickly.",
            "Returns the pet of the shop, with its owner.\nQuickly.",
        ),
        (
            "List all the pets for a user",
            "Lists the user's pets. The newest first.",
            "List all the pets for a user.\nThe newest first.",
        ),
        (
            "Remove a pet from the shop",
            "Adds a pet to the shop from which it was removed.",
            "Remove a pet from the shop.\nAdds a pet to the shop from which it was removed.",
        ),
        (
            "Shows pets to the public",
            "Hides pets that the public shows to the shop.",
            "Shows pets to the public.\nHides pets that the public shows to the shop.",
        ),
    ],
)
def test_the_purpose_is_stated_once(make: Any, summary: str, details: str, told: str) -> None:
    assert description(make, summary=summary, description=details) == told


def test_repeated_sentences_on_scopes_are_removed(make: Any) -> None:
    texts = {
        f"/{scope}": f"Lists all of them. Tokens need the `{scope}:read` scope for this. The end."
        for scope in ("pets", "shops", "users")
    }
    texts["/tokens"] = "Lists tokens. A token needs a scope that its user has granted. The end."
    document = make.document()
    document["paths"] = {
        path: {"get": {"description": text, "responses": {"200": {"description": "Done"}}}}
        for path, text in texts.items()
    }
    told = {tool.operation.path: tool.description for tool in make(document).plan().tools}
    assert not [path for path, text in told.items() if "`" in text and "read" in text]
    assert all("The end" in text for text in told.values())
    assert "A token needs a scope" in told["/tokens"]
