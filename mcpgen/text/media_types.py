"""Classification of media types: JSON, JSON Lines, text, or other (RFC 6838, RFC 6839)."""

from __future__ import annotations

from typing import Final

JSON_LINES: Final = frozenset(
    {
        "application/json-lines",
        "application/jsonl",
        "application/jsonlines",
        "application/ndjson",
        "application/x-jsonlines",
        "application/x-ndjson",
        "text/x-ndjson",
    }
)
TEXTUAL: Final = frozenset(
    {
        "application/graphql",
        "application/javascript",
        "application/jwt",
        "application/sql",
        "application/toml",
        "application/x-yaml",
        "application/xml",
        "application/yaml",
    }
)


def essence_of(media_type: str) -> str:
    """Return a media type without its parameters, in lower case."""
    return media_type.partition(";")[0].strip().lower()


def is_json(media_type: str) -> bool:
    """Return whether a media type is JSON or has the suffix `+json`; parameters are ignored."""
    essence = essence_of(media_type)
    return essence in {"application/json", "text/json"} or essence.endswith("+json")


def is_text(essence: str) -> bool:
    """Return whether a media type is text; `essence` is in lower case, without parameters."""
    return (
        essence.startswith(("text/", "message/"))
        or essence in TEXTUAL
        or essence.endswith(("+xml", "+yaml"))
    )
