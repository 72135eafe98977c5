"""Responses that are sequences: written by the mock, read by the suite."""

from __future__ import annotations

import json

from mcpgen.jsonschema.types import JsonValue
from mcpgen.text.media_types import JSON_LINES, essence_of

_BEFORE_AND_AFTER = {
    "text/event-stream": ("data: ", "\n\n"),  # HTML, section 9.2
    "application/json-seq": ("\x1e", "\n"),  # RFC 7464
    **dict.fromkeys(JSON_LINES, ("", "\n")),
}


def is_stream(media_type: str) -> bool:
    """Return whether a media type is a sequence of JSON values."""
    return essence_of(media_type) in _BEFORE_AND_AFTER


def write_stream(media_type: str, items: list[JsonValue]) -> bytes:
    """Return the sequence of these values."""
    before, after = _BEFORE_AND_AFTER[essence_of(media_type)]
    return "".join(f"{before}{json.dumps(item)}{after}" for item in items).encode()


def read_stream(media_type: str, body: bytes) -> list[JsonValue]:
    """Return the items of a sequence from `write_stream`, as they are in a tool's result."""
    before, after = _BEFORE_AND_AFTER[essence_of(media_type)]
    pieces = [piece.removeprefix(before) for piece in body.decode().split(after) if piece]
    items = [json.loads(piece) for piece in pieces]
    if essence_of(media_type) != "text/event-stream":
        return items
    # The data of an event is a value if it is an object or a list, else text.
    return [
        {"data": item if isinstance(item, list | dict) else piece}
        for item, piece in zip(items, pieces, strict=True)
    ]
