"""Properties of the head parser: reusing the latest head gives the same result as a new parse.

Requests on one connection share most lines: heads here are derived from the one before by changes
of lines and of bytes, so that a line of each kind takes the place of one of each other kind.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import example, given, settings
from hypothesis import strategies as st

from mcpgen.runtime.http_syntax import MalformedMessageError
from mcpgen.runtime.transports.http.latest_head import MAX_BYTES, LatestHead
from mcpgen.runtime.transports.http.request_head import ParsedRequest, parse_request

REQUEST_LINES = [
    b"POST /mcp HTTP/1.1",
    b"POST /other?a=b HTTP/1.1",
    b"POST http://a/mcp HTTP/1.1",
    b"GET /mcp HTTP/1.1",
    b"POST /mcp HTTP/1.0",
    b"POST /mcp HTTP/1.1\n",
]
LINES = [
    b"Host: a",
    b"host: b",
    b"Content-Length: 3",
    b"Content-Length: 11",
    b"content-length: 3",
    b"Content-Length: 3, 3",
    b"Content-Length: +3",
    b"Content-Length : 3",
    b"Content-Length:",
    b"Transfer-Encoding: chunked",
    b"Transfer-Encoding: gzip",
    b"Connection: close",
    b"Connection: keep-alive",
    b"Connection: upgrade",
    b"Upgrade: h2c",
    b"Upgrade: websocket",
    b"Expect: 100-continue",
    b"Expect: other",
    b"Content-Type: application/json",
    b"Content-Type: text/plain",
    b"Accept: application/json, text/event-stream",
    b"Accept: text/html",
    b"MCP-Protocol-Version: 2026-07-28",
    b"MCP-Protocol-Version: 2025-11-25",
    b"Mcp-Method: tools/call",
    b"Mcp-Method: tools/list",
    b"Mcp-Name: echo",
    b"Mcp-Name: other",
    b"Mcp-Param-Place: 1",
    b"Mcp-Param-Place: 2",
    b"Authorization: Bearer a",
    b"Authorization: Bearer b",
    b"X-Number: 1",
    b"X-Number: 2",
    b"x-number: 3",
    b"X-Number:4 ",
    b"X-Number: 1\r",
    b"X-Number: 1\n",
    b"X-Number: 1\nContent-Length: 3",
    b" folded",
    b"\tfolded",
    b"",
    b": 1",
    b"X-\xe9: 1",
    b"X-Empty:",
]
lines_to_add = st.sampled_from(LINES)


@dataclass(frozen=True)
class Change:
    """A change of a head; `at` counts lines or bytes, modulo their number."""

    kind: str  # "replace", "insert", "remove", "first", "byte"
    at: int
    line: bytes

    def apply(self, head: bytes) -> bytes:
        """Return the changed head."""
        if self.kind == "byte":
            at = self.at % (len(head) + 1)
            return head[:at] + self.line[:1] + head[at + 1 :]
        first, *lines = head.split(b"\r\n")
        at = self.at % (len(lines) + 1)
        match self.kind:
            case "first":
                first = REQUEST_LINES[self.at % len(REQUEST_LINES)]
            case "insert":
                lines.insert(at, self.line)
            case "replace":
                lines[at : at + 1] = [self.line]
            case "remove":
                del lines[at : at + 1]
        return b"\r\n".join((first, *lines))


kinds = st.sampled_from(["replace"] * 4 + ["insert", "remove", "first", "byte"])
changes = st.builds(Change, kinds, st.integers(0, 400), lines_to_add)
first_heads = st.lists(lines_to_add, max_size=8).map(
    lambda lines: b"\r\n".join((REQUEST_LINES[0], *lines))
)
rounds = st.lists(st.lists(changes, max_size=2), min_size=1, max_size=6)
ORDINARY = b"\r\n".join(
    (
        REQUEST_LINES[0],
        b"Host: a",
        b"Content-Type: application/json",
        b"Accept: application/json, text/event-stream",
        b"Mcp-Method: tools/call",
        b"Mcp-Name: echo",
        b"X-Number: 1",
        b"Content-Length: 3",
    )
)

BOTH = [Change("replace", 0, b"Host: b"), Change("replace", 5, b"X-Number: 2")]


@given(first_heads | st.just(ORDINARY), rounds)
@example(ORDINARY, [[Change("replace", 6, b"Content-Length: 4")]])
@example(ORDINARY, [[Change("replace", 5, b"X-Number: 2")], [Change("replace", 5, b"Host: b")]])
@example(ORDINARY, [[Change("replace", 5, b"Transfer-Encoding: chunked")]])
@example(ORDINARY, [[Change("replace", 6, b"content-length: 3")]])
@example(ORDINARY, [[Change("replace", 4, b"Mcp-Name: other")]])
@example(ORDINARY + b"\r\nX-Number: 1", [[Change("replace", 6, b"X-Number: 2")]])
@example(ORDINARY, [[Change("first", 3, b"")], [Change("first", 1, b"")]])
@example(ORDINARY, [BOTH, [Change("replace", 0, b"Host: bc")]])
@settings(max_examples=1000)
def test_a_changed_head_is_parsed_as_a_new_one(head: bytes, rounds: list[list[Change]]) -> None:
    heads = LatestHead()
    assert outcome(heads.parse, head) == outcome(parse_request, head)
    for changed in rounds:
        previous = head
        for change in changed:
            head = change.apply(head)
        assert outcome(heads.parse, head) == outcome(parse_request, head)
        if outcome(parse_request, head) is None:  # a connection would end here
            head = previous


NAMES = [b"X-Number", b"x-number", b"Content-Length", b"Host", b"Mcp-Name", b"Transfer-Encoding"]
VALUES = [
    *(b" 1", b" 2", b" 11", b"", b"  3\t", b" a b", b"\t", b" \xe9", b" \x7f", b" \0", b" :"),
    *(b" 1\r", b" 1\n", b" 1\r\n", b"\r\n", b" 1\r\n\r\n", b" 1\n\r\n1", b"\r\n 1"),
    *(b" 1\r\nX-Number: 5", b" 1\r\nContent-Length: 5", b" 1\r\nX-Other", b" " + b"1" * MAX_BYTES),
]
BESIDE = [b"", b"Host: a\r\nAccept: */*", b"X-Number-2: 1", b"x-number: 1", b"Content-Length: 3"]


@given(
    st.sampled_from(NAMES),
    st.tuples(st.sampled_from(BESIDE), st.sampled_from(BESIDE)),
    st.lists(st.sampled_from(VALUES) | st.binary(max_size=4), min_size=3, max_size=8),
    st.lists(st.tuples(st.integers(2, 8), changes), max_size=2),
)
@example(b"X-Number", (b"Host: a", b""), [b" 1", b" 2", b" 3"], [])
@example(b"X-Number", (b"", b"Host: a"), [b" 1", b" 2", b" 33"], [])
@example(b"X-Number", (b"", b""), [b" 1", b" 2", b" 3", b""], [])
@example(b"Content-Length", (b"", b"Host: a"), [b" 1", b" 2", b" 33", b" x"], [])
@example(b"X-Number", (b"Host: a", b"Host: a"), [b" 1", b" 2", b" 3\r\nX-Number: 4"], [])
@example(
    b"X-Number", (b"", b"Host: a"), [b" 1", b" 2", b" 3"], [(2, Change("replace", 2, b"Host: b"))]
)
@settings(max_examples=1500)
def test_values_of_one_field_are_parsed_as_in_new_heads(
    name: bytes,
    beside: tuple[bytes, bytes],
    values: list[bytes],
    others: list[tuple[int, Change]],
) -> None:
    heads = LatestHead()
    before, after = beside
    for number, value in enumerate(values):
        lines = (REQUEST_LINES[0], before, name + b":" + value, after)
        head = b"\r\n".join(filter(None, lines))
        for at, change in others:
            head = change.apply(head) if number >= at else head
        assert outcome(heads.parse, head) == outcome(parse_request, head)


def outcome(parse: object, head: bytes) -> object:
    """Return everything that a parser reads from a head, or None if it rejects the head."""
    assert callable(parse)
    try:
        parsed: ParsedRequest = parse(head)
    except MalformedMessageError:
        return None
    read = parsed.head
    return (
        (parsed.fields, parsed.content_length, parsed.transfer),
        (read.method, read.path, read.query, read.repeated),
        (read.has_json, read.takes_json_and_events),
        routing_of(parsed),
    )


def routing_of(parsed: ParsedRequest) -> dict[bytes, bytes]:
    """Return the routing headers that are compared with a body, by name."""
    values = parsed.head.routing._values
    assert len(values) == len(parsed.head.routing._headers) - repeated_lines(parsed)
    return {name: value for name, value in values.items() if name.startswith(b"mcp-")}


def repeated_lines(parsed: ParsedRequest) -> int:
    headers = parsed.head.routing._headers
    return len(headers) - len({name for name, _ in headers})
