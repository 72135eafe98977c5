"""Tests of the strict parsers of responses: what they accept, and how they delimit the body."""

from __future__ import annotations

import pytest

from mcpgen.runtime.http_syntax import (
    MAX_CHUNK_LINE_BYTES,
    MAX_TRAILER_BYTES,
    ChunkedDecoder,
    LongLineError,
    MalformedMessageError,
)
from mcpgen.runtime.upstream.errors import MalformedResponseError
from mcpgen.runtime.upstream.http.response_head import (
    MAX_FIELDS,
    MAX_HEAD_BYTES,
    ResponseHead,
    find_head_end,
    parse_head,
)


def head_of(*fields: bytes, first: bytes = b"HTTP/1.1 200 OK", method: str = "GET") -> ResponseHead:
    received = bytearray(b"\r\n".join([first, *fields, b"", b""]))
    assert find_head_end(received, 0) == len(received)
    return parse_head(bytes(received[:-4]), method)


@pytest.mark.parametrize("status_line", [b"HTTP/1.1 200 OK", b"HTTP/1.1 200 ", b"HTTP/1.1 200"])
def test_a_missing_reason_phrase_is_accepted(status_line: bytes) -> None:
    assert head_of(first=status_line).status == 200


@pytest.mark.parametrize(
    "status_line",
    [
        b"HTTP/1.2 200 OK", b"HTTP/1.1  200 OK", b"HTTP/1.1 20 OK", b"HTTP/1.1 2000 OK",
        b"HTTP/1.1 099 OK", b"HTTP/1.1 +20 OK", b"HTTP/1.1\t200 OK", b"HTTP/1.1 200 O\0K",
        b"HTTP/1.1 200 O\rK", "HTTP/1.1 ٢٠٠ OK".encode(), b"HTTP/1. 200 OK",
    ],
)  # fmt: skip
def test_a_malformed_status_line_is_rejected(status_line: bytes) -> None:
    with pytest.raises(MalformedResponseError, match="not HTTP"):
        head_of(first=status_line)


@pytest.mark.parametrize(
    "field",
    [
        b"X : y", b" X: y", b"\tfolded", b": y", b"X", b"X: \0", b"X: a\rb", b"X: \x7f",
        b"X\xc3\xa9: y", b"Content-Length : 3",
    ],
)  # fmt: skip
def test_a_malformed_field_is_rejected(field: bytes) -> None:
    with pytest.raises(MalformedResponseError, match="not HTTP"):
        head_of(b"X: y", field)


def test_field_values_are_decoded_and_stripped() -> None:
    head = head_of(b"A: \t x y \t", b"B:", "C: é€".encode(), b"D: \xe9")
    assert head.headers == (("A", "x y"), ("B", ""), ("C", "é€"), ("D", "é"))


@pytest.mark.parametrize(
    ("fields", "length", "is_chunked", "is_persistent"),
    [
        ([b"Content-Length: 3"], 3, False, True),
        ([b"Content-Length: 0"], 0, False, True),
        ([b"Transfer-Encoding: Chunked"], None, True, True),
        ([], None, False, False),  # ends with the connection
        ([b"Content-Length: 3", b"Connection: Close"], 3, False, False),
        ([b"Content-Length: 3", b"Connection: x", b"Connection: y, close"], 3, False, False),
        ([b"Content-Length: 3", b"Connection: keep-alive"], 3, False, True),
    ],
)
def test_the_body_length_is_determined_by_the_fields(
    fields: list[bytes], length: int | None, is_chunked: bool, is_persistent: bool
) -> None:
    head = head_of(*fields)
    assert head.has_body
    assert (head.content_length, head.is_chunked) == (length, is_chunked)
    assert head.is_persistent == is_persistent


@pytest.mark.parametrize(
    "fields",
    [
        [b"Content-Length: 3", b"Transfer-Encoding: chunked"],
        [b"Transfer-Encoding: chunked", b"Content-Length: 3"],
        [b"Content-Length: 3", b"Content-Length: 4"],
        [b"Content-Length: 3", b"content-length: 3"],
        [b"Content-Length: 3, 3"],
        [b"Content-Length: +3"],
        [b"Content-Length: -3"],
        [b"Content-Length: 0x3"],
        [b"Content-Length: 3.0"],
        [b"Content-Length: "],
        ["Content-Length: ٣".encode()],
        [b"Content-Length: 1234567890123456"],
        [b"Transfer-Encoding: gzip, chunked"],
        [b"Transfer-Encoding: chunked, chunked"],
        [b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"],
        [b"Transfer-Encoding: identity"],
        [b"Transfer-Encoding: chunked;q=1"],
        [b"Transfer-Encoding: "],
    ],
)
def test_ambiguous_framing_is_rejected(fields: list[bytes]) -> None:
    with pytest.raises(MalformedResponseError, match="ambiguous"):
        head_of(*fields)


def test_http_1_0_allows_neither_chunks_nor_persistent_connections() -> None:
    old = b"HTTP/1.0 200 OK"
    assert not head_of(b"Content-Length: 3", b"Connection: keep-alive", first=old).is_persistent
    with pytest.raises(MalformedResponseError, match="ambiguous"):
        head_of(b"Transfer-Encoding: chunked", first=old)


@pytest.mark.parametrize(
    ("first", "method"),
    [
        (b"HTTP/1.1 200 OK", "HEAD"),
        (b"HTTP/1.1 103 Early Hints", "GET"),
        (b"HTTP/1.1 204 No Content", "GET"),
        (b"HTTP/1.1 304 Not Modified", "GET"),
    ],
)
def test_a_bodiless_response_that_announces_a_body_closes_the_connection(
    first: bytes, method: str
) -> None:
    assert head_of(first=first, method=method).is_persistent
    assert head_of(b"Content-Length: 0", first=first, method=method).is_persistent
    for field in (b"Content-Length: 3", b"Transfer-Encoding: chunked"):
        head = head_of(field, first=first, method=method)
        assert (head.has_body, head.is_persistent) == (False, False)


@pytest.mark.parametrize(
    "received",
    [
        b"SSH-2.0", b"<html>", b"\r\nHTTP/1.1 200 OK\r\n", b" HTTP/1.1", b"http/1.1 200", b"HTTP/2",
        b"HTTP/1.1 200 OK\n", b"HTTP/1.1 200 OK\r\nX: y\nZ", b"HTTP/1.1 200 OK\r\n\nX",
    ],
)  # fmt: skip
def test_data_that_is_not_http_is_rejected_early(received: bytes) -> None:
    with pytest.raises(MalformedResponseError, match="not HTTP"):
        find_head_end(bytearray(received), 0)


def test_the_end_of_a_head_is_found_in_pieces_of_any_size() -> None:
    whole = b"HTTP/1.1 200 OK\r\nX: y\r\n\r\n"
    for end in range(len(whole)):
        assert find_head_end(bytearray(whole[:end]), max(0, end - 1)) == -1
    for searched in range(len(whole)):
        assert find_head_end(bytearray(whole + b"\nbody"), searched) == len(whole)


def test_a_bare_line_feed_at_the_start_of_a_piece_is_rejected() -> None:
    with pytest.raises(MalformedResponseError):
        find_head_end(bytearray(b"HTTP/1.1 200 OK\n"), 15)
    assert find_head_end(bytearray(b"HTTP/1.1 200 OK\r\n"), 16) == -1


def test_the_size_of_a_head_is_bounded() -> None:
    start = b"HTTP/1.1 200 OK\r\nX: "
    assert find_head_end(bytearray(start + b"y" * (MAX_HEAD_BYTES - len(start))), 0) == -1
    with pytest.raises(MalformedResponseError, match="64 KiB"):
        find_head_end(bytearray(start + b"y" * MAX_HEAD_BYTES), 0)
    head_of(*[b"X: y"] * MAX_FIELDS)
    with pytest.raises(MalformedResponseError, match="256 header fields"):
        head_of(*[b"X: y"] * (MAX_FIELDS + 1))


def decode(data: bytes, piece: int) -> tuple[bytes, bytes, bool]:
    """Decode chunked data that arrives in pieces; return content, rest and whether it ended."""
    decoder, received, content = ChunkedDecoder(), bytearray(), b""
    for start in range(0, len(data), piece):
        received += data[start : start + piece]
        before = -1
        while before != len(received) and not decoder.is_complete:
            before = len(received)
            content += decoder.feed(received, 64)
    return content, bytes(received), decoder.is_complete


@pytest.mark.parametrize("piece", [1, 2, 3, 7, 1000])
def test_chunks_are_joined(piece: int) -> None:
    data = b'3\r\nabc\r\nA ; x="y"\r\n0123456789\r\n00000\r\nX: y\r\nZ:\r\n\r\n'
    assert decode(data, piece) == (b"abc0123456789", b"", True)


def test_bytes_after_the_last_chunk_are_returned() -> None:
    assert decode(b"1\r\na\r\n0\r\n\r\nHTTP/1.1", 1000) == (b"a", b"HTTP/1.1", True)


@pytest.mark.parametrize("piece", [1, 1000])
@pytest.mark.parametrize(
    "data",
    [
        b"zz\r\n", b"0x3\r\nabc\r\n", b"-1\r\n", b"+1\r\n", b" 1\r\n", b"1 \r\n", b"\r\n",
        b"1_0\r\n",
        b";x\r\n", b"3\nabc\r\n", b"3\r\nabc\n", b"3\r\nabcX\r\n", b"3\r\nabcd\r\n0\r\n\r\n",
        b"3;\rx\r\nabc\r\n", b"3;\0\r\nabc\r\n", b"1000000000000000\r\n", b"0\r\nbad\r\n",
        b"0\r\n X: y\r\n", b"0\r\nX: y\n\r\n", "٣\r\nabc\r\n".encode(),
    ],
)  # fmt: skip
def test_malformed_chunks_are_rejected(data: bytes, piece: int) -> None:
    with pytest.raises(MalformedMessageError):
        decode(data, piece)


@pytest.mark.parametrize(
    "data",
    [
        b"1;" + b"x" * MAX_CHUNK_LINE_BYTES,
        b"1;" + b"x" * MAX_CHUNK_LINE_BYTES + b"\r\n",
        b"0\r\nX: " + b"y" * MAX_TRAILER_BYTES,
        b"0\r\nX: " + b"y" * MAX_TRAILER_BYTES + b"\r\n",
        b"0\r\n" + b"X: y\r\n" * (MAX_TRAILER_BYTES // 6 + 1),
    ],
)
def test_chunk_extensions_and_trailers_are_bounded(data: bytes) -> None:
    for piece in (1000, 100_000):
        with pytest.raises(LongLineError):
            decode(data, piece)
