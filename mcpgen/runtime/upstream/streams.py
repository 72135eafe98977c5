"""Responses that are sequences: server-sent events, lines of JSON, JSON text sequences."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from mcpgen.runtime.content import JsonObject

_LINE_END = re.compile("\r\n|\n|\r")


def items_of_stream(media_type: str, text: str, *, is_cut_off: bool) -> list[Any]:
    """The items of a stream, in order; JSON as values, what is none as text.

    The last item of a stream that `is_cut_off` is left out where it may be unfinished.
    """
    if media_type == "text/event-stream":
        return _events(text)
    is_sequence = media_type == "application/json-seq"  # RFC 7464
    pieces = text.split("\x1e") if is_sequence else _LINE_END.split(text)
    if is_cut_off:
        del pieces[-1]
    return [_value(piece) for piece in pieces if piece.strip()]


def _value(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return text


def _events(text: str) -> list[JsonObject]:
    """Events by HTML, section 9.2.6; one that no blank line ends was not sent whole."""
    events: list[JsonObject] = []
    event: JsonObject = {}
    data: list[str] = []
    for line in _LINE_END.split(text.removeprefix("\ufeff")):
        if not line:
            if data:
                events.append({**event, "data": _data("\n".join(data))})
            event, data = {}, []
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            data.append(value)
        elif name in {"event", "id"}:
            event[name] = value
    return events


def _data(text: str) -> Any:
    """The value of an event's data where that is an object or an array, else the text."""
    value = _value(text) if text.lstrip()[:1] in {"{", "["} else text
    return value if isinstance(value, (dict, list)) else text
