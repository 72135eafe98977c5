"""Properties of the request head parser: it accepts nothing that llhttp or h11 read differently.

Where two parsers disagree on the end of a request, a proxy and the server behind it can be made to
take a part of one request for another one (RFC 9112, section 11.2).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import h11
import httptools
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from mcpgen.runtime.http_syntax import MalformedMessageError
from mcpgen.runtime.transports.http.request_head import ParsedRequest, join_fields, parse_request

EXAMPLES = 500
LONGEST_BODY = 64
REQUEST_LINES = [b"POST /mcp HTTP/1.1", b"GET /a?b=c HTTP/1.1", b"POST http://a/mcp HTTP/1.1"]
FIELDS = [
    b"Content-Length: 3",
    b"Content-Length: 0",
    b"content-length: 11",
    b"Content-Length: 3, 3",
    b"Transfer-Encoding: chunked",
    b"transfer-encoding: Chunked",
    b"Transfer-Encoding: gzip, chunked",
    b"Connection: close",
    b"Connection: keep-alive, Upgrade",
    b"Upgrade: h2c",
    b"X-Long: a b\tc",
    b"X-Empty:",
    b"Accept: application/json",
]
bytes_to_insert = st.one_of(
    st.sampled_from(
        [b" ", b"\t", b"\r", b"\n", b"\r\n", b"\0", b":", b",", b"0", b"\x0b", b"\x85"]
    ),
    st.binary(min_size=1, max_size=2),
)


@st.composite
def heads(draw: st.DrawFn) -> bytes:
    """Draw a head with any of the fields, and up to two changes at any position."""
    lines = [draw(st.sampled_from(REQUEST_LINES)), b"Host: a"]
    lines += draw(st.lists(st.sampled_from(FIELDS), max_size=4))
    head = b"\r\n".join(lines)
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(head)))
        removed = draw(st.integers(0, 2))
        head = head[:at] + draw(bytes_to_insert) + head[at + removed :]
    return head


@dataclass
class Reading:
    """A request as read by a parser: the fields of its head, its body, and its completeness."""

    method: bytes = b""
    target: bytes = b""
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytes = b""
    is_complete: bool = False

    # The callbacks of httptools.
    def on_url(self, url: bytes) -> None:
        self.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value.strip(b" \t")))

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self.is_complete = True


# Most random changes make a head malformed, which other tests are about.
REJECTING_MOST_HEADS = settings(
    max_examples=EXAMPLES, suppress_health_check=[HealthCheck.filter_too_much]
)


@given(heads())
@example(b"POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 3")
@example(b"POST /mcp HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked")
@example(b"POST http://Aa/mcp HTTP/1.1\r\nHost: a")
@REJECTING_MOST_HEADS
def test_llhttp_parses_every_accepted_request_identically(head: bytes) -> None:
    parsed, message = complete_message(head)
    assume(parsed.head.method in {"GET", "POST"})  # llhttp knows a list; ours answers 405
    reading = Reading()
    parser = httptools.HttpRequestParser(reading)
    try:
        parser.feed_data(message[:-1])
        assert not reading.is_complete
        parser.feed_data(message[-1:])
    except httptools.HttpParserUpgrade:  # llhttp stops there; the request has no body
        assert b"upgrade" in parsed.fields
    reading.method = parser.get_method()
    assert_same(parsed, reading)


@given(heads())
@example(b"POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 3")
@example(b"POST /mcp HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked")
@REJECTING_MOST_HEADS
def test_h11_parses_every_accepted_request_identically(head: bytes) -> None:
    parsed, message = complete_message(head)
    host = parsed.fields.get(b"host", b"")
    assume(host in (b"a", b"a, http://a/mcp"))  # the Host header is checked elsewhere
    reading = Reading()
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(message)
    while not reading.is_complete:
        event = connection.next_event()
        assert event is not h11.NEED_DATA
        match event:
            case h11.Request():
                reading.method, reading.target = event.method, event.target
                reading.headers = list(event.headers)
            case h11.Data():
                reading.body += bytes(event.data)
            case h11.EndOfMessage():
                reading.is_complete = True
    assert connection.trailing_data[0] == b""
    assert_same(parsed, reading)


def complete_message(head: bytes) -> tuple[ParsedRequest, bytes]:
    """Parse the head with our parser; return the result, and a whole message with that head."""
    try:
        parsed = parse_request(head)
    except MalformedMessageError:
        assume(False)
    assume(b"\r\n\r\n" not in head and parsed.content_length <= LONGEST_BODY)
    return parsed, head + b"\r\n\r\n" + encode_body(parsed)


def encode_body(parsed: ParsedRequest) -> bytes:
    if parsed.transfer.is_chunked:
        return b"5\r\nGET /\r\n0\r\n\r\n"
    return body_of(parsed)


def body_of(parsed: ParsedRequest) -> bytes:
    return b"GET /" if parsed.transfer.is_chunked else b"G" * parsed.content_length


def assert_same(parsed: ParsedRequest, reading: Reading) -> None:
    headers = [(name, value.lower()) for name, value in reading.headers]  # h11 does for codings
    if not reading.target.startswith(b"/"):
        headers.append((b"host", reading.target.lower()))
    fields = {name: value.lower() for name, value in parsed.fields.items()}
    assert reading.is_complete
    assert reading.method == parsed.head.method.encode()
    assert join_fields(headers) == fields
    assert reading.body == body_of(parsed)
