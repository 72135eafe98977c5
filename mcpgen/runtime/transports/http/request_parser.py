"""Strict parser of the head of an HTTP/1.1 request, without I/O (RFC 9112, sections 2 to 6).

It accepts no spelling that two parsers could read differently: no bare line feeds, no folded
lines, one `Content-Length` of digits or one `Transfer-Encoding: chunked`, never both.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple
from urllib.parse import unquote

from mcpgen.runtime.http_syntax.fields import MalformedMessageError, parse_field
from mcpgen.runtime.transports.http.request_head import Header, RequestHead

MAX_FIELDS: Final = 200
_REQUEST_LINE: Final = re.compile(rb"([A-Z]{1,20}) ([\x21-\x7e]+) HTTP/1\.([01])")
_ABSOLUTE_TARGET: Final = re.compile(r"https?://[a-z0-9._~:\[\]-]+(|[/?].*)", re.IGNORECASE)
_REQUEST_START: Final = re.compile(rb"[A-Z]{1,20}(?: |\Z)|\r?\Z")
_BARE_LINE_FEED: Final = re.compile(rb"(?<!\r)\n")
_MAX_LENGTH_DIGITS: Final = 15
_FRAMING_FIELDS: Final = frozenset({b"content-length", b"transfer-encoding"})


class ParsedRequest(NamedTuple):
    """The head of a request, and how its body and its connection end."""

    head: RequestHead
    content_length: int
    is_chunked: bool
    is_persistent: bool  # another request may follow on the connection
    expects_continue: bool  # the client waits for status 100 before it sends the body


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
    headers = []
    for line in lines:
        name, value = parse_field(line)
        headers.append((name.lower(), value))
    method, target, minor_version = request_line.groups()
    is_old = minor_version == b"0"
    fields = dict(headers)
    content_length, is_chunked = _determine_framing(headers, fields, is_old=is_old)
    options = _list_connection_options(headers) if b"connection" in fields else set()
    if b"upgrade" in options and b"upgrade" in fields and not _FRAMING_FIELDS.isdisjoint(fields):
        # A server that upgraded the connection would read the body as the new protocol.
        raise MalformedMessageError("an upgrade with a body")
    path, query = _split_target(target.decode("ascii"))
    if not target.startswith(b"/"):
        headers.append((b"host", target))  # an absolute target counts as another Host header
    parsed_head = RequestHead(method.decode("ascii"), path, query, headers)
    expects_continue = fields.get(b"expect", b"").lower() == b"100-continue"
    is_persistent = not is_old and b"close" not in options
    return ParsedRequest(parsed_head, content_length, is_chunked, is_persistent, expects_continue)


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
    if not (length.isdigit() and len(length) <= _MAX_LENGTH_DIGITS):
        raise MalformedMessageError("invalid Content-Length")
    return int(length), False


def _list_connection_options(headers: list[Header]) -> set[bytes]:
    values = (value for name, value in headers if name == b"connection")
    return {option.strip().lower() for value in values for option in value.split(b",")}


def _split_target(target: str) -> tuple[str, str]:
    """Split a request target into its decoded path and its query.

    Raises:
        MalformedMessageError: the target is neither a path nor an HTTP URL.
    """
    if not target.startswith("/"):
        absolute = _ABSOLUTE_TARGET.fullmatch(target)
        if absolute is None:
            raise MalformedMessageError("invalid request target")
        target = absolute[1]
    path, _, query = target.partition("?")
    return (unquote(path) if "%" in path else path) or "/", query
