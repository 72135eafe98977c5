"""Tests of the strict parser of requests: what it accepts, and how it delimits the body."""

from __future__ import annotations

import pytest

from mcpgen.runtime.http_syntax import MalformedMessageError
from mcpgen.runtime.transports.http.request_head import (
    MAX_FIELDS,
    ParsedRequest,
    can_begin_request,
    parse_request,
)


def head_of(*fields: bytes, first: bytes = b"POST /mcp HTTP/1.1") -> ParsedRequest:
    return parse_request(b"\r\n".join([first, *fields]))


def test_a_head_is_parsed() -> None:
    parsed = head_of(b"Host: a", b"X-Y:\t b \xe9 ", first=b"GET /a%20b?c=%20d HTTP/1.1")
    head = parsed.head
    assert (head.method, head.path, head.query) == ("GET", "/a b", "c=%20d")
    assert parsed.fields == {b"host": b"a", b"x-y": b"b \xe9"}
    assert parsed.content_length == 0
    assert parsed.transfer == (False, True, False)


@pytest.mark.parametrize(
    "request_line",
    [
        b"", b"GET", b"GET /", b"GET / HTTP/1.2", b"GET / HTTP/2.0", b"GET / http/1.1",
        b"GET  / HTTP/1.1", b"GET /  HTTP/1.1", b"GET / HTTP/1.1 ", b" GET / HTTP/1.1",
        b"get / HTTP/1.1", b"GET\t/ HTTP/1.1", b"G\xc9T / HTTP/1.1", b"GET /\0 HTTP/1.1",
        b"GET /\r HTTP/1.1", b"GET /\xe9 HTTP/1.1", b"GET mcp HTTP/1.1", b"OPTIONS * HTTP/1.1",
        b"CONNECT a:80 HTTP/1.1", b"GET ftp://a/ HTTP/1.1", b"GETGETGETGETGETGETGET / HTTP/1.1",
    ],
)  # fmt: skip
def test_malformed_request_lines_are_rejected(request_line: bytes) -> None:
    with pytest.raises(MalformedMessageError):
        head_of(first=request_line)


@pytest.mark.parametrize(
    "field",
    [
        b"", b"X", b"X : y", b" X: y", b": y", b"X: a\0", b"X: a\rb", b"X: a\nb", b"X: a\x7f",
        b"X\xe9: y", b"X(: y",
    ],
)  # fmt: skip
def test_malformed_fields_are_rejected(field: bytes) -> None:
    with pytest.raises(MalformedMessageError):
        head_of(b"Host: a", field)


@pytest.mark.parametrize(
    ("target", "path"),
    [(b"http://a/mcp?b", "/mcp"), (b"HTTPS://a", "/"), (b"http://a?b", "/")],
)
def test_an_absolute_target_is_added_to_the_host(target: bytes, path: str) -> None:
    parsed = head_of(b"Host: a", first=b"GET %b HTTP/1.1" % target)
    assert parsed.head.path == path
    assert parsed.fields == {b"host": b"a, " + target}


@pytest.mark.parametrize(
    ("fields", "length", "is_chunked"),
    [
        ([], 0, False),
        ([b"Content-Length: 0"], 0, False),
        ([b"content-length: 007"], 7, False),
        ([b"Transfer-Encoding: Chunked"], 0, True),
    ],
)
def test_the_body_length_is_determined_by_the_fields(
    fields: list[bytes], length: int, is_chunked: bool
) -> None:
    parsed = head_of(*fields)
    assert (parsed.content_length, parsed.transfer.is_chunked) == (length, is_chunked)


@pytest.mark.parametrize(
    "fields",
    [
        [b"Content-Length: 3", b"Transfer-Encoding: chunked"],
        [b"Transfer-Encoding: chunked", b"Content-Length: 3"],
        [b"Content-Length: 3", b"Content-Length: 3"],
        [b"Content-Length: 3, 3"],
        [b"Content-Length:"],
        [b"Content-Length: +3"],
        [b"Content-Length: -3"],
        [b"Content-Length: 1_0"],
        [b"Content-Length: 0x3"],
        [b"Content-Length: 1000000000000000"],
        [b"Transfer-Encoding: gzip, chunked"],
        [b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"],
        [b"Transfer-Encoding: identity"],
        [b"Transfer-Encoding:"],
    ],
)
def test_ambiguous_framing_is_rejected(fields: list[bytes]) -> None:
    with pytest.raises(MalformedMessageError):
        head_of(*fields)


def test_http_1_0_allows_neither_chunks_nor_persistent_connections() -> None:
    old = b"POST /mcp HTTP/1.0"
    assert not head_of(b"Connection: keep-alive", first=old).transfer.is_persistent
    with pytest.raises(MalformedMessageError):
        head_of(b"Transfer-Encoding: chunked", first=old)


@pytest.mark.parametrize(
    ("fields", "is_persistent"),
    [
        ([b"Connection: keep-alive"], True),
        ([b"Connection: Close"], False),
        ([b"Connection: a, close"], False),
        ([b"Connection: close", b"Connection: a"], False),
    ],
)
def test_the_connection_field_determines_persistence(
    fields: list[bytes], is_persistent: bool
) -> None:
    assert head_of(*fields).transfer.is_persistent is is_persistent


def test_an_upgrade_request_with_a_body_is_rejected() -> None:
    upgrade = [b"Connection: a, Upgrade", b"Upgrade: h2c"]
    assert head_of(*upgrade).content_length == 0
    with pytest.raises(MalformedMessageError):
        head_of(*upgrade, b"Content-Length: 1")
    with pytest.raises(MalformedMessageError):
        head_of(*upgrade, b"Transfer-Encoding: chunked")


def test_the_number_of_fields_is_limited() -> None:
    head_of(*[b"X: y"] * MAX_FIELDS)
    with pytest.raises(MalformedMessageError):
        head_of(*[b"X: y"] * (MAX_FIELDS + 1))


def test_an_invalid_request_start_is_detected_before_the_head_is_complete() -> None:
    head = b"GET / HTTP/1.1\r\nHost: a\r\n\r"
    for size in range(len(head) + 1):
        assert can_begin_request(bytearray(head[:size]), max(0, size - 1))
    for start in (b"\x16\x03", b"get", b" G", b"\n", b"\rG", b"G\0", b"GET / HTTP/1.1\n"):
        assert not can_begin_request(bytearray(start), 0)
        assert not can_begin_request(bytearray(start), len(start) - 1)
