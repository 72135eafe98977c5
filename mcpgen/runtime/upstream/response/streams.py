"""Parser of streamed responses: server-sent events, JSON lines and JSON text sequences."""

from __future__ import annotations

import re
from typing import Any

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.upstream.response.json_decoding import TooComplexError, decode_json

_LINE_END = re.compile("\r\n|\n|\r")


def parse_stream(media_type: str, text: str, *, is_cut_off: bool) -> list[Any]:
    """Return the items of a stream in order: JSON as values, other items as text.

    The last item of a stream that `is_cut_off` is dropped if it may be incomplete.
    """
    if media_type == "text/event-stream":
        return _parse_events(text)
    is_sequence = media_type == "application/json-seq"  # RFC 7464
    pieces = text.split("\x1e") if is_sequence else _LINE_END.split(text)
    if is_cut_off:
        del pieces[-1]
    return [_parse_item(piece) for piece in pieces if piece.strip()]


def _parse_item(text: str) -> Any:
    try:
        return decode_json(text.encode())
    except (ValueError, RecursionError, TooComplexError):
        return text


def _parse_events(text: str) -> list[JsonObject]:
    """Parse server-sent events (HTML, section 9.2.6); drop one without its blank line."""
    events: list[JsonObject] = []
    event: JsonObject = {}
    data: list[str] = []
    for line in _LINE_END.split(text.removeprefix("\ufeff")):
        if not line:
            if data:
                events.append({**event, "data": _parse_data("\n".join(data))})
            event, data = {}, []
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            data.append(value)
        elif name in {"event", "id"}:
            event[name] = value
    return events


def _parse_data(text: str) -> Any:
    """Decode the data of an event if it is an object or an array, else return the text."""
    value = _parse_item(text) if text.lstrip()[:1] in {"{", "["} else text
    return value if isinstance(value, (dict, list)) else text
