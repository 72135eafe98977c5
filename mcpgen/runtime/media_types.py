"""Media types whose names do not tell how a body of them is written."""

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
_TEXTUAL: Final = frozenset(
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


def is_text(essence: str) -> bool:
    """Whether a body of a media type is text; `essence` is in lower case, without parameters."""
    return (
        essence.startswith(("text/", "message/"))
        or essence in _TEXTUAL
        or essence.endswith(("+xml", "+yaml"))
    )
