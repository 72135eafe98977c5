"""Tests that endless or very slow API responses end at the deadline and block no other client."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
import socket
import time
import zlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.attack.api import Exchange, HostileApi
from tests.support.attack.documents import api_document, operation
from tests.support.attack.server import (
    PREFIX,
    SLOWER,
    AttackedServer,
    Bystander,
    HttpClient,
    generate,
    run_mcpgen,
    serve_http,
)

DEADLINE_SECONDS = 2.0
LATEST_SECONDS = DEADLINE_SECONDS + SLOWER
MANIFEST = f"""
operations:
  "*": {{timeout_seconds: {DEADLINE_SECONDS:g}}}
"""
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
GZIP = OK + b"Content-Encoding: gzip\r\n\r\n"
DEFLATE = OK + b"Content-Encoding: deflate\r\n\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
LINES = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n\r\n"
BLOCK = 64 * 1024


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    kind = {"name": "kind", "in": "path", "required": True, "schema": {"type": "string"}}
    upload = {"required": True, "content": {"application/octet-stream": {}}}
    paths = {
        "/endless/{kind}": {
            "parameters": [kind],
            "get": operation("getEndless"),
            "put": operation("putEndless", requestBody=upload),
        }
    }
    folder = tmp_path_factory.mktemp("endless")
    project = generate(folder, api_document(paths))
    second = folder / "second.json"
    second.write_text(json.dumps(api_document({"/secure": {"get": operation("getSecure")}})))
    with (project / "mcpgen.yaml").open("a") as manifest:
        manifest.write(MANIFEST)
    run_mcpgen("source", "add", str(second), str(project), "--name", "second", "--yes")
    return project


@pytest.fixture(scope="module")
def silent_port() -> Iterator[int]:
    """Open a port that accepts connections but neither reads nor sends; yield its number."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listener:
        yield listener.getsockname()[1]


@pytest.fixture(scope="module")
def upload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("upload") / "upload.bin"
    file.write_bytes(bytes(20_000_000))  # more than the buffers of two sockets hold
    return file


@pytest.fixture(scope="module")
def server(
    project: Path, api: HostileApi, silent_port: int, upload: Path
) -> Iterator[AttackedServer]:
    settings = {
        f"{PREFIX}BASE_URL": api.base_url,
        f"{PREFIX}SECOND_BASE_URL": f"https://127.0.0.1:{silent_port}",
        f"{PREFIX}FILE_ROOTS": str(upload.parent),
    }
    with serve_http(project, settings) as server:
        yield server


def endless(start: bytes, repeated: bytes) -> Callable[[Exchange], Awaitable[None]]:
    """Send `start`, then `repeated` endlessly, as fast as it is read."""
    block = repeated * (BLOCK // len(repeated) + 1)

    async def send(exchange: Exchange) -> None:
        await exchange.send(start)
        while True:
            await exchange.send(block)

    return send


def drip(start: bytes, repeated: bytes) -> Callable[[Exchange], Awaitable[None]]:
    """Send `start`, then single bytes, so that no read waits for long."""

    async def send(exchange: Exchange) -> None:
        await exchange.send(start)
        for byte in itertools.cycle(repeated):
            await exchange.send(bytes([byte]))
            await asyncio.sleep(0.02)

    return send


def empty_deflate_blocks() -> bytes:
    """Return Deflate data that stays inside a stream and decompresses to nothing."""
    compressor = zlib.compressobj()
    return compressor.flush(zlib.Z_FULL_FLUSH)[2:] * 200


FLOODS = {
    "interim responses": endless(b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
    "header fields": endless(OK, b"X: y\r\n"),
    "one header field": endless(OK + b"X: ", b"y"),
    "gzip members": endless(GZIP, gzip.compress(b"")),
    "gzip bomb": endless(GZIP, gzip.compress(b"\0" * 10_000_000)),
    "deflate blocks": endless(DEFLATE + zlib.compress(b"")[:2], empty_deflate_blocks()),
    "small chunks": endless(CHUNKED, b"1\r\n \r\n"),
    "one extension": endless(CHUNKED + b"1;", b"x"),
    "extensions": endless(CHUNKED, b"1;" + b"x" * 900 + b"\r\n \r\n"),
    "trailers": endless(CHUNKED + b"0\r\n", b"X: y\r\n"),
    "one trailer": endless(CHUNKED + b"0\r\nX: ", b"y"),
    "comments": endless(EVENTS, b":\n"),
    "events": endless(EVENTS, b"data: 1\n\n"),
    "empty lines": endless(LINES, b"\n"),
    "body": endless(OK + b"\r\n", b" "),
    "announced body": endless(OK + b"Content-Length: 10000000\r\n\r\n", b"[" * 1000),
}
DRIPS = {
    "head": drip(b"", b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 9999),
    "interim": drip(b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
    "body": drip(OK + b"Content-Length: 1000\r\n\r\n", b" "),
    "chunks": drip(CHUNKED, b"1\r\n \r\n"),
    "trailers": drip(CHUNKED + b"0\r\n", b"X: y\r\n"),
    "gzip": drip(GZIP, gzip.compress(b"")),
    "comments": drip(EVENTS, b":\n"),
}


def call_at_once(
    server: AttackedServer, calls: Sequence[tuple[str, dict[str, str]]]
) -> list[tuple[float, dict[str, Any]]]:
    """Call tools concurrently; return the duration in seconds and the result of each."""

    def call(tool: str, arguments: dict[str, str]) -> tuple[float, dict[str, Any]]:
        with HttpClient(server.port) as client:
            sent_at = time.monotonic()
            result = client.call_tool(tool, arguments)["result"]
            return time.monotonic() - sent_at, result

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(lambda it: call(*it), calls))


@pytest.mark.parametrize("kind", FLOODS)
def test_an_endless_response_is_cut_off_and_blocks_no_other_client(
    server: AttackedServer, api: HostileApi, kind: str
) -> None:
    path = kind.replace(" ", "-")
    api.on(f"/endless/{path}", FLOODS[kind])
    with Bystander(server) as bystander:
        outcomes = call_at_once(server, [("get_endless", {"kind": path})] * 2)
        bystander.wait_until_served(5)  # so that most requests succeed, and the circuit is closed
    bystander.check()
    assert [seconds for seconds, _ in outcomes if seconds > LATEST_SECONDS] == []


def test_a_slow_drip_response_ends_at_the_deadline(server: AttackedServer, api: HostileApi) -> None:
    for kind, behaviour in DRIPS.items():
        api.on(f"/endless/{kind}", behaviour)
    with Bystander(server) as bystander:
        outcomes = call_at_once(server, [("get_endless", {"kind": kind}) for kind in DRIPS])
    bystander.check()
    assert [seconds for seconds, _ in outcomes if seconds > LATEST_SECONDS] == []
    assert [result for _, result in outcomes if "no complete answer" not in str(result)] == []


def test_an_upload_that_the_api_does_not_read_times_out(
    server: AttackedServer, api: HostileApi, upload: Path
) -> None:
    async def read_nothing(exchange: Exchange) -> None:
        await asyncio.sleep(60)

    api.read_bodies = False
    api.on("/endless/unread", read_nothing)
    with Bystander(server) as bystander:
        arguments = {"kind": "unread", "body": upload.as_uri()}
        outcomes = call_at_once(server, [("put_endless", arguments)] * 2)
    api.read_bodies = True
    bystander.check()
    for seconds, result in outcomes:
        assert seconds < LATEST_SECONDS
        assert "no complete answer" in str(result)


def test_an_incomplete_tls_handshake_times_out(server: AttackedServer) -> None:
    with Bystander(server) as bystander:
        outcomes = call_at_once(server, [("second_get_secure", {})] * 5)
    bystander.check()
    for seconds, result in outcomes:
        assert seconds < LATEST_SECONDS
        assert result["isError"]
