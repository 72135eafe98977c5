"""Parsed head of an HTTP request, with the checks that depend on it alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

from mcpgen.runtime.protocol.routing_headers import RoutingHeaders

Header: TypeAlias = tuple[bytes, bytes]


class RequestHead:
    """Method, target and header fields of a request; the same head may serve several requests.

    `path` is decoded, `query` is not. `fields` has lower-case names, repeated fields are joined.
    """

    __slots__ = (
        "fields",
        "has_json",
        "method",
        "path",
        "query",
        "routing",
        "takes_json_and_events",
    )

    def __init__(self, method: str, path: str, query: str, headers: Sequence[Header]) -> None:
        self.method = method
        self.path = path
        self.query = query
        self.fields = dict(headers)
        if len(self.fields) != len(headers):
            self.fields = _join_repeated(headers)
        self.routing = RoutingHeaders(headers)
        self.has_json = _is_json(self.fields.get(b"content-type"))
        self.takes_json_and_events = accepts(
            self.fields.get(b"accept"), "application/json", "text/event-stream"
        )


@lru_cache(maxsize=256)
def accepts(accept: bytes | None, *media_types: str) -> bool:
    """Return whether an Accept header allows all of these media types (RFC 9110, 12.5.1)."""
    if accept is None:
        return True
    refused: set[str] = set()
    taken: set[str] = set()
    for item in accept.decode("latin-1").lower().split(","):
        media_range, *parameters = (part.strip() for part in item.split(";"))
        weight = next((it.removeprefix("q=") for it in parameters if it.startswith("q=")), "1")
        (refused if weight.strip("0.") == "" else taken).add(media_range)
    return all(_takes(media_type, taken, refused) for media_type in media_types)


def _takes(media_type: str, taken: set[str], refused: set[str]) -> bool:
    kind, _, _ = media_type.partition("/")
    for media_range in (media_type, f"{kind}/*", "*/*"):  # narrowest first
        if media_range in refused:
            return False
        if media_range in taken:
            return True
    return False


@lru_cache(maxsize=256)
def _is_json(content_type: bytes | None) -> bool:
    """Return whether a Content-Type is JSON, with UTF-8 as its charset if it has one."""
    if content_type is None:
        return False
    media_type, *parameters = (
        part.strip() for part in content_type.decode("latin-1").lower().split(";")
    )
    charsets = [it.removeprefix("charset=").strip('"') for it in parameters if "charset=" in it]
    return media_type == "application/json" and set(charsets) <= {"utf-8", "utf8"}


def _join_repeated(headers: Sequence[Header]) -> dict[bytes, bytes]:
    """Join repeated fields, as for list headers; a repeated non-list field becomes invalid."""
    fields: dict[bytes, bytes] = {}
    for name, value in headers:
        fields[name] = fields[name] + b", " + value if name in fields else value
    return fields
