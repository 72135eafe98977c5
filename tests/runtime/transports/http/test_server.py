"""Tests of the HTTP server on real sockets: slow clients, too many clients, shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from mcpgen.contract.limits import DEFAULT_LIMITS
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.transports.http.connection import (
    LINGER_SECONDS,
    MAX_HEAD_BYTES,
    MAX_WIRE_RATIO,
)
from mcpgen.runtime.transports.http.host_check import HostCheck
from mcpgen.runtime.transports.http.server import HttpServer, serve_http
from mcpgen.runtime.transports.http.tls import Certificate
from tests.support.certificates import shared_key_pair
from tests.support.http_server import BOUND_SECONDS, Clock, Served, make_served, modern, until
from tests.support.paths import REPOSITORY
from tests.support.stdio_process import write_package

ECHO = json.dumps(modern("tools/call", {"name": "echo", "arguments": {"a": 1}})).encode()


def http(body: bytes = ECHO, *, target: str = "/mcp", name: str = "echo", **more: str) -> bytes:
    head = (
        f"POST {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
        f"Mcp-Method: tools/call\r\nMcp-Name: {name}\r\n"
    )
    head += "".join(f"{key.replace('_', '-')}: {value}\r\n" for key, value in more.items())
    if "Transfer_Encoding" not in more:
        head += f"Content-Length: {len(body)}\r\n"
    return head.encode() + b"\r\n" + body


class Wire:
    """The client end of a TCP connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    def write(self, data: bytes) -> None:
        self._writer.write(data)

    async def response(self) -> tuple[int, dict[str, str], bytes]:
        """Read one response with a length."""
        head = await asyncio.wait_for(self._reader.readuntil(b"\r\n\r\n"), BOUND_SECONDS)
        first, *lines = head.decode().strip().split("\r\n")
        headers = {name.lower(): value for name, _, value in (it.partition(": ") for it in lines)}
        body = await asyncio.wait_for(
            self._reader.readexactly(int(headers.get("content-length", 0))), BOUND_SECONDS
        )
        return int(first.split()[1]), headers, body

    async def until(self, what: bytes) -> bytes:
        return await asyncio.wait_for(self._reader.readuntil(what), BOUND_SECONDS)

    async def rest(self) -> bytes:
        """Read until the server closes the connection."""
        try:
            return await asyncio.wait_for(self._reader.read(), BOUND_SECONDS)
        except ConnectionResetError:
            return b""

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(ConnectionError, ssl.SSLError):  # data that it no longer reads
            await self._writer.wait_closed()


class Wires:
    """The connections that a test opens to a port, closed at the end."""

    def __init__(self, port: int, tls: ssl.SSLContext | None = None) -> None:
        self._port = port
        self._tls = tls
        self._open: list[Wire] = []

    async def __aenter__(self) -> Wires:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        for wire in self._open:
            await wire.close()

    async def connect(self) -> Wire:
        wire = Wire(
            *await asyncio.open_connection("127.0.0.1", self._port, limit=2**24, ssl=self._tls)
        )
        self._open.append(wire)
        return wire


class Server:
    """A server on its own port, whose clock the test moves."""

    def __init__(self, served: Served, server: HttpServer, clock: Clock, wires: Wires) -> None:
        self.served = served
        self.http = server
        self.clock = clock
        self.connect = wires.connect

    def pass_time(self, seconds: float) -> None:
        """Advance the clock, and run the housekeeping before and after."""
        self.http._tend_connections()
        self.clock.now += seconds
        self.http._tend_connections()

    async def accepted(self, count: int) -> None:
        """Wait until the server has accepted this many connections."""
        await until(lambda: len(self.http._connections) == count)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test of `on_server` over HTTP and over HTTPS, since both must behave the same."""
    if "on_server" in metafunc.function.__code__.co_names:
        metafunc.parametrize("tls", ["http", "https"], indirect=True)


@pytest.fixture(autouse=True)
def tls(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[None]:
    """Let `on_server` serve HTTPS, if the parameter says so."""
    if getattr(request, "param", "http") == "https":
        certificate, key = shared_key_pair().write(tmp_path)
        _tls["certificate"] = Certificate(str(certificate), str(key))
    yield
    _tls.clear()


_tls: dict[str, Certificate] = {}


def on_server(scenario: Callable[[Server], Coroutine[Any, Any, None]], **options: Any) -> None:
    async def bounded() -> None:
        served, clock = make_served(**options), Clock()
        server = HttpServer(served.app, now=clock, **_tls)
        address = await server.listen("127.0.0.1", 0)
        trusted = shared_key_pair().client_context() if _tls else None
        async with Wires(int(address.rpartition(":")[2]), trusted) as wires:
            try:
                running = Server(served, server, clock, wires)
                await asyncio.wait_for(scenario(running), 3 * BOUND_SECONDS)
            finally:
                await server.stop(0)
                await served.dispatcher.aclose()

    with asyncio.Runner() as runner:
        runner.run(bounded())


def test_a_connection_serves_several_requests_in_sequence() -> None:
    async def scenario(server: Server) -> None:
        wire = await server.connect()
        for _ in range(3):
            wire.write(http())
            status, headers, body = await wire.response()
            assert (status, headers["content-type"]) == (200, "application/json")
            assert re.fullmatch(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT", headers["date"])
            assert b'{\\"a\\": 1}' in body
        await wire.close()

    on_server(scenario)


def test_every_response_to_an_allowed_origin_has_cors_headers() -> None:
    async def scenario(server: Server) -> None:
        wire = await server.connect()
        for origin in ("https://app.example", "http://127.0.0.1") * 4:
            wire.write(http(Origin=origin))
            status, headers, body = await wire.response()
            assert (status, json.loads(body)["id"]) == (200, 1)
            shown_to = headers.get("access-control-allow-origin")
            assert shown_to == (origin if origin == "https://app.example" else None)

    on_server(scenario, host_check=HostCheck(allowed_origins=["https://app.example"]))


def test_pipelined_requests_are_answered_in_order() -> None:
    async def scenario(server: Server) -> None:
        wire = await server.connect()
        bodies = [
            json.dumps(modern("tools/call", {"name": "echo"}, id=n)).encode() for n in (1, 2, 3)
        ]
        wire.write(b"".join(http(body) for body in bodies))
        for number in (1, 2, 3):
            assert json.loads((await wire.response())[2])["id"] == number
        await wire.close()

    on_server(scenario)


def test_an_oversized_body_is_rejected_while_it_is_sent() -> None:
    async def scenario(server: Server) -> None:
        wire = await server.connect()
        wire.write(http(b" " * (DEFAULT_LIMITS.max_message_bytes + 1)) + http())
        assert (await wire.response())[0] == 413
        assert await wire.rest() == b""  # what follows is not read as a request
        await server.accepted(1)
        server.pass_time(LINGER_SECONDS)  # the client does not close its end
        await server.accepted(0)

    on_server(scenario)


@pytest.mark.parametrize(
    ("path", "status"), [("/health", 200), ("/livez", 200), ("/readyz", 200), ("/mcp", 405)]
)
def test_a_response_to_head_is_sent_without_a_body(path: str, status: int) -> None:
    async def scenario(server: Server) -> None:
        wire = await server.connect()
        wire.write(b"HEAD %b HTTP/1.1\r\nHost: localhost\r\n\r\n" % path.encode())
        assert (await wire.until(b"\r\n\r\n")).startswith(b"HTTP/1.1 %d" % status)
        wire.write(http())
        assert (await wire.response())[0] == 200

    on_server(scenario)


def test_the_head_of_a_stream_is_sent_before_its_first_event() -> None:
    async def scenario(server: Server) -> None:
        await server.served.client.initialize("2025-06-18")
        wire = await server.connect()
        wire.write(
            b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
            b"Mcp-Session-Id: " + server.served.client.session_id.encode() + b"\r\n\r\n"
        )
        head = await wire.until(b"\r\n\r\n")
        assert b"200 OK" in head
        assert b"text/event-stream" in head
        await wire.close()

    on_server(scenario)


def test_expect_100_continue_is_answered_with_100() -> None:
    async def scenario(server: Server) -> None:
        wire = await server.connect()
        head, _, body = http(Expect="100-continue").partition(b"\r\n\r\n")
        wire.write(head + b"\r\n\r\n")
        assert await wire.until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        wire.write(body)
        assert (await wire.response())[0] == 200

    on_server(scenario)


@pytest.mark.requirement("N043", "N044")
@pytest.mark.parametrize("name", ["hang", "report"])
def test_a_connection_that_closes_cancels_a_modern_call(name: str) -> None:
    async def scenario(server: Server) -> None:
        wire = await server.connect()
        call = modern("tools/call", {"name": name}, meta={"progressToken": 1})
        wire.write(http(json.dumps(call).encode(), name=name))
        await server.served.tools.started.wait()
        started = time.monotonic()
        await wire.close()
        await server.served.dispatcher.drain(BOUND_SECONDS)
        assert server.served.tools.cancelled == 1
        assert time.monotonic() - started < 1

    on_server(scenario)


def test_three_hundred_half_open_connections_are_closed_while_others_are_served() -> None:
    async def scenario(server: Server) -> None:
        silent = [await server.connect() for _ in range(100)]
        in_head = [await server.connect() for _ in range(100)]
        in_body = [await server.connect() for _ in range(100)]
        for wire in in_head:
            wire.write(http()[:100])
        for wire in in_body:
            wire.write(http()[:-10])
        await server.accepted(300)
        good = await server.connect()
        good.write(http())
        assert (await good.response())[0] == 200
        server.pass_time(DEFAULT_LIMITS.head_timeout_seconds)
        for wire in silent + in_head:
            assert await wire.rest() == b""
        server.pass_time(DEFAULT_LIMITS.body_timeout_seconds)
        for wire in in_body:
            assert await wire.rest() == b""
        good.write(http())
        assert (await good.response())[0] == 200
        await good.close()

    on_server(scenario)


def test_the_head_timeout_applies_to_later_requests() -> None:
    async def scenario(server: Server) -> None:
        wire = await server.connect()
        wire.write(http())
        await wire.response()
        server.pass_time(DEFAULT_LIMITS.head_timeout_seconds)  # idle between requests
        wire.write(http())
        assert (await wire.response())[0] == 200
        wire.write(http()[:50])
        await until(lambda: server.http._connections and _has_head(server))
        server.pass_time(DEFAULT_LIMITS.head_timeout_seconds)
        assert await wire.rest() == b""

    on_server(scenario)


def test_empty_lines_between_requests_do_not_keep_a_connection_open() -> None:
    async def scenario(server: Server) -> None:
        wire = await server.connect()
        wire.write(http())
        await wire.response()
        wire.write(b"\r\n")
        await until(lambda: _has_head(server))
        server.pass_time(DEFAULT_LIMITS.head_timeout_seconds - 1)
        wire.write(b"\r\n")
        await until(lambda: _head_bytes(server) == 4)
        server.pass_time(1)
        assert await wire.rest() == b""

    on_server(scenario)


def test_an_idle_connection_is_closed_after_the_keep_alive_timeout() -> None:
    async def scenario(server: Server) -> None:
        wire = await server.connect()
        wire.write(http())
        await wire.response()
        server.pass_time(DEFAULT_LIMITS.keep_alive_seconds - 1)
        wire.write(http())
        assert (await wire.response())[0] == 200
        server.pass_time(DEFAULT_LIMITS.keep_alive_seconds)
        assert await wire.rest() == b""

    on_server(scenario)


def _has_head(server: Server) -> bool:
    return _head_bytes(server) > 0


def _head_bytes(server: Server) -> int:
    (connection,) = server.http._connections
    assert isinstance(connection._head_bytes, int)
    return connection._head_bytes


def test_the_body_timeout_applies_per_request() -> None:
    async def scenario(server: Server) -> None:
        wire = await server.connect()
        request = http()
        for _ in range(4):
            wire.write(request[:-10])
            await until(lambda: _in_body(server))
            server.pass_time(DEFAULT_LIMITS.body_timeout_seconds - 1)
            wire.write(request[-10:])
            assert (await wire.response())[0] == 200
        await wire.close()

    on_server(scenario)


def _in_body(server: Server) -> bool:
    (connection,) = server.http._connections
    return connection._find_client_phase()[0][:1] == ("body",)


def test_a_client_that_does_not_read_its_stream_is_cut_off() -> None:
    async def scenario(server: Server) -> None:
        wire = await server.connect()
        wire._reader._transport.pause_reading()  # type: ignore[attr-defined]  # as a stalled client
        big = modern("tools/call", {"name": "big", "arguments": {"size": 20_000_000}})
        wire.write(http(json.dumps(big).encode(), name="big"))
        await until(lambda: _is_unread(server))
        server.pass_time(DEFAULT_LIMITS.write_timeout_seconds)
        await server.accepted(0)
        await wire.close()

    on_server(scenario)


def _is_unread(server: Server) -> bool:
    return any(it._find_client_phase()[0][:1] == ("unread",) for it in server.http._connections)


def test_a_connection_above_the_limit_replaces_the_longest_idle_one() -> None:
    async def scenario(server: Server) -> None:
        server.http.limits.max_connections = 2
        oldest, newer = await server.connect(), await server.connect()
        for wire in (newer, oldest, newer):  # by use, and not by age
            wire.write(http())
            assert (await wire.response())[0] == 200
        wire = await server.connect()
        assert await oldest.rest() == b""
        for wire_in_use in (wire, newer):
            wire_in_use.write(http())
            assert (await wire_in_use.response())[0] == 200

    on_server(scenario)


def test_a_connection_above_the_limit_gets_503_if_all_others_are_busy() -> None:
    async def scenario(server: Server) -> None:
        server.http.limits.max_connections = 2
        hang = json.dumps(modern("tools/call", {"name": "hang"})).encode()
        busy = [await server.connect() for _ in range(2)]
        for wire in busy:
            wire.write(http(hang, name="hang"))
        await until(lambda: len(server.served.dispatcher.calls) == 2)
        if _tls:  # no handshake for a connection that is refused
            with pytest.raises(ConnectionError):
                await server.connect()
        else:
            refused = await (await server.connect()).rest()
            assert refused.startswith(b"HTTP/1.1 503 ")
            assert b"retry-after: 1" in refused
        server.served.tools.go_on.set()
        for wire in busy:
            assert (await wire.response())[0] == 200

    on_server(scenario)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param(http(target="http://127.0.0.1/mcp"), 421, id="absolute target"),
        pytest.param(http(target="http://evil.example/mcp"), 421, id="foreign target"),
        pytest.param(http(Host="127.0.0.1"), 421, id="two Host headers"),
        pytest.param(http(Transfer_Encoding="chunked", Content_Length="5"), 400, id="CL and TE"),
        pytest.param(http().replace(b"Length: ", b"Length: +", 1), 400, id="odd length"),
        pytest.param(http().replace(b"\r\nAccept", b"\r\n Accept", 1), 400, id="folded header"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, id="TLS"),
        pytest.param(
            http(
                b"1;" + b"x" * (MAX_WIRE_RATIO * DEFAULT_LIMITS.max_message_bytes + 300_000),
                Transfer_Encoding="chunked",
            ),
            400,
            id="endless chunk head",
        ),
        pytest.param(
            b"GET / HTTP/1.1\r\nX: " + b"x" * (4 * MAX_HEAD_BYTES + 300_000), 431, id="endless head"
        ),
    ],
)
def test_a_malformed_request_is_rejected_once(sent: bytes, status: int) -> None:
    async def scenario(server: Server) -> None:
        wire = await server.connect()
        for start in range(0, len(sent), 50_000):
            wire.write(sent[start : start + 50_000])
            await asyncio.sleep(0)
        if status == 421:
            wire.write(b"")
            assert (await wire.response())[0] == 421
            await wire.close()
            return
        answer = await wire.rest()
        assert answer.startswith(b"HTTP/1.1 %d " % status) or answer == b""
        assert answer.count(b"HTTP/1.1 ") <= 1
        assert server.served.tools.calls == []

    on_server(scenario)


@pytest.mark.parametrize("finishes", [True, False])
def test_draining_closes_the_listener_first_and_loses_no_result(finishes: bool) -> None:
    async def scenario(server: Server) -> None:
        idle, half_open, busy = [await server.connect() for _ in range(3)]
        idle.write(http())
        await idle.response()
        half_open.write(http()[:50])
        hang = json.dumps(modern("tools/call", {"name": "hang"})).encode()
        busy.write(http(hang, name="hang"))
        await until(lambda: server.served.dispatcher.calls)
        leaving = asyncio.ensure_future(server.http.stop(BOUND_SECONDS if finishes else 0))
        assert await idle.rest() == b""
        assert await half_open.rest() == b""
        with pytest.raises(ConnectionRefusedError):
            await server.connect()
        if finishes:
            server.served.tools.go_on.set()
        status, headers, body = await busy.response()
        assert (status, headers["connection"]) == (200, "close")
        assert ("result" if finishes else "error") in json.loads(body)
        await leaving

    on_server(scenario)


@pytest.mark.requirement("L046", "N036")
def test_a_non_loopback_host_requires_allow_remote(tmp_path: Path) -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1"):
        with pytest.raises(ConfigurationError, match="--allow-remote"):
            serve_http(
                None,  # type: ignore[arg-type]  # refused before it is looked at
                host=host,
                port=0,
                with_sse=False,
                drain_timeout_seconds=0,
            )


def test_a_key_ring_that_cannot_be_used_stops_the_start(tmp_path: Path) -> None:
    folder = write_package(tmp_path)
    ended = subprocess.run(
        [sys.executable, "-m", "small_mcp", "--http", "--port", "0"],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(folder), str(REPOSITORY)]),
            "SMALL_STATE_KEYS": "hunter2",
        },
        capture_output=True,
        text=True,
        timeout=BOUND_SECONDS,
        check=False,
    )
    assert ended.returncode == 2
    assert "SMALL_STATE_KEYS is shorter than 32 characters" in ended.stderr


pytest_signals = pytest.mark.skipif(sys.platform == "win32", reason="signals")


@pytest.fixture
def process(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Run a server process as a generated package starts it."""
    folder = write_package(tmp_path)
    paths = [str(folder), str(REPOSITORY)]
    started = subprocess.Popen(
        [sys.executable, "-m", "small_mcp", "--http", "--port", "0"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        stderr=subprocess.PIPE,
        text=True,
    )
    yield started
    started.kill()
    started.communicate()


def port_of(process: subprocess.Popen[str]) -> int:
    assert process.stderr is not None
    line = process.stderr.readline()
    served = re.search(r"served at http://127\.0\.0\.1:(\d+)/mcp", line)
    assert served, line
    return int(served[1])


def with_wires(
    process: subprocess.Popen[str], scenario: Callable[[Wires], Coroutine[Any, Any, None]]
) -> None:
    async def bounded() -> None:
        async with Wires(port_of(process)) as wires:
            await asyncio.wait_for(scenario(wires), BOUND_SECONDS)

    asyncio.run(bounded())


@pytest_signals
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_an_idle_process_at_once(
    process: subprocess.Popen[str], number: signal.Signals
) -> None:
    port_of(process)
    process.send_signal(number)
    _, errors = process.communicate(timeout=BOUND_SECONDS)
    assert (process.returncode, errors) == (0, "")


@pytest_signals
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_calls_finish(
    process: subprocess.Popen[str], number: signal.Signals, tmp_path: Path
) -> None:
    async def scenario(wires: Wires) -> None:
        calls = []
        for index in range(3):
            wire = await wires.connect()
            marker = tmp_path / f"started-{index}"
            call = modern("tools/call", {"name": "started", "arguments": {"text": str(marker)}})
            wire.write(http(json.dumps(call).encode(), name="started"))
            calls.append((wire, marker))
        await until(lambda: all(marker.exists() for _, marker in calls))
        process.send_signal(number)
        for wire, marker in calls:
            status, _, body = await wire.response()
            assert status == 200
            assert json.loads(body)["result"]["structuredContent"]["text"] == str(marker)

    with_wires(process, scenario)
    assert process.wait(BOUND_SECONDS) == 0


@pytest_signals
def test_a_second_signal_ends_the_process_without_waiting(process: subprocess.Popen[str]) -> None:
    async def scenario(wires: Wires) -> None:
        wire = await wires.connect()
        call = modern("tools/call", {"name": "wait_for", "arguments": {"text": "never"}})
        wire.write(http(json.dumps(call).encode(), name="wait_for"))
        idle = await wires.connect()
        idle.write(http(b"{}"))
        await idle.response()  # by then the call is in flight
        process.send_signal(signal.SIGTERM)
        assert await idle.rest() == b""  # the drain has begun
        process.send_signal(signal.SIGTERM)

    with_wires(process, scenario)
    assert process.wait(BOUND_SECONDS) == 128 + signal.SIGTERM
