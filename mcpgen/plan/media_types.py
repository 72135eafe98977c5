"""Media types: how a body or a response of each kind is dealt with, and which comes first."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from functools import lru_cache

from mcpgen.ir.api import MediaType
from mcpgen.runtime.media_types import JSON_LINES, is_text


class Kind(enum.IntEnum):
    """What a media type holds, the most convenient first."""

    JSON = 0
    OTHER_JSON = 1  # `+json`, a patch format for instance
    FORM = 2
    MULTIPART = 3
    LINES = 4  # a JSON value a line
    XML = 5  # whose shape the document gives
    TEXT = 6
    BINARY = 7
    UNSENDABLE = 8  # no media type, or `multipart/*`


STRUCTURED = frozenset(
    {Kind.JSON, Kind.OTHER_JSON, Kind.FORM, Kind.MULTIPART, Kind.LINES, Kind.XML}
)
"""The kinds whose value is described by the schema; the others travel as one string."""
_ANY = frozenset({"*/*", "application/*", "*"})


@lru_cache(maxsize=256)
def base_type(media_type: str) -> str:
    """`media_type` in lower case and without parameters."""
    return media_type.split(";", 1)[0].strip().lower()


@lru_cache(maxsize=256)
def kind_of(media_type: str) -> Kind:
    """What a body of this type holds. A range that JSON is in stands for JSON.

    Of another range, the type is an argument, and the kind is that of all in it.
    """
    name = base_type(media_type)
    if name in ("application/json", "text/json") or name in _ANY:
        return Kind.JSON
    if name.endswith("+json"):
        return Kind.OTHER_JSON
    if name == "application/x-www-form-urlencoded":
        return Kind.FORM
    if name in JSON_LINES:
        return Kind.LINES
    if "/" not in name or name == "multipart/*":
        return Kind.UNSENDABLE
    if name.startswith("multipart/"):
        return Kind.MULTIPART
    return Kind.TEXT if is_text(name) else Kind.BINARY


def kind_of_body(item: MediaType) -> Kind:
    """What a body of this type is made from; XML of a known shape, from a value.

    A range that JSON is in holds bytes where the schema speaks of a string or of nothing, and a
    message (RFC 5322) is text unless its schema calls it binary.
    """
    kind = kind_of(item.media_type)
    name = base_type(item.media_type)
    keywords = item.schema if isinstance(item.schema, dict) else {}
    if name in _ANY and (not keywords or keywords.get("type") == "string"):
        return Kind.BINARY
    if name.startswith("message/") and keywords.get("format") == "binary":
        return Kind.BINARY
    return Kind.XML if item.xml_root and kind is not Kind.UNSENDABLE else kind


def is_patch(media_type: str) -> bool:
    """Whether a body of this type is a list of changes, in a notation that the type alone names."""
    return base_type(media_type).endswith(("patch+json", "patch+yaml"))


def is_range(media_type: str) -> bool:
    """Whether `media_type` stands for several: `image/*`."""
    return "*" in base_type(media_type)


def ranked(content: Iterable[MediaType]) -> list[MediaType]:
    """The media types, best first: by kind, then by the name, so that no order is the document's.

    `application/json` itself comes before a range that stands for it, and a form with files after
    multipart.
    """
    return sorted(
        content,
        key=lambda item: (
            Kind.MULTIPART + 0.5 if _is_form_with_files(item) else kind_of_body(item),
            "*" in item.media_type,
            item.media_type,
        ),
    )


def _is_form_with_files(item: MediaType) -> bool:
    properties = item.schema.get("properties", {}) if isinstance(item.schema, dict) else {}
    return kind_of(item.media_type) is Kind.FORM and any(
        isinstance(schema, dict) and schema.get("format") == "binary"
        for schema in properties.values()
    )


def is_json(media_type: str) -> bool:
    """Whether a body of this type is one JSON value."""
    return kind_of(media_type) <= Kind.OTHER_JSON


def spelled_for_sending(item: MediaType) -> str:
    """The media type as a request names it: JSON for a range that stands for that."""
    is_json_range = is_range(item.media_type) and kind_of_body(item) is Kind.JSON
    return "application/json" if is_json_range else item.media_type
