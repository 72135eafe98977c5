"""Tests of heads that repeat lines of the latest one: the result differs in nothing but time."""

from __future__ import annotations

import asyncio
import json
import re
from bisect import bisect_right
from itertools import accumulate, pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpgen.runtime.transports.http import latest_head, request_head
from mcpgen.runtime.transports.http.latest_head import MAX_BYTES, LatestHead
from mcpgen.runtime.transports.http.request_head import parse_request
from mcpgen.runtime.transports.http.server import HttpServer
from tests.runtime.transports.http.test_server import http, until
from tests.support.http_server import make_served, modern

HEALTH = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
FOREIGN = HEALTH[:-2] + b"Origin: http://evil.example\r\n\r\n"  # begins like a known head


def call(**arguments: Any) -> bytes:
    return json.dumps(modern("tools/call", {"name": "echo", "arguments": arguments})).encode()


ORDINARY = http(call(a=1))
REQUESTS = [
    ORDINARY,
    http(call(a=2)),  # the same head
    http(call(a=22)),
    http(call(a=1).replace(b"echo", b"fail")),  # a different head
    http(call(a=1)[:-1] + b"]"),
    http(b"%x\r\n%b\r\n0\r\n\r\n" % (len(call(a=1)), call(a=1)), Transfer_Encoding="chunked"),
    http(call(a=1), target="/elsewhere"),
    http(call(a=1), target="http://evil.example/mcp"),
    HEALTH,
    FOREIGN,
]


class Transport(asyncio.Transport):
    """A transport that records what was written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.is_closed = False

    def write(self, data: Any) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class Client:
    """A connection without a socket, so that pieces of data are not joined on the way."""

    def __init__(self, server: HttpServer) -> None:
        server._tend_connections()
        self.transport = Transport()
        self.connection: Any = server._connect()
        self.connection.connection_made(self.transport)

    def send(self, data: bytes) -> None:
        self.connection.data_received(data)

    async def answered(self, count: int) -> bytes:
        """Return all output up to the `count`th response, without `date` fields."""
        transport = self.transport
        await until(lambda: transport.written.count(b"HTTP/1.1 ") >= count)
        return re.sub(rb"date: [^\r]*\r\n", b"", transport.written)


def new_server() -> HttpServer:
    return HttpServer(make_served().app)


async def answer_alone(request: bytes) -> bytes:
    client = Client(new_server())
    client.send(request)
    return await client.answered(1)


async def warm_client() -> Client:
    """Return a client whose usual head the server knows, after three responses."""
    client = Client(new_server())
    for count in (1, 2, 3):
        client.send(ORDINARY)
        await client.answered(count)
    return client


@settings(max_examples=80)
@given(st.lists(st.sampled_from(REQUESTS), min_size=1, max_size=6), st.data())
def test_responses_do_not_depend_on_how_requests_are_split(
    requests: list[bytes], data: st.DataObject
) -> None:
    sent = b"".join(requests)
    ends = list(accumulate(map(len, requests)))
    cuts = data.draw(st.sets(st.sampled_from(ends) | st.integers(1, len(sent))))
    bounds = sorted({0, *cuts, len(sent)})
    waits = data.draw(st.booleans())

    async def compare() -> None:
        expected = [await answer_alone(request) for request in requests]
        server = new_server()
        for _ in range(4):  # in later rounds, more of the heads are known
            client = Client(server)
            for start, end in pairwise(bounds):
                client.send(sent[start:end])
                if waits:
                    await client.answered(bisect_right(ends, end))
            assert await client.answered(len(requests)) == b"".join(expected)

    asyncio.run(compare())


@pytest.mark.parametrize("request_", [ORDINARY, FOREIGN], ids=["a call", "a foreign page"])
def test_a_request_with_a_cached_head_can_arrive_in_two_pieces(request_: bytes) -> None:
    async def scenario() -> None:
        expected = await answer_alone(request_)
        client = Client(new_server())
        known = [HEALTH] * 3 + [request_] * 3
        for count, request in enumerate(known, 1):
            client.send(request)
            before = await client.answered(count)
        for cut in range(1, len(request_)):
            client.send(request_[:cut])
            client.send(request_[cut:])
            after = await client.answered(len(known) + cut)
            assert after == before + expected
            before = after

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "request_",
    [
        http(call(a=7)),
        http(call(a=77)),  # another Content-Length
        http(call(a=7), X_Number="8"),
        http(call(a=77), X_Number="8"),
    ],
    ids=["repeated", "another length", "another number", "both"],
)
def test_only_lines_that_changed_are_parsed(
    monkeypatch: pytest.MonkeyPatch, request_: bytes
) -> None:
    async def scenario() -> None:
        client = Client(new_server())
        before = http(call(a=1), X_Number="7") if b"X-Number" in request_ else ORDINARY
        client.send(before)
        await client.answered(1)
        monkeypatch.setattr(latest_head, "parse_request", None)
        client.send(request_)
        assert b'{\\"a\\": 7' in await client.answered(2)

    asyncio.run(scenario())


@pytest.mark.parametrize("name", [b"X-Number", b"Content-Length"])
def test_the_value_of_one_changing_field_is_all_that_is_parsed(
    monkeypatch: pytest.MonkeyPatch, name: bytes
) -> None:
    head = b"POST /mcp HTTP/1.1\r\nHost: a\r\n%b: %d\r\nAccept: */*"
    heads = LatestHead()
    for number in (7, 8):
        heads.parse(head % (name, number))
    monkeypatch.setattr(heads.__class__, "_parse_lines", None)
    for number in (9, 10, 10, 7):
        parsed = heads.parse(head % (name, number))
        assert parsed.fields[name.lower()] == b"%d" % number
        assert parsed.content_length == (number if name == b"Content-Length" else 0)


@pytest.mark.parametrize(
    "closing",
    [
        http(call(a=1), Connection="close"),
        ORDINARY.replace(b"HTTP/1.1", b"HTTP/1.0", 1),
        b"NONSENSE\r\n\r\n",
    ],
    ids=["Connection: close", "HTTP/1.0", "no request"],
)
def test_a_cached_head_does_not_keep_a_closing_connection_open(closing: bytes) -> None:
    async def scenario() -> None:
        server = new_server()
        for _ in range(4):
            client = Client(server)
            for count, request in enumerate((ORDINARY, ORDINARY, ORDINARY, closing), 1):
                assert not client.transport.is_closed
                client.send(request)
                await client.answered(count)
            await until(lambda client=client: client.transport.is_closed)

    asyncio.run(scenario())


def test_a_long_head_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    head = b"GET / HTTP/1.1\r\nX: "
    for size, is_kept in ((MAX_BYTES, True), (MAX_BYTES + 1, False)):
        heads = LatestHead()
        long = head.ljust(size, b"a")
        heads.parse(long)
        with monkeypatch.context() as patched:
            patched.setattr(latest_head, "parse_request", lambda _: None)
            assert (heads.parse(long) is not None) is is_kept


def test_a_closed_connection_keeps_no_head() -> None:
    async def scenario() -> None:
        client = await warm_client()
        client.connection.connection_lost(None)
        assert client.connection._head._head == b""
        assert client.connection._head._parsed is None

    asyncio.run(scenario())


def test_lines_of_secret_or_foreign_fields_are_not_remembered() -> None:
    head = (
        b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer a-secret\r\n"
        b"X-Api-Key: a-secret\r\nContent-Type: application/json"
    )
    parse_request(head)
    assert b"Host: 127.0.0.1" in request_head._known_lines
    assert not [line for line in request_head._known_lines if b"a-secret" in line]


def test_the_number_and_the_length_of_remembered_lines_are_bounded() -> None:
    parse_request(b"GET / HTTP/1.1\r\nUser-Agent: " + b"a" * 1000)
    for number in range(2 * request_head.MAX_LINES):
        head = b"GET / HTTP/1.1\r\nUser-Agent: %d" % number
        assert parse_request(head).fields == {b"user-agent": b"%d" % number}
    assert len(request_head._known_lines) <= request_head.MAX_LINES
    assert max(map(len, request_head._known_lines)) < 1000
