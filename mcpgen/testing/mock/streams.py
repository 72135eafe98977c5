"""Responses that are sequences, as the mock writes them and as a suite reads them."""

from __future__ import annotations

import json

from mcpgen.jsonschema.types import JsonValue
from mcpgen.text.media_types import essence_of

JSON_LINES = frozenset(
    {
        *("application/json-lines", "application/jsonl", "application/jsonlines"),
        *("application/ndjson", "application/x-jsonlines", "application/x-ndjson"),
        "text/x-ndjson",
    }
)
_BEFORE_AND_AFTER = {
    "text/event-stream": ("data: ", "\n\n"),  # HTML, section 9.2
    "application/json-seq": ("\x1e", "\n"),  # RFC 7464
    **dict.fromkeys(JSON_LINES, ("", "\n")),
}


def is_stream(media_type: str) -> bool:
    """Tell whether a media type is of a sequence of JSON values."""
    return essence_of(media_type) in _BEFORE_AND_AFTER


def write_stream(media_type: str, items: list[JsonValue]) -> bytes:
    """Give the sequence of these values."""
    before, after = _BEFORE_AND_AFTER[essence_of(media_type)]
    return "".join(f"{before}{json.dumps(item)}{after}" for item in items).encode()


def read_stream(media_type: str, body: bytes) -> list[JsonValue]:
    """Give the items of a sequence that `write_stream` wrote, as a tool's result shows them."""
    before, after = _BEFORE_AND_AFTER[essence_of(media_type)]
    pieces = [piece.removeprefix(before) for piece in body.decode().split(after) if piece]
    items = [json.loads(piece) for piece in pieces]
    if essence_of(media_type) != "text/event-stream":
        return items
    # An event shows its data as a value where that has members or items, else as its text.
    return [
        {"data": item if isinstance(item, list | dict) else piece}
        for item, piece in zip(items, pieces, strict=True)
    ]
