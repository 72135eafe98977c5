"""Heads of HTTP/1.1 requests: a strict parser (RFC 9112, sections 2 to 6)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import unquote

from msgspec import Struct

from mcpgen.runtime.http_syntax import MalformedMessageError, parse_field
from mcpgen.runtime.protocol.routing_headers import RoutingHeaders

Header: TypeAlias = tuple[bytes, bytes]


class RequestHead:
    """Method and target of a request, and the fields that select how it is handled.

    The same head may serve several requests, whose other fields differ. `path` is decoded, `query`
    is not. `repeated` has the names of repeated fields.
    """

    __slots__ = (
        "has_json",
        "method",
        "path",
        "query",
        "repeated",
        "routing",
        "takes_json_and_events",
    )

    def __init__(
        self,
        method: str,
        path: str,
        query: str,
        headers: Sequence[Header],
        fields: Mapping[bytes, bytes],
    ) -> None:
        """Interpret header fields, which `fields` has as `join_fields` returns them."""
        self.method = method
        self.path = path
        self.query = query
        self.repeated: frozenset[bytes] = frozenset()
        if len(fields) != len(headers):
            counts = Counter(name for name, _ in headers)
            self.repeated = frozenset(name for name, number in counts.items() if number > 1)
        self.routing = RoutingHeaders(headers)
        self.has_json = _is_json(fields.get(b"content-type"))
        self.takes_json_and_events = accepts(
            fields.get(b"accept"), "application/json", "text/event-stream"
        )


def join_fields(headers: Sequence[Header]) -> dict[bytes, bytes]:
    """Return header fields by lower-case name.

    Repeated ones are joined, as for list headers; a repeated non-list field becomes invalid.
    """
    fields = dict(headers)
    if len(fields) != len(headers):
        fields = {}
        for name, value in headers:
            fields[name] = fields[name] + b", " + value if name in fields else value
    return fields


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


MAX_FIELDS: Final = 200
_REQUEST_LINE: Final = re.compile(rb"([A-Z]{1,20}) ([\x21-\x7e]+) HTTP/1\.([01])")
_ABSOLUTE_TARGET: Final = re.compile(r"https?://[a-z0-9._~:\[\]-]+(|[/?].*)", re.IGNORECASE)
_REQUEST_START: Final = re.compile(rb"[A-Z]{1,20}(?: |\Z)|\r?\Z")
_BARE_LINE_FEED: Final = re.compile(rb"(?<!\r)\n")
_MAX_LENGTH_DIGITS: Final = 15
CONTENT_LENGTH: Final = b"content-length"
_FRAMING_FIELDS: Final = frozenset({CONTENT_LENGTH, b"transfer-encoding"})
_INTERPRETED_FIELDS: Final = _FRAMING_FIELDS | {
    b"accept",
    b"connection",
    b"content-type",
    b"expect",
    b"upgrade",
}
_ROUTING_FIELDS: Final = b"mcp-"


def affects_more_than_fields(name: bytes) -> bool:
    """Return whether a field changes more of a parsed head than its `fields`.

    `name` is in lower case.
    """
    return name in _INTERPRETED_FIELDS or name.startswith(_ROUTING_FIELDS)


_SHARED_FIELDS: Final = frozenset(
    {
        b"accept",
        b"accept-encoding",
        b"connection",
        b"content-length",
        b"content-type",
        b"host",
        b"mcp-method",
        b"mcp-name",
        b"mcp-protocol-version",
        b"user-agent",
    }
)
"""Fields with the same lines in most requests, even if each has a request ID or a trace."""
MAX_LINES: Final = 256
_MAX_LINE_BYTES: Final = 256
_known_lines: dict[bytes, Header] = {}


def _parse_line(line: bytes) -> Header:
    """Return the name and value of a field line; cache those of fields that most requests have."""
    name, value = parse_field(line)
    header = (name.lower(), value)
    if header[0] in _SHARED_FIELDS and len(line) <= _MAX_LINE_BYTES:
        if len(_known_lines) >= MAX_LINES:
            del _known_lines[next(iter(_known_lines))]
        _known_lines[line] = header
    return header


class Transfer(NamedTuple):
    """How the body of a request is sent, and how its connection ends."""

    is_chunked: bool
    is_persistent: bool  # another request may follow on the connection
    expects_continue: bool  # the client waits for status 100 before it sends the body


ORDINARY: Final = Transfer(is_chunked=False, is_persistent=True, expects_continue=False)
"""The connection stays, and the body is sent unasked and in one piece."""


class ParsedRequest(Struct, frozen=True, eq=False):
    """The parsed head of a request. `fields` are its header fields (`join_fields`)."""

    head: RequestHead
    fields: dict[bytes, bytes]
    content_length: int
    transfer: Transfer


def can_begin_request(received: bytearray, searched: int) -> bool:
    """Return whether the bytes may be the beginning of a head that is not complete yet.

    The first `searched` bytes were already checked.
    """
    has_bare_line_feed = _BARE_LINE_FEED.search(received, max(0, searched - 1))
    return bool(_REQUEST_START.match(received)) and not has_bare_line_feed


def parse_request(head: bytes) -> ParsedRequest:
    """Parse a complete head, without its empty line.

    Raises:
        MalformedMessageError: it is malformed, or the end of the request would be ambiguous.
    """
    first, *lines = head.split(b"\r\n")
    request_line = _REQUEST_LINE.fullmatch(first)
    if request_line is None or len(lines) > MAX_FIELDS:
        raise MalformedMessageError("invalid request line, or too many header fields")
    headers = [_known_lines.get(line) or _parse_line(line) for line in lines]
    method, target, minor_version = request_line.groups()
    is_old = minor_version == b"0"
    fields = dict(headers)
    content_length, is_chunked = _determine_framing(headers, fields, is_old=is_old)
    options = _list_connection_options(headers) if b"connection" in fields else set()
    if b"upgrade" in options and b"upgrade" in fields and not _FRAMING_FIELDS.isdisjoint(fields):
        # A server that upgraded the connection would read the body as the new protocol.
        raise MalformedMessageError("an upgrade with a body")
    expects_continue = fields.get(b"expect", b"").lower() == b"100-continue"
    is_persistent = not is_old and b"close" not in options
    transfer = Transfer(is_chunked, is_persistent, expects_continue)
    path, query = _split_target(target.decode("ascii"))
    if not target.startswith(b"/"):
        headers.append((b"host", target))  # an absolute target counts as another Host header
    fields = join_fields(headers)
    parsed_head = RequestHead(method.decode("ascii"), path, query, headers, fields)
    return ParsedRequest(parsed_head, fields, content_length, transfer)


def _determine_framing(
    headers: list[Header], fields: dict[bytes, bytes], *, is_old: bool
) -> tuple[int, bool]:
    """Return the length of the body and whether it is chunked (RFC 9112, section 6.3)."""
    length, coding = fields.get(b"content-length"), fields.get(b"transfer-encoding")
    if length is None and coding is None:
        return 0, False
    if sum(name in _FRAMING_FIELDS for name, _ in headers) > 1:
        raise MalformedMessageError("more than one Content-Length or Transfer-Encoding")
    if length is None:
        if is_old or coding is None or coding.lower() != b"chunked":
            raise MalformedMessageError("invalid Transfer-Encoding")
        return 0, True
    return parse_length(length), False


def parse_length(value: bytes) -> int:
    """Parse a Content-Length.

    Raises:
        MalformedMessageError: it is not a number of at most 15 digits.
    """
    if not (value.isdigit() and len(value) <= _MAX_LENGTH_DIGITS):
        raise MalformedMessageError("invalid Content-Length")
    return int(value)


def _list_connection_options(headers: list[Header]) -> set[bytes]:
    values = (value for name, value in headers if name == b"connection")
    return {option.strip().lower() for value in values for option in value.split(b",")}


def _split_target(target: str) -> tuple[str, str]:
    """Split a request target into its decoded path and its query."""
    if not target.startswith("/"):
        absolute = _ABSOLUTE_TARGET.fullmatch(target)
        if absolute is None:
            raise MalformedMessageError("invalid request target")
        target = absolute[1]
    path, _, query = target.partition("?")
    return (unquote(path) if "%" in path else path) or "/", query
