"""Tests that clients that read no responses, or never complete requests, use bounded memory."""

from __future__ import annotations

import asyncio
import json
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.attack.api import Exchange, HostileApi, response
from tests.support.attack.documents import api_document, operation
from tests.support.attack.server import (
    ANSWER_SECONDS,
    LEGACY,
    MAX_GROWTH_MB,
    PREFIX,
    AttackedServer,
    Bystander,
    HttpClient,
    generate,
    serve_http,
    serve_stdio,
)
from tests.support.attack.wires import BOUND_SECONDS, Wires, legacy, post_head, tool_call

CLIENTS = 40
STDIO_CALLS = 25
ADDRESSES = [f"127.0.0.{number}" for number in (1, 3, 4, 5)]
IMAGE = response(bytes(8_000_000), content_type="image/png")
RECORDS = response({"items": [{"id": number, "text": "x" * 1000} for number in range(9500)]})
SETTLING_SECONDS = 3.0


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    paths = {
        "/image": {"get": operation("getImage", media_type="image/png")},
        "/note": {
            "post": operation(
                "addNote",
                requestBody={"content": {"application/json": {"schema": {"type": "object"}}}},
            )
        },
        "/records": {"get": operation("getRecords", schema={"type": "object"})},
    }
    return generate(tmp_path_factory.mktemp("slow-readers"), api_document(paths))


@contextmanager
def large_api() -> Iterator[HostileApi]:
    async def send_image(exchange: Exchange) -> None:
        await exchange.send(IMAGE)

    async def hang(_: Exchange) -> None:
        await asyncio.sleep(BOUND_SECONDS)

    async def send_records(exchange: Exchange) -> None:
        await exchange.send(RECORDS)

    with HostileApi() as api:
        api.on("/image", send_image)
        api.on("/note", hang)
        api.on("/records", send_records)
        yield api


@contextmanager
def attacked(project: Path, *arguments: str) -> Iterator[AttackedServer]:
    with (
        large_api() as api,
        serve_http(project, {f"{PREFIX}BASE_URL": api.base_url}, *arguments) as server,
    ):
        yield server


def open_unread(wires: Wires, count: int, sent: bytes) -> None:
    for number in range(count):
        wires.open(1, sent, address=ADDRESSES[number % len(ADDRESSES)], receive_buffer=4096)


@pytest.mark.parametrize("tool", ["get_records", "get_image"])
def test_unread_large_results_do_not_exhaust_the_server(project: Path, tool: str) -> None:
    with attacked(project) as server, Wires(server.port) as wires:
        with Bystander(server) as bystander:
            open_unread(wires, CLIENTS, tool_call(tool))
            time.sleep(SETTLING_SECONDS)
        bystander.check()


def test_a_client_that_reads_gets_a_large_result_while_others_do_not_read(project: Path) -> None:
    with attacked(project) as server, Wires(server.port) as wires:
        with Bystander(server) as bystander:
            open_unread(wires, CLIENTS, tool_call("get_image"))
            with HttpClient(server.port, "127.0.0.9", seconds=BOUND_SECONDS) as reader:
                answer = reader.call_tool("get_image", {})
            assert answer["result"]["content"][0]["mimeType"] == "image/png"
        bystander.check()


def test_unread_results_of_pipelined_requests_do_not_exhaust_the_server(project: Path) -> None:
    with attacked(project) as server, Wires(server.port) as wires:
        with Bystander(server) as bystander:
            open_unread(wires, 4, tool_call("get_image") * 10)
            time.sleep(SETTLING_SECONDS)
        bystander.check()


def open_session(port: int) -> str:
    """Open a legacy session; return its id."""
    params = {"protocolVersion": LEGACY, "capabilities": {}}
    with HttpClient(port, ADDRESSES[1]) as client:
        client.post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
        client.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return client._session["Mcp-Session-Id"]


def test_unread_session_results_are_not_all_stored(project: Path) -> None:
    """Results of a session are stored, so that a client can fetch them after a disconnect."""
    with attacked(project) as server, Wires(server.port) as wires:
        session = open_session(server.port)
        with Bystander(server) as bystander:
            call = legacy("tools/call", {"name": "get_image", "arguments": {}}, session)
            open_unread(wires, CLIENTS, call)
            time.sleep(SETTLING_SECONDS)
        bystander.check()


def test_unread_results_on_a_2024_sse_stream_do_not_exhaust_the_server(project: Path) -> None:
    with attacked(project, "--sse") as server, Wires(server.port) as wires:
        with Bystander(server) as bystander:
            for _ in range(4):
                _call_over_sse(wires, server.port, calls=10)
            time.sleep(SETTLING_SECONDS)
        bystander.check()


def _call_over_sse(wires: Wires, port: int, *, calls: int) -> None:
    """Open a stream and post calls whose responses go to it, without reading the stream further."""
    sent = b"GET /sse HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n"
    (stream,) = wires.open(1, sent, receive_buffer=4096)
    received = b""
    while b"data: " not in received or not received.endswith(b"\n\n\r\n"):
        received += stream.recv(4096)
    endpoint = received.partition(b"data: ")[2].split()[0]
    initialize = {
        "protocolVersion": LEGACY,
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    }
    messages: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": initialize},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
    ]
    params = {"name": "get_image", "arguments": {}}
    messages += [
        {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        for number in range(1, calls + 1)
    ]
    for message in messages:
        body = json.dumps(message).encode()
        head = (
            b"POST %b HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n" % (endpoint, len(body))
        )
        (wire,) = wires.open(1, head + body)
        assert wire.recv(4096).startswith(b"HTTP/1.1 202 ")


def test_unfinished_long_requests_do_not_exhaust_the_server(project: Path) -> None:
    size = 4_000_000
    head = post_head(("Content-Length", str(size)), ("Mcp-Method", "tools/call"))
    with attacked(project) as server, Wires(server.port) as wires:
        with Bystander(server) as bystander:
            for number in range(150):
                wires.open(1, head + bytes(size - 100_000), address=ADDRESSES[number % 4])
            time.sleep(1)
        bystander.check()


def test_arguments_that_expand_in_memory_do_not_exhaust_the_server(project: Path) -> None:
    """Calls keep their arguments in memory while they wait for the API."""
    with attacked(project) as server, Wires(server.port) as wires:
        sent = tool_call("add_note", {"body": {"values": [{} for _ in range(90_000)]}})
        for number in range(30):
            wires.open(1, sent, address=ADDRESSES[number % 4])
        with HttpClient(server.port, "127.0.0.9") as newcomer:
            newcomer.open_session()
            sent_at = time.monotonic()
            newcomer.ping()
            assert time.monotonic() - sent_at < ANSWER_SECONDS
        assert server.growth_mb < MAX_GROWTH_MB


def test_unread_large_stdio_results_do_not_exhaust_the_server(project: Path) -> None:
    with (
        large_api() as api,
        serve_stdio(project, {f"{PREFIX}BASE_URL": api.base_url}) as server,
    ):
        assert server.process.stdin is not None
        for number in range(STDIO_CALLS):
            server.process.stdin.write(_stdio_call("get_image", number))
        server.process.stdin.flush()
        time.sleep(SETTLING_SECONDS)
        assert server.is_alive
        assert server.growth_mb < MAX_GROWTH_MB + 30  # what calls import is not loaded at the start
        answered = _answered_ids(server.process, STDIO_CALLS)
        assert sorted(answered) == list(range(STDIO_CALLS))


def _answered_ids(process: subprocess.Popen[bytes], count: int) -> list[int]:
    """Read the responses that were left unread, and return their ids."""
    answered: list[int] = []
    stdout = process.stdout
    assert stdout is not None

    def read() -> None:
        answered.extend(json.loads(stdout.readline())["id"] for _ in range(count))

    reading = threading.Thread(target=read, daemon=True)
    reading.start()
    reading.join(BOUND_SECONDS)
    assert not reading.is_alive()
    return answered


def _stdio_call(name: str, number: int) -> bytes:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": name, "arguments": {}, "_meta": meta}
    message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
    return json.dumps(message).encode() + b"\n"
