"""Strict parser of the head of an HTTP/1.1 response, without I/O (RFC 9112, sections 2 to 6).

It accepts no spelling that two parsers could read differently: no bare line feeds, no folded
lines, one `Content-Length` of digits or one `Transfer-Encoding: chunked`, never both.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from mcpgen.runtime.http_syntax import MalformedMessageError, parse_field
from mcpgen.runtime.upstream.errors import MalformedResponseError
from mcpgen.runtime.upstream.http.messages import HeaderFields

MAX_HEAD_BYTES: Final = 64 * 1024
MAX_FIELDS: Final = 256
_STATUS_LINE: Final = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: [\t\x20-\x7e\x80-\xff]*)?")
_PREFIX: Final = b"HTTP/1."
_NOT_HTTP: Final = "answered with something that is not HTTP."
AMBIGUOUS_END: Final = (
    "answered with a response whose end is ambiguous (its Content-Length or "
    "Transfer-Encoding is invalid), so it was not read."
)
_BARE_LINE_FEED: Final = re.compile(rb"(?<!\r)\n")


class ResponseHead(Struct, frozen=True):
    """Status and header fields of a response, and how its body is delimited."""

    status: int
    headers: HeaderFields
    content_length: int | None  # None if the body is chunked, absent or ends with the connection
    is_chunked: bool
    has_body: bool
    is_persistent: bool  # another request may follow on the connection once the body was read


def find_head_end(received: bytearray, searched: int) -> int:
    """Return the length of the head with its empty line; -1 if it is not complete yet.

    The first `searched` bytes are known not to complete the head.

    Raises:
        MalformedResponseError: the bytes do not start an HTTP/1.x response, or are too many.
    """
    if received[: len(_PREFIX)] != _PREFIX[: len(received)]:
        raise MalformedResponseError(_NOT_HTTP)
    end = received.find(b"\r\n\r\n", max(0, searched - 3))
    stop = len(received) if end < 0 else end
    if _BARE_LINE_FEED.search(received, max(0, searched - 1), stop):
        raise MalformedResponseError(_NOT_HTTP)
    if stop > MAX_HEAD_BYTES:
        raise MalformedResponseError(
            f"answered with header fields of more than {MAX_HEAD_BYTES // 1024} KiB."
        )
    return end + 4 if end >= 0 else -1


def parse_head(head: bytes, method: str) -> ResponseHead:
    """Parse the complete head, without its empty line, of a response to a `method` request.

    Raises:
        MalformedResponseError: it is malformed, or the end of the response would be ambiguous.
    """
    first, *lines = head.split(b"\r\n")
    status_line = _STATUS_LINE.fullmatch(first)
    if status_line is None:
        raise MalformedResponseError(_NOT_HTTP)
    if len(lines) > MAX_FIELDS:
        raise MalformedResponseError(f"answered with more than {MAX_FIELDS} header fields.")
    headers = []
    framing: dict[str, str] = {}
    for line in lines:
        name, value = _decode_field(line)
        headers.append((name, value))
        key = name.lower()
        if key in _FRAMING_FIELDS:
            if key in framing and key != "connection":
                raise MalformedResponseError(AMBIGUOUS_END)
            framing[key] = f"{framing[key]}, {value}" if key in framing else value
    is_old = status_line[1] == b"0"
    return _determine_framing(int(status_line[2]), tuple(headers), framing, method, is_old=is_old)


_FRAMING_FIELDS: Final = frozenset({"content-length", "transfer-encoding", "connection"})


def _decode_field(line: bytes) -> tuple[str, str]:
    try:
        name, value = parse_field(line)
    except MalformedMessageError:
        raise MalformedResponseError(_NOT_HTTP) from None
    try:
        return name.decode("ascii"), value.decode()
    except UnicodeDecodeError:
        return name.decode("ascii"), value.decode("latin-1")


def _determine_framing(
    status: int, headers: HeaderFields, framing: dict[str, str], method: str, *, is_old: bool
) -> ResponseHead:
    """Determine how the body is delimited (RFC 9112, section 6.3); reject ambiguous heads."""
    length_text, coding = framing.get("content-length"), framing.get("transfer-encoding")
    if coding is not None and (length_text is not None or is_old or coding.lower() != "chunked"):
        raise MalformedResponseError(AMBIGUOUS_END)
    content_length = None
    if length_text is not None:
        if not (length_text.isascii() and length_text.isdigit() and len(length_text) <= 15):
            raise MalformedResponseError(AMBIGUOUS_END)
        content_length = int(length_text)
    options = {option.strip().lower() for option in framing.get("connection", "").split(",")}
    is_persistent = not is_old and "close" not in options
    is_chunked = coding is not None
    if method == "HEAD" or status < 200 or status in {204, 304}:
        # A body that a faulty server sends anyway would be read as the next response.
        is_persistent = is_persistent and not is_chunked and not content_length
        return ResponseHead(status, headers, None, False, False, is_persistent)
    is_delimited = is_chunked or content_length is not None
    return ResponseHead(
        status, headers, content_length, is_chunked, True, is_persistent and is_delimited
    )
