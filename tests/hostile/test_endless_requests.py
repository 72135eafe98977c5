"""Tests that endless requests, or requests sent in tiny pieces, block no other client.

`test_endless_responses.py` tests the same for the API's side.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.attack.api import HostileApi
from tests.support.attack.documents import HEALTHY_TOOL, api_document
from tests.support.attack.server import (
    MAX_GROWTH_MB,
    PREFIX,
    AttackedServer,
    Bystander,
    generate,
    serve_http,
    serve_stdio,
)
from tests.support.attack.wires import BOUND_SECONDS, Wires, health, post_head, read_response

ATTACK_SECONDS = 1.0
CLIENTS = 40
HEALTH = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
CHUNKED = post_head(("Transfer-Encoding", "chunked"))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generate(tmp_path_factory.mktemp("endless"), api_document())


@pytest.fixture(scope="module")
def server(project: Path) -> Iterator[AttackedServer]:
    with (
        HostileApi() as api,
        serve_http(project, {f"{PREFIX}BASE_URL": api.base_url}) as server,
    ):
        yield server


@pytest.mark.parametrize(
    ("start", "repeated"),
    [
        pytest.param(b"", b"\r\n" * 30_000, id="empty lines"),
        pytest.param(HEALTH, b"\r\n" * 30_000, id="empty lines behind a request"),
        pytest.param(HEALTH[:-2], b"a:b\r\n" * 10_000, id="header fields"),
        pytest.param(HEALTH[:-2] + b"X: ", b"x" * 60_000, id="a long header field"),
        pytest.param(CHUNKED, b"1\r\n \r\n" * 10_000, id="chunks of one byte"),
        pytest.param(CHUNKED + b"1;", b"x" * 60_000, id="chunk extensions"),
        pytest.param(CHUNKED, b"1;a=b\r\n \r\n" * 5_000, id="small chunk extensions"),
        pytest.param(CHUNKED + b"0\r\n", b"a: b\r\n" * 10_000, id="trailers"),
        pytest.param(b"", HEALTH * 1_000, id="pipelined requests"),
        pytest.param(
            post_head(("Content-Length", "1")), b"x" + HEALTH * 1_000, id="pipelined after a body"
        ),
        pytest.param(
            post_head(("Content-Length", "100"), ("Expect", "100-continue")) + bytes(100),
            post_head(("Content-Length", "100"), ("Expect", "100-continue")) + bytes(100),
            id="expectations",
        ),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", bytes(50_000), id="HTTP/2"),
    ],
)
def test_a_flood_of_unread_requests_does_not_block_other_clients(
    server: AttackedServer, start: bytes, repeated: bytes
) -> None:
    """Forty clients send as fast as they can; none of them reads."""
    with Wires(server.port) as wires:
        opened = wires.open(CLIENTS, start, receive_buffer=4096)
        with Bystander(server) as bystander:
            send_all(opened, repeated, ATTACK_SECONDS)
            assert health(server.port) == 200
            bystander.wait_until_served()
        bystander.check()


def send_all(wires: list[socket.socket], data: bytes, seconds: float) -> None:
    """Send data repeatedly on every connection that accepts it."""
    due = time.monotonic() + seconds
    unsent = dict.fromkeys(wires, data)
    for wire in wires:
        wire.setblocking(False)
    while unsent and time.monotonic() < due:
        for wire, left in list(unsent.items()):
            try:
                unsent[wire] = left[wire.send(left) :] or data
            except BlockingIOError:
                continue
            except OSError:
                del unsent[wire]  # the server has closed it
        time.sleep(0.001)


def test_pipelined_requests_are_all_answered(server: AttackedServer) -> None:
    count = 3000
    with Wires(server.port) as wires:
        with Bystander(server) as bystander:
            (wire,) = wires.open()
            sending = threading.Thread(target=wire.sendall, args=(HEALTH * count,), daemon=True)
            sending.start()
            stream = wire.makefile("rb")
            assert [read_response(stream) for _ in range(count)] == [200] * count
            sending.join(BOUND_SECONDS)
            stream.close()
            bystander.wait_until_served()
        bystander.check()


def test_an_upgrade_is_ignored_and_hides_no_second_request(server: AttackedServer) -> None:
    """The upgrade is like that of `curl --http2`. The body looks like a second request."""
    upgrade = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
    with Wires(server.port) as wires:
        for request, status in ((HEALTH, 200), (post_head(("Content-Length", "42")) + HEALTH, 400)):
            line, _, rest = request.partition(b"\r\n")
            (wire,) = wires.open(1, line + b"\r\n" + upgrade + rest)
            with wire.makefile("rb") as stream:
                assert read_response(stream) == status
                if status == 400:
                    assert stream.read() == b""


@pytest.mark.parametrize("has_called", [False, True], ids=["cold", "hot"])
@pytest.mark.parametrize(
    "repeated",
    [
        pytest.param(b"\n" * 100_000, id="empty lines"),
        pytest.param(b" " * 100_000, id="one line"),
        pytest.param((b"x" * 50 + b"\n") * 1_000, id="no messages"),
    ],
)
def test_endless_stdio_input_does_not_grow_memory(
    project: Path, has_called: bool, repeated: bytes
) -> None:
    with HostileApi() as api, serve_stdio(project, {f"{PREFIX}BASE_URL": api.base_url}) as server:
        stdin, stdout = server.process.stdin, server.process.stdout
        assert stdin is not None
        assert stdout is not None
        answers: list[dict[str, object]] = []
        reading = threading.Thread(
            target=lambda: answers.extend(map(json.loads, stdout)), daemon=True
        )
        reading.start()
        if has_called:
            stdin.write(_message("tools/call", 1, name=HEALTHY_TOOL, arguments={"id": "a"}))
            stdin.flush()
            _wait(lambda: len(answers) == 1)
        due = time.monotonic() + ATTACK_SECONDS
        while time.monotonic() < due:
            stdin.write(repeated)
        stdin.write(b"\n" + _message("server/discover", 2))
        stdin.flush()
        _wait(lambda: any(answer.get("id") == 2 for answer in list(answers)))
        assert server.growth_mb < MAX_GROWTH_MB
        stdin.close()
        reading.join(BOUND_SECONDS)


def _wait(condition: Callable[[], bool]) -> None:
    due = time.monotonic() + BOUND_SECONDS
    while not condition() and time.monotonic() < due:
        time.sleep(0.005)
    assert condition()


def _message(method: str, number: int, **params: object) -> bytes:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    message = {
        "jsonrpc": "2.0",
        "id": number,
        "method": method,
        "params": {**params, "_meta": meta},
    }
    return json.dumps(message).encode() + b"\n"
