"""Media types: how a body or a response of each kind is dealt with, and which comes first."""

from __future__ import annotations

import enum
from collections.abc import Iterable

from mcpgen.ir.api import MediaType


class Kind(enum.IntEnum):
    """What a media type holds, the most convenient first."""

    JSON = 0
    OTHER_JSON = 1  # `+json`, a patch format for instance
    FORM = 2
    MULTIPART = 3
    TEXT = 4
    XML = 5
    LINES = 6  # a sequence: ndjson, event streams
    BINARY = 7


SENDABLE = frozenset({Kind.JSON, Kind.OTHER_JSON})
"""The kinds that the runtime can write as a request body."""


def base_type(media_type: str) -> str:
    """`media_type` in lower case and without parameters."""
    return media_type.split(";", 1)[0].strip().lower()


def kind_of(media_type: str) -> Kind:
    """What a body of this type holds. A wildcard stands for JSON."""
    name = base_type(media_type)
    if name in ("application/json", "text/json", "*/*", "application/*", "*"):
        return Kind.JSON
    if name in ("application/json-seq", "text/event-stream") or name.endswith(
        ("ndjson", "jsonl", "json-lines")
    ):
        return Kind.LINES
    if name.endswith("+json"):
        return Kind.OTHER_JSON
    if name == "application/x-www-form-urlencoded":
        return Kind.FORM
    if name == "multipart/form-data":
        return Kind.MULTIPART
    if name.endswith(("/xml", "+xml")):
        return Kind.XML
    return Kind.TEXT if name.startswith("text/") else Kind.BINARY


def ranked(content: Iterable[MediaType]) -> list[MediaType]:
    """The media types, best first: by kind, then by the name, so that no order is the document's.

    `application/json` itself comes before a wildcard that stands for it.
    """
    return sorted(
        content,
        key=lambda item: (kind_of(item.media_type), "*" in item.media_type, item.media_type),
    )


def is_json(media_type: str) -> bool:
    """Whether a body of this type is one JSON value."""
    return kind_of(media_type) <= Kind.OTHER_JSON


def spelled_for_sending(media_type: str) -> str:
    """`media_type` as a request names it; a wildcard becomes JSON."""
    return "application/json" if "*" in media_type else media_type
