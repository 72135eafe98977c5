"""Tests of differences between two requests: what counts as one, and what does not."""

from __future__ import annotations

from typing import Any

from tests.corpus.comparing import differences


def make_call(value: object, sent: str) -> dict[str, Any]:
    """Return a call with a header, as sent by mcpgen."""
    return {
        "operation": "GET /pets",
        "case": "a case",
        "values": {"header": {"X-Dry-Run": value}},
        "parameters": [{"in": "header", "name": "X-Dry-Run", "style": "simple"}],
        "ours": make_request(sent),
    }


def make_request(value: object) -> dict[str, Any]:
    url = "https://judged.example/pets"
    return {"method": "GET", "url": url, "headers": [["X-Dry-Run", value]], "body": None}


def test_a_boolean_of_javascript_is_sent_as_its_text() -> None:
    assert list(differences(make_call(True, "true"), make_request(True))) == []
    assert list(differences(make_call(True, "true"), make_request("true"))) == []


def test_another_spelling_of_a_header_is_a_difference() -> None:
    (found,) = differences(make_call(True, "true"), make_request("True"))
    assert (found.kind, found.ours, found.theirs) == ("header simple boolean", "true", "True")
