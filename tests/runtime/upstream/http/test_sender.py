"""Tests of the HTTP client against a loopback server that writes raw bytes."""

from __future__ import annotations

import asyncio
import gzip
import subprocess
import sys
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.upstream.errors import (
    ConnectError,
    DisconnectedError,
    MalformedResponseError,
    ResponseTooLargeError,
)
from mcpgen.runtime.upstream.http.messages import ClientCertificate, HttpRequest, HttpResponse
from mcpgen.runtime.upstream.http.sender import HttpSender

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


@dataclass
class RawServer:
    """A server that reads one request, records its bytes, and writes the given bytes."""

    answer: Answer
    received: list[bytes] = field(default_factory=list)
    closed: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = 0
            for line in head.split(b"\r\n"):
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            self.received.append(head + await reader.readexactly(length))
            await self.answer(writer)
            await writer.drain()
            await reader.read()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            self.closed.set()


def raw(content: bytes, *, then_close: bool = False) -> Answer:
    async def write(writer: asyncio.StreamWriter) -> None:
        writer.write(content)
        await writer.drain()
        if then_close:
            writer.close()

    return write


def response(body: bytes = b"", *headers: str, status: str = "200 OK") -> bytes:
    fields = "".join(f"{header}\r\n" for header in headers)
    return f"HTTP/1.1 {status}\r\n{fields}Content-Length: {len(body)}\r\n\r\n".encode() + body


def exchange(
    run: Any, answer: Answer, path: str = "/", **request: Any
) -> tuple[HttpResponse, RawServer]:
    async def over_loopback() -> tuple[HttpResponse, RawServer]:
        server = RawServer(answer)
        async with await asyncio.start_server(server.serve, "127.0.0.1", 0) as listener:
            port = listener.sockets[0].getsockname()[1]
            sender = HttpSender("petstore-mcp")
            try:
                url = f"http://127.0.0.1:{port}{path}"
                got = await sender.send(HttpRequest(request.pop("method", "GET"), url, **request))
            finally:
                await sender.aclose()
                await server.closed.wait()
            return got, server

    return run(over_loopback())


def test_a_request_is_sent_byte_for_byte(run) -> None:
    path = "/a%2Fb/%7e;x=1/c,d:@?q=%5B%7C&r=a/b?c&s=%zz'(x)*!$"
    headers = (("X-Key", "k"), ("Content-Type", "application/json"), ("Cookie", "a=b; c=d"))
    _, server = exchange(
        run, raw(response()), path, method="PATCH", headers=headers, body=b'{"a":null}'
    )
    head, _, body = server.received[0].partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0] == f"PATCH {path} HTTP/1.1"
    assert lines[1].startswith("Host: 127.0.0.1:")
    assert sorted(lines[2:]) == [
        "Accept-Encoding: gzip, deflate",
        "Content-Length: 10",
        "Content-Type: application/json",
        "Cookie: a=b; c=d",
        "User-Agent: petstore-mcp",
        "X-Key: k",
    ]
    assert body == b'{"a":null}'


@pytest.mark.parametrize("method", ["QUERY", "copy", "M-Search"])
def test_method_keeps_its_case(run, method) -> None:
    _, server = exchange(run, raw(response()), method=method)
    assert server.received[0].startswith(f"{method} / HTTP/1.1\r\n".encode())


def test_get_has_no_content_headers(run) -> None:
    _, server = exchange(run, raw(response()))
    assert b"content-type" not in server.received[0].lower()
    assert b"accept: " not in server.received[0].lower()


def test_a_response_is_returned_with_its_body_and_headers(run) -> None:
    got, _ = exchange(run, raw(response(b"hello", "X-A: 1", "X-A: 2", status="404 Nope")))
    assert (got.status, got.body) == (404, b"hello")
    assert [value for name, value in got.headers if name == "X-A"] == ["1", "2"]


def test_a_redirect_is_returned_and_not_followed(run) -> None:
    got, server = exchange(run, raw(response(b"", "Location: /other", status="302 Found")))
    assert (got.status, got.header("location")) == (302, "/other")
    assert len(server.received) == 1


def test_proxy_variables_and_cookies_are_ignored(run, monkeypatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")

    async def twice() -> RawServer:
        server = RawServer(raw(response(b"", "Set-Cookie: s=1", "Connection: close")))
        async with await asyncio.start_server(server.serve, "127.0.0.1", 0) as listener:
            port = listener.sockets[0].getsockname()[1]
            sender = HttpSender("x")
            for _ in range(2):
                await sender.send(HttpRequest("GET", f"http://127.0.0.1:{port}/"))
            await sender.aclose()
            return server

    server = run(twice())
    assert len(server.received) == 2
    assert b"s=1" not in server.received[1]


@pytest.mark.parametrize(
    ("encoding", "compress"),
    [
        ("gzip", gzip.compress),
        ("x-gzip", gzip.compress),
        ("gzip", lambda data: gzip.compress(data[:10]) + gzip.compress(data[10:])),
        ("deflate", zlib.compress),
        ("deflate", lambda data: zlib.compress(data, wbits=-15)),
        ("identity", bytes),
    ],
)
@pytest.mark.parametrize("size", [11, 65_536, 65_537, 200_000])
def test_compressed_body_is_unpacked(run, encoding, compress, size) -> None:
    body = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    got, _ = exchange(run, raw(response(compress(body), f"Content-Encoding: {encoding}")))
    assert got.body == body


def test_a_body_that_ends_just_after_a_decompression_chunk_is_complete(run) -> None:
    body = b"a" * 65_537  # packed so tightly that the last byte comes without further input
    packed = zlib.compress(body, wbits=-15)
    got, _ = exchange(run, raw(response(packed, "Content-Encoding: deflate")))
    assert got.body == body


@pytest.mark.parametrize(
    ("answer", "error", "told"),
    [
        (raw(b"SSH-2.0-OpenSSH_9\r\n\r\n"), MalformedResponseError, "not HTTP"),
        (raw(b"", then_close=True), DisconnectedError, "before the response"),
        (raw(response(b"abc")[:-2], then_close=True), DisconnectedError, "in the middle"),
        (
            raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", then_close=True),
            (MalformedResponseError, DisconnectedError),
            "",
        ),
        (
            raw(response(gzip.compress(b"x" * 999)[:-12], "Content-Encoding: gzip")),
            DisconnectedError,
            "in the middle",
        ),
        (
            raw(response(b"not gzip at all", "Content-Encoding: gzip")),
            MalformedResponseError,
            "decompressed",
        ),
        (
            raw(response(b"x", "Content-Encoding: br")),
            MalformedResponseError,
            "unsupported Content-Encoding",
        ),
        (raw(response(b"x" * 2_000)), ResponseTooLargeError, "announced 2,000 bytes"),
        (
            raw(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 2_000, then_close=True),
            ResponseTooLargeError,
            "more than 1,000 bytes",
        ),
        (
            raw(response(gzip.compress(b"x" * 2_000), "Content-Encoding: gzip")),
            ResponseTooLargeError,
            "more than 1,000 bytes",
        ),
    ],
)
def test_a_malformed_response_is_reported_without_internal_details(
    run, answer, error, told
) -> None:
    with pytest.raises(error) as failure:
        exchange(run, answer, max_response_bytes=1_000)
    assert told in str(failure.value)
    assert "127.0.0.1" not in str(failure.value)
    assert failure.value.request_sent


def test_a_decompression_bomb_is_rejected_by_its_ratio(run) -> None:
    bomb = gzip.compress(b"\0" * 8_000_000)
    with pytest.raises(ResponseTooLargeError, match="100 times as many"):
        exchange(run, raw(response(bomb, "Content-Encoding: gzip")))


def test_an_endless_stream_is_cut_off_after_a_while(run) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    got, _ = exchange(run, raw(head + b"data: 1\n\n"), stream_seconds=0.1)
    assert (got.body, got.is_cut_off) == (b"data: 1\n\n", True)


def test_a_long_stream_is_truncated_at_its_limit(run) -> None:
    line = "Content-Type: application/x-ndjson; charset=utf-8"
    got, _ = exchange(run, raw(response(b"1\n" * 40, line)), max_response_bytes=70)
    assert (got.body, got.is_cut_off) == (b"1\n" * 35, True)
    got, _ = exchange(run, raw(response(b"1\n2\n", line)))
    assert (got.body, got.is_cut_off) == (b"1\n2\n", False)


def test_a_refused_connection_is_reported_as_not_sent(run) -> None:
    async def refused() -> None:
        listener = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        listener.close()
        await listener.wait_closed()
        sender = HttpSender("x")
        try:
            await sender.send(HttpRequest("POST", f"http://127.0.0.1:{port}/"))
        finally:
            await sender.aclose()

    with pytest.raises(ConnectError, match="refused the connection") as failure:
        run(refused())
    assert not failure.value.request_sent
    assert "127.0.0.1" not in str(failure.value)


def test_an_unknown_host_is_reported_without_its_name(run) -> None:
    async def unknown() -> None:
        sender = HttpSender("x")
        try:
            await sender.send(HttpRequest("GET", "http://nowhere.invalid/"))
        finally:
            await sender.aclose()

    with pytest.raises(ConnectError) as failure:
        run(unknown())
    assert "nowhere.invalid" not in str(failure.value)


def test_a_plain_http_server_at_an_https_url_is_a_tls_error(run) -> None:
    async def nonsense(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    async def against_plain_http() -> None:
        async with await asyncio.start_server(nonsense, "127.0.0.1", 0) as listener:
            port = listener.sockets[0].getsockname()[1]
            sender = HttpSender("x")
            try:
                await sender.send(HttpRequest("GET", f"https://127.0.0.1:{port}/"))
            finally:
                await sender.aclose()

    with pytest.raises(ConnectError, match="TLS handshake failed") as failure:
        run(against_plain_http())
    assert not failure.value.is_transient


def test_the_deadline_closes_the_socket_of_a_slow_response(run) -> None:
    async def drip(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nx")
        await writer.drain()

    async def over_deadline() -> RawServer:
        server = RawServer(drip)
        async with await asyncio.start_server(server.serve, "127.0.0.1", 0) as listener:
            port = listener.sockets[0].getsockname()[1]
            sender = HttpSender("x")
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await sender.send(HttpRequest("GET", f"http://127.0.0.1:{port}/"))
            async with asyncio.timeout(2):
                await server.closed.wait()
            await sender.aclose()
        return server

    assert len(run(over_deadline()).received) == 1


def test_a_missing_client_certificate_is_reported_without_its_path(run) -> None:
    certificate = ClientCertificate("/nowhere/canary.pem", "/nowhere/canary.key")
    with pytest.raises(ConfigurationError) as failure:
        exchange_nothing(run, certificate)
    assert "canary" not in str(failure.value)


def exchange_nothing(run: Any, certificate: ClientCertificate) -> None:
    async def attempt() -> None:
        sender = HttpSender("x")
        request = HttpRequest("GET", "https://127.0.0.1:9/", client_certificate=certificate)
        try:
            await sender.send(request)
        finally:
            await sender.aclose()

    run(attempt())


def test_tools_are_importable_without_the_http_client() -> None:
    code = (
        "import sys, mcpgen.runtime.tools.registry; "
        "late = {'mcpgen.runtime.upstream.http.sender', 'aiohttp', 'jsonschema_rs'}; "
        "sys.exit(bool(late & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
