"""Tests of HTTP requests as bytes, and of reading responses to them."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from mcpgen.factory.wire.connection import ConnectionLostError
from mcpgen.factory.wire.raw_http import RawHttp, format_request, read_body, read_status


def exchange(response: bytes) -> bytes:
    """Return what is read from a server that responds and waits for the client to disconnect."""

    async def talk() -> bytes:
        has_ended = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(response)
            with contextlib.suppress(ConnectionError):
                await reader.read()
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
            has_ended.set()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as listener:
            port = listener.sockets[0].getsockname()[1]
            raw = await RawHttp.open(f"http://127.0.0.1:{port}/mcp")
            await raw.send(b"GET / HTTP/1.1\r\n\r\n")
            received = await raw.read_response(10)
            raw.abort()
            await has_ended.wait()
            return received

    return asyncio.run(talk())


def test_a_response_is_read_to_its_declared_end_while_the_connection_stays_open() -> None:
    received = exchange(b"HTTP/1.1 400 Bad\r\nContent-Length: 2\r\n\r\nno")
    assert (read_status(received), read_body(received)) == (400, b"no")
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
    assert read_status(exchange(chunked)) == 200
    assert read_status(exchange(b"HTTP/1.1 202 Accepted\r\n\r\n")) == 202


def test_what_is_no_http_has_no_status() -> None:
    assert read_status(b"") == read_status(b"SSH-2.0\r\n") == 0


def test_a_request_has_host_path_and_query() -> None:
    head = format_request("POST", "https://user@example.com:8443/mcp?a=1", {"X": "y"})
    assert head == b"POST /mcp?a=1 HTTP/1.1\r\nHost: example.com:8443\r\nX: y\r\n\r\n"


def test_a_refused_connection_is_reported() -> None:
    with pytest.raises(ConnectionLostError, match=r"cannot connect to 127\.0\.0\.1:1"):
        asyncio.run(RawHttp.open("http://127.0.0.1:1/mcp"))
