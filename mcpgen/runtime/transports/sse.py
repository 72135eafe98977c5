"""Server-sent events as bytes (HTML standard, section 9.2), and ids that name their stream."""

from __future__ import annotations

from typing import Final

KEEP_ALIVE: Final = b": keep-alive\n\n"


def encode_event(data: bytes, *, event: bytes = b"message", event_id: str = "") -> bytes:
    """Give one event. `data` holds no line break, as compact JSON never does."""
    head = b"id: %b\n" % event_id.encode() if event_id else b""
    return b"%bevent: %b\ndata: %b\n\n" % (head, event, data)


def encode_priming_event(event_id: str) -> bytes:
    """Give an event that says nothing but from where to resume (MCP 2025-11-25)."""
    return b"id: %b\ndata:\n\n" % event_id.encode()


def encode_retry(retry_ms: int) -> bytes:
    """Tell the client how long to wait before it connects again."""
    return b"retry: %d\n\n" % retry_ms


def event_id(stream_id: str, number: int) -> str:
    """Name event `number` of a stream; both can be read back from the id."""
    return f"{stream_id}-{number}"


def parse_event_id(text: str) -> tuple[str, int] | None:
    """Give the stream and the number that `event_id` put together, or None for other text."""
    stream_id, dash, number = text.rpartition("-")
    if not dash or not stream_id or not (number.isascii() and number.isdigit()) or len(number) > 15:
        return None
    return stream_id, int(number)
