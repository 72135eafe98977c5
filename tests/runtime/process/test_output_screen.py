"""Tests that everything a call sends to its client is readable text without secrets."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

from mcpgen.runtime.process.output_screen import REMOVED_KEY, OutputScreen
from mcpgen.runtime.upstream.response.redaction import Redactor

SECRET = "secret-0123456789"
HIDDEN = "\u202e"


def screen() -> OutputScreen:
    redactor = Redactor((SECRET,))
    return OutputScreen(lambda: redactor)


def test_hidden_characters_are_removed_from_text_only() -> None:
    result = {
        "content": [
            {"type": "text", "text": f'{{"a":"{HIDDEN}b"}}'},
            {"type": "resource", "resource": {"uri": "a:b", "text": HIDDEN, "blob": HIDDEN}},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        ],
        "structuredContent": {"a": f"{HIDDEN}b"},
        "_meta": {"mine": 1},
    }
    shown = screen().make_readable(result)
    assert shown["content"][0]["text"] == '{"a":"b"}'
    assert shown["content"][1]["resource"] == {"uri": "a:b", "text": "", "blob": HIDDEN}
    assert shown["structuredContent"] == {"a": f"{HIDDEN}b"}
    assert shown["_meta"] == {"mine": 1, REMOVED_KEY: 2}


def test_a_result_without_hidden_characters_is_returned_unchanged() -> None:
    result: dict[str, Any] = {"content": [{"type": "text", "text": "plain"}]}
    assert screen().make_readable(result) is result


def test_secrets_are_masked_and_types_are_kept() -> None:
    message = {
        "jsonrpc": "2.0",
        "id": SECRET,
        "result": {
            "content": [
                {"type": "text", "text": f"key {SECRET}"},
                {"type": "resource_link", "uri": f"https://a.example/?key={SECRET}", "name": "x"},
                {"type": "image", "data": b64encode(f"x{SECRET}y".encode()).decode()},
            ],
            "structuredContent": {SECRET: [SECRET, 1, None, {"a": SECRET}]},
        },
    }
    result = screen().mask(message)["result"]
    assert result["content"][0]["text"] == "key ***"
    assert result["content"][1]["uri"] == "https://a.example/?key=***"
    assert b64decode(result["content"][2]["data"]) == b"x" + b"*" * len(SECRET) + b"y"
    assert result["structuredContent"] == {"***": ["***", 1, None, {"a": "***"}]}
    assert screen().mask(message)["id"] == SECRET  # the client's own


def test_a_blob_that_is_not_base64_is_masked_as_text() -> None:
    assert screen().mask({"blob": f"{SECRET}!"}) == {"blob": "***!"}
