"""The header fields of an HTTP request, and what of an answer to it they settle."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

from mcpgen.runtime.protocol.routing_headers import RoutingHeaders

Header: TypeAlias = tuple[bytes, bytes]


class RequestHead:
    """The header fields of a request, by lower-case name, repeats joined.

    What it tells follows from them alone, so that a server may keep it for the next request that
    has the same ones.
    """

    __slots__ = ("fields", "has_json", "routing", "takes_json_and_events")

    def __init__(self, headers: Sequence[Header]) -> None:
        self.fields = dict(headers)
        if len(self.fields) != len(headers):
            self.fields = _joined(headers)
        self.routing = RoutingHeaders(headers)
        self.has_json = _is_json(self.fields.get(b"content-type"))
        self.takes_json_and_events = accepts(
            self.fields.get(b"accept"), "application/json", "text/event-stream"
        )


@lru_cache(maxsize=256)
def accepts(accept: bytes | None, *media_types: str) -> bool:
    """Tell whether an Accept header takes all of these media types (RFC 9110, section 12.5.1)."""
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
    """Tell whether a Content-Type says JSON, and in UTF-8 where it names a charset."""
    if content_type is None:
        return False
    media_type, *parameters = (
        part.strip() for part in content_type.decode("latin-1").lower().split(";")
    )
    charsets = [it.removeprefix("charset=").strip('"') for it in parameters if "charset=" in it]
    return media_type == "application/json" and set(charsets) <= {"utf-8", "utf8"}


def _joined(headers: Sequence[Header]) -> dict[bytes, bytes]:
    """Join what comes twice, as for list headers; any other then has a value that fits nothing."""
    fields: dict[bytes, bytes] = {}
    for name, value in headers:
        fields[name] = fields[name] + b", " + value if name in fields else value
    return fields
