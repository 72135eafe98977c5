"""Encoder of server-sent events (HTML standard, section 9.2) and of resumable event ids."""

from __future__ import annotations

from typing import Final

KEEP_ALIVE: Final = b": keep-alive\n\n"


def encode_event(data: bytes, *, event: bytes = b"message", event_id: str = "") -> bytes:
    """Encode an event. `data` must not contain line breaks; compact JSON never does."""
    head = b"id: %b\n" % event_id.encode() if event_id else b""
    return b"%bevent: %b\ndata: %b\n\n" % (head, event, data)


def encode_priming_event(event_id: str) -> bytes:
    """Encode an event without data, which tells the client where to resume (MCP 2025-11-25)."""
    return b"id: %b\ndata:\n\n" % event_id.encode()


def encode_retry(retry_ms: int) -> bytes:
    """Encode the wait before the client reconnects."""
    return b"retry: %d\n\n" % retry_ms


def format_event_id(stream_id: str, number: int) -> str:
    """Format the id of event `number` of a stream; `parse_event_id` is the inverse."""
    return f"{stream_id}-{number}"


def parse_event_id(text: str) -> tuple[str, int] | None:
    """Parse an event id into stream id and number; return None if it is invalid."""
    stream_id, dash, number = text.rpartition("-")
    if not dash or not stream_id or not (number.isascii() and number.isdigit()) or len(number) > 15:
        return None
    return stream_id, int(number)
