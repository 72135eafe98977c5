"""Tests that no call receives the response of another call, whatever an API sends and when."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.support.attack.api import Exchange, HostileApi, response
from tests.support.attack.documents import api_document, operation
from tests.support.attack.server import (
    BYSTANDER_ADDRESS,
    AttackedServer,
    Bystander,
    HttpClient,
    generate,
)

PATH = "/things"
STALE = response({"id": "stale"})
QUERY = {"name": "id", "in": "query", "required": True, "schema": {"type": "string"}}
SCHEMA = {"type": "object", "properties": {"id": {"type": "string"}}}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    paths = {
        PATH: {
            "get": operation("getThing", schema=SCHEMA, parameters=[QUERY]),
            "head": operation("headThing", parameters=[QUERY]),
            "post": operation("postThing", schema=SCHEMA, parameters=[QUERY]),
        }
    }
    return generate(tmp_path_factory.mktemp("stale"), api_document(paths))


def identifier(exchange: Exchange) -> str:
    return exchange.target.partition("id=")[2]


def own_response(exchange: Exchange) -> bytes:
    return response({"id": identifier(exchange)})


def call(client: HttpClient, tool: str, asked: str) -> str:
    """Call a tool; return the `id` in its result, or "" for an error."""
    result: dict[str, Any] = client.call_tool(tool, {"id": asked})["result"]
    if result.get("isError"):
        assert "stale" not in json.dumps(result)
        return ""
    return str(result["structuredContent"]["id"])


async def in_the_same_segment(exchange: Exchange) -> None:
    await exchange.send(own_response(exchange) + STALE)


async def part_in_the_same_segment(exchange: Exchange) -> None:
    await exchange.send(own_response(exchange) + STALE[:1])


async def behind_chunks(exchange: Exchange) -> None:
    body = json.dumps({"id": identifier(exchange)}).encode()
    head = (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    await exchange.send(head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) + STALE)


@pytest.mark.parametrize(
    "behaviour", [in_the_same_segment, part_in_the_same_segment, behind_chunks]
)
def test_bytes_after_a_response_are_not_part_of_a_later_result(
    server: AttackedServer, api: HostileApi, behaviour: Any
) -> None:
    api.on(PATH, behaviour)
    with Bystander(server) as bystander, HttpClient(server.port) as client:
        for asked in "abcdef":
            assert call(client, "get_thing", asked) == asked
        bystander.wait_until_served()
    bystander.check()


@pytest.mark.parametrize("unsolicited", [STALE, STALE[:1], b"\r\n", STALE * 1000])
def test_bytes_that_arrive_on_an_idle_connection_are_discarded(
    server: AttackedServer, api: HostileApi, unsolicited: bytes
) -> None:
    """No other request may be under way when the bytes arrive: they would be its response."""
    is_sent = threading.Event()

    async def answer(exchange: Exchange) -> None:
        await exchange.send(own_response(exchange))
        await asyncio.sleep(0.02)
        with contextlib.suppress(ConnectionError):
            await exchange.send(unsolicited)
        is_sent.set()

    api.on(PATH, answer)
    with HttpClient(server.port) as client, HttpClient(server.port, BYSTANDER_ADDRESS) as second:
        for asked in "abcdef":
            is_sent.clear()
            assert call(client, "get_thing", asked) == asked
            assert is_sent.wait(10)
            assert call(second, "get_healthy", f"second-{asked}") == f"second-{asked}"
            assert call(client, "get_healthy", asked) == asked
    with Bystander(server) as bystander:
        bystander.wait_until_served()
    bystander.check()


def test_late_bytes_of_an_earlier_response_do_not_fail_a_later_call(
    server: AttackedServer, api: HostileApi
) -> None:
    """The bytes arrive after the next request was sent, when the connection had looked clean."""
    asked: list[str] = []

    async def answer(exchange: Exchange) -> None:
        asked.append(identifier(exchange))
        late = b'"}\r\n\r\n' if asked == ["a", "b"] else b""
        await exchange.send(late + own_response(exchange))

    api.on(PATH, answer)
    with Bystander(server) as bystander, HttpClient(server.port) as client:
        for name in "abc":
            assert call(client, "get_thing", name) == name
        bystander.wait_until_served()
    bystander.check()
    assert asked == ["a", "b", "b", "c"]


@pytest.mark.parametrize(
    "first",
    [
        b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\nX: y\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n",
    ],
)
def test_a_connection_with_ambiguous_framing_is_not_reused(
    server: AttackedServer, api: HostileApi, first: bytes
) -> None:
    used_again = []

    async def doubtful(exchange: Exchange) -> None:
        await exchange.send(first)
        with contextlib.suppress(asyncio.IncompleteReadError):
            used_again.append(await exchange.reader.readuntil(b"\r\n\r\n"))
        raise ConnectionError

    api.on(PATH, doubtful)
    with Bystander(server) as bystander, HttpClient(server.port) as client:
        for asked in "ab":
            client.call_tool("post_thing", {"id": asked})
        bystander.wait_until_served()
    bystander.check()
    assert used_again == []


def test_a_late_body_of_a_head_response_is_discarded(
    server: AttackedServer, api: HostileApi
) -> None:
    async def answer(exchange: Exchange) -> None:
        if exchange.method == "HEAD":
            await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(STALE))
        else:
            await exchange.send(STALE)

    api.on(PATH, answer)
    connections = api.connections
    with Bystander(server) as bystander, HttpClient(server.port) as client:
        client.call_tool("head_thing", {"id": "a"})
        client.call_tool("head_thing", {"id": "b"})
        bystander.wait_until_served()
    bystander.check()
    assert api.connections >= connections + 2


def test_connections_with_well_framed_responses_are_reused(
    server: AttackedServer, api: HostileApi
) -> None:
    async def answer(exchange: Exchange) -> None:
        await exchange.send(own_response(exchange))

    api.on(PATH, answer)
    connections = api.connections
    with HttpClient(server.port) as client:
        for number in range(20):
            assert call(client, "get_thing", f"{number}") == f"{number}"
    assert api.connections <= connections + 1
