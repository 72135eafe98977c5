"""Tests of a generated server as an ASGI application: driven directly, and under uvicorn."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mcpgen.contract.limits import DEFAULT_LIMITS
from mcpgen.runtime.asgi import AsgiApplication
from mcpgen.runtime.process.log import set_log_style
from mcpgen.runtime.transports.http.asgi_endpoint import AsgiEndpoint
from mcpgen.runtime.transports.http.connection_limits import ConnectionLimits
from mcpgen.runtime.transports.http.exchange import LONG_BYTES
from mcpgen.runtime.transports.shutdown import last_steps
from tests.support.asgi import make_scope
from tests.support.http_requests import ECHO, MODERN_ECHO, USUAL, ask, use_session, use_sse
from tests.support.http_server import (
    BOUND_SECONDS,
    MODERN,
    SentHead,
    Served,
    modern,
    run,
    tool_call,
    until,
)
from tests.support.imports import importing_anew
from tests.support.otlp_receiver import OtlpReceiver
from tests.support.paths import REPOSITORY
from tests.support.running_process import serving
from tests.support.stdio_process import wait_until_exists, write_package

SETTINGS = {"SMALL_ALLOWED_ORIGINS": "https://app.example"}
HEALTH = SentHead("GET", "/health", "", [(b"host", b"127.0.0.1")])
APP = """
from mcpgen.runtime.asgi import AsgiApplication

app = AsgiApplication("small_mcp", with_sse=True)
"""


class Call:
    """A request to an ASGI application, driven message by message."""

    def __init__(self, app: Any, scope: dict[str, Any], *messages: dict[str, Any]) -> None:
        self.received: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.sent: list[dict[str, Any]] = []
        self.is_reading = asyncio.Event()
        self.is_reading.set()
        for message in messages:
            self.received.put_nowait(message)
        self.task = asyncio.create_task(app(scope, self.received.get, self._send))

    async def _send(self, message: dict[str, Any]) -> None:
        await self.is_reading.wait()
        self.sent.append(message)

    async def end(self) -> tuple[int, bytes]:
        """Wait for the end; return the status and the body."""
        await asyncio.wait_for(asyncio.shield(self.task), BOUND_SECONDS)
        if not self.sent:
            return 0, b""
        start, *parts = self.sent
        return start["status"], b"".join(part["body"] for part in parts)


def post(message: Any, *, name: str = "echo", **more: str) -> SentHead:
    fields = {
        "host": "127.0.0.1",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": MODERN,
        "mcp-method": message["method"],
        "mcp-name": name,
        **more,
    }
    return SentHead("POST", "/mcp", "", [(k.encode(), v.encode()) for k, v in fields.items()])


def body(data: bytes, *, more: bool = False) -> dict[str, Any]:
    return {"type": "http.request", "body": data, "more_body": more}


def make_endpoint(served: Served, *, remote: bool = False, count: int = 1000) -> AsgiEndpoint:
    return AsgiEndpoint(served.app, ConnectionLimits(count), allows_remote=remote)


@pytest.mark.parametrize(
    ("server", "allows_remote", "status"),
    [
        (("127.0.0.1", 8000), False, 200),
        (("::1", 8000), False, 200),
        (("/run/petstore.sock", None), False, 200),
        (None, False, 200),
        (("10.0.0.5", 8000), False, 403),
        (("0.0.0.0", 8000), False, 403),
        (("10.0.0.5", 8000), True, 200),
    ],
)
def test_requests_from_other_machines_need_permission(
    server: tuple[str, int] | None, allows_remote: bool, status: int
) -> None:
    async def scenario(served: Served) -> None:
        scope = {**make_scope(HEALTH), "server": server}
        call = Call(make_endpoint(served, remote=allows_remote), scope)
        assert (await call.end())[0] == status

    run(scenario)


@pytest.mark.parametrize(
    ("root_path", "path", "status"),
    [
        ("", "/health", 200),
        ("/petstore", "/petstore/health", 200),
        ("/petstore/", "/petstore/health", 200),
        ("/petstore", "/health", 200),  # servers before version 2.4 of the specification
        ("/petstore", "/petstores/health", 404),
        ("/health", "/health", 404),
    ],
)
def test_the_prefix_of_a_mount_is_removed_from_the_path(
    root_path: str, path: str, status: int
) -> None:
    async def scenario(served: Served) -> None:
        scope = {**make_scope(HEALTH), "root_path": root_path, "path": path}
        assert (await Call(make_endpoint(served), scope).end())[0] == status

    run(scenario)


def test_a_body_may_arrive_in_parts() -> None:
    async def scenario(served: Served) -> None:
        message = modern("tools/call", {"name": "echo", "arguments": {"a": 1}})
        data = json.dumps(message).encode()
        parts = [body(bytes([byte]), more=True) for byte in data]
        call = Call(make_endpoint(served), make_scope(post(message)), *parts, body(b""))
        status, answer = await call.end()
        assert status == 200
        assert b'{\\"a\\": 1}' in answer

    run(scenario)


@pytest.mark.parametrize("announced", [True, False])
def test_a_body_that_is_too_long_is_rejected_before_it_is_read_to_its_end(announced: bool) -> None:
    async def scenario(served: Served) -> None:
        longest = DEFAULT_LIMITS.max_message_bytes
        length = {"content-length": str(longest + 1)} if announced else {}
        scope = make_scope(post(modern("tools/call", {"name": "echo"}), **length))
        parts = [body(bytes(1_000_000), more=True)] * (
            DEFAULT_LIMITS.max_message_bytes // 1_000_000 + 5
        )
        call = Call(endpoint := make_endpoint(served), scope, *parts)
        assert (await call.end())[0] == 413
        assert call.received.qsize() == (len(parts) if announced else 4)
        assert endpoint.limits.buffered_bytes == endpoint.limits.count == 0

    run(scenario)


def test_a_body_that_stalls_is_rejected_with_408() -> None:
    async def scenario(served: Served) -> None:
        scope = make_scope(post(modern("tools/call", {"name": "echo"})))
        call = Call(make_endpoint(served), scope, body(b"{", more=True))
        assert (await call.end())[0] == 408

    run(scenario, limits={"body_timeout_seconds": 0.05})


def test_a_client_that_leaves_within_its_body_gets_no_response() -> None:
    async def scenario(served: Served) -> None:
        scope = make_scope(post(modern("tools/call", {"name": "echo"})))
        parts = body(b"{", more=True), {"type": "http.disconnect"}
        assert await Call(make_endpoint(served), scope, *parts).end() == (0, b"")

    run(scenario)


def test_a_client_that_does_not_read_counts_as_disconnected() -> None:
    async def scenario(served: Served) -> None:
        message = modern("tools/call", {"name": "big", "arguments": {"size": 10 * LONG_BYTES}})
        data = json.dumps(message).encode()
        endpoint = make_endpoint(served)
        call = Call(endpoint, make_scope(post(message, name="big")), body(data))
        call.is_reading.clear()
        assert await call.end() == (0, b"")
        assert endpoint.limits.buffered_bytes == endpoint.limits.count == 0

    run(scenario, limits={"write_timeout_seconds": 0.05})


def test_a_long_response_is_sent_in_parts_and_counted_until_it_is_read() -> None:
    async def scenario(served: Served) -> None:
        message = modern("tools/call", {"name": "big", "arguments": {"size": 10 * LONG_BYTES}})
        data = json.dumps(message).encode()
        endpoint = make_endpoint(served)
        call = Call(endpoint, make_scope(post(message, name="big")), body(data))
        status, answer = await call.end()
        assert (status, len(json.loads(answer)["result"]["content"][0]["text"])) == (
            200,
            10 * LONG_BYTES,
        )
        assert max(len(part["body"]) for part in call.sent[1:]) == LONG_BYTES
        assert endpoint.limits.buffered_bytes == 0

    run(scenario)


def test_requests_above_the_limit_get_503_while_all_others_are_busy() -> None:
    async def scenario(served: Served) -> None:
        endpoint = make_endpoint(served, count=2)
        message = modern("tools/call", {"name": "hang"})
        busy = [
            Call(
                endpoint,
                make_scope(post(message, name="hang")),
                body(json.dumps({**message, "id": number}).encode()),
            )
            for number in range(2)
        ]
        await until(lambda: len(served.dispatcher.calls) == 2)
        assert (await Call(endpoint, make_scope(HEALTH)).end())[0] == 503
        served.tools.go_on.set()
        for call in busy:
            assert (await call.end())[0] == 200
        assert (await Call(endpoint, make_scope(HEALTH)).end())[0] == 200

    run(scenario)


def test_a_request_makes_room_by_ending_one_whose_body_is_incomplete() -> None:
    async def scenario(served: Served) -> None:
        endpoint = make_endpoint(served, count=1)
        scope = make_scope(post(modern("tools/call", {"name": "echo"})))
        stalled = Call(endpoint, scope, body(b"{", more=True))
        await until(stalled.received.empty)
        assert (await Call(endpoint, make_scope(HEALTH)).end())[0] == 200
        assert (await stalled.end())[0] == 503

    run(scenario)


def test_http_2_responses_have_no_connection_header() -> None:
    async def scenario(served: Served) -> None:
        served.app.is_draining = True
        message = modern("tools/call", {"name": "echo"})
        for version, has_close in (("1.1", True), ("2", False)):
            scope = {**make_scope(post(message)), "http_version": version}
            call = Call(make_endpoint(served), scope, body(json.dumps(message).encode()))
            assert (await call.end())[0] == 503
            assert ((b"connection", b"close") in call.sent[0]["headers"]) is has_close

    run(scenario)


# -- the application of a package ------------------------------------------------------------------


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the folder of `small_mcp`, importable in this process."""
    monkeypatch.syspath_prepend(str(write_package(tmp_path)))
    with importing_anew("small_mcp"):
        yield tmp_path


def on_loop(scenario: Any) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(scenario(), 3 * BOUND_SECONDS)

    with asyncio.Runner() as runner:
        runner.run(bounded())


def call_tool(app: Any, name: str, text: str) -> Call:
    message = modern("tools/call", {"name": name, "arguments": {"text": text}})
    scope = make_scope(post(message, name=name))
    return Call(app, scope, body(json.dumps(message).encode()))


@pytest.mark.usefixtures("package")
def test_the_application_starts_with_its_first_request_if_there_is_no_lifespan() -> None:
    async def scenario() -> None:
        app = AsgiApplication("small_mcp")
        calls = [call_tool(app, "echo", str(number)) for number in range(5)]
        for number, call in enumerate(calls):
            status, answer = await call.end()
            content = json.loads(answer)["result"]["structuredContent"]
            assert (status, content) == (200, {"text": str(number)})
        await app.stop()

    on_loop(scenario)


def test_the_end_of_the_lifespan_lets_calls_finish(package: Path) -> None:
    async def scenario() -> None:
        app = AsgiApplication("small_mcp")
        lifespan = Call(app, {"type": "lifespan"}, {"type": "lifespan.startup"})
        marker = package / "started"
        call = call_tool(app, "started", str(marker))
        await until(marker.exists)
        lifespan.received.put_nowait({"type": "lifespan.shutdown"})
        await until(lambda: app._service.app.is_draining)
        refused = call_tool(app, "echo", "late")
        assert (await refused.end())[0] == 503
        assert (await call.end())[0] == 200
        await asyncio.wait_for(lifespan.task, BOUND_SECONDS)
        assert [message["type"] for message in lifespan.sent] == [
            "lifespan.startup.complete",
            "lifespan.shutdown.complete",
        ]

    on_loop(scenario)


@pytest.mark.usefixtures("package")
def test_the_lifespan_of_the_application_can_be_that_of_another() -> None:
    async def scenario() -> None:
        app = AsgiApplication("small_mcp")
        async with app.lifespan(object()):
            assert (await call_tool(app, "echo", "a").end())[0] == 200
        assert app._endpoint is None

    on_loop(scenario)


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("ALLOW_REMOTE", "perhaps", "expected 0, 1, false or true"),
        ("ALLOWED_HOSTS", "a.example, b c", "expected a host name"),
        ("ALLOWED_ORIGINS", "app.example", "expected an origin"),
        ("STATE_KEYS", "short", "shorter than 32 characters"),
    ],
)
def test_an_invalid_setting_fails_the_startup_by_its_name(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, problem: str
) -> None:
    async def scenario() -> None:
        lifespan = Call(
            AsgiApplication("small_mcp"), {"type": "lifespan"}, {"type": "lifespan.startup"}
        )
        await asyncio.wait_for(lifespan.task, BOUND_SECONDS)
        (message,) = lifespan.sent
        assert message["type"] == "lifespan.startup.failed"
        assert f"SMALL_{name}" in message["message"]
        assert problem in message["message"]

    monkeypatch.setenv(f"SMALL_{name}", value)
    on_loop(scenario)


@pytest.mark.usefixtures("package")
def test_the_settings_allow_hosts_origins_and_other_machines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario() -> None:
        app = AsgiApplication("small_mcp")
        for host, origin, status in [
            ("mcp.example", "", 200),
            ("public.example", "", 200),
            ("10.0.0.5:8000", "", 200),
            ("evil.example", "", 421),
            ("mcp.example", "https://app.example", 200),
            ("mcp.example", "https://evil.example", 403),
        ]:
            fields = [(b"host", host.encode())]
            fields += [(b"origin", origin.encode())] if origin else []
            scope = make_scope(SentHead("GET", "/health", "", fields))
            call = Call(app, {**scope, "server": ("10.0.0.5", 8000)})
            assert (await call.end())[0] == status
        await app.stop()

    monkeypatch.setenv("SMALL_ALLOW_REMOTE", "1")
    monkeypatch.setenv("SMALL_ALLOWED_HOSTS", "mcp.example")
    monkeypatch.setenv("SMALL_ALLOWED_ORIGINS", "https://app.example")
    monkeypatch.setenv("SMALL_PUBLIC_URL", "https://public.example/mcp")
    on_loop(scenario)


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("host", "origin", "address", "setting"),
    [
        ("pets.example", "", "127.0.0.1", "SMALL_ALLOWED_HOSTS"),
        ("127.0.0.1", "https://app.example", "127.0.0.1", "SMALL_ALLOWED_ORIGINS"),
        ("127.0.0.1", "", "10.0.0.5", "SMALL_ALLOW_REMOTE=1"),
    ],
)
def test_a_rejection_names_the_setting_that_would_allow_the_request(
    host: str, origin: str, address: str, setting: str
) -> None:
    async def scenario() -> None:
        app = AsgiApplication("small_mcp")
        fields = [(b"host", host.encode())]
        fields += [(b"origin", origin.encode())] if origin else []
        scope = make_scope(SentHead("GET", "/nowhere", "", fields))
        status, answer = await Call(app, {**scope, "server": (address, 8000)}).end()
        assert status in {403, 421}
        message = json.loads(answer)["error"]["message"]
        assert setting in message
        assert "--" not in message  # an option of a command that was not run
        await app.stop()

    on_loop(scenario)


def test_calls_are_exported_logged_and_audited(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contract = package / "small_mcp" / "_generated" / "tools" / "some.json"
    contract.write_text(contract.read_text().replace("GET /echo", "POST /echo"))
    lines: list[str] = []

    async def scenario() -> None:
        app = AsgiApplication("small_mcp")
        for _ in range(2):
            assert (await call_tool(app, "echo", "private").end())[0] == 200
            await app.stop()

    receiver = OtlpReceiver()
    audit = package / "audit.log"
    settings = {**receiver.environment, "SMALL_LOG_FORMAT": "json", "SMALL_LOG_LEVEL": "info"}
    for name, value in (settings | {"SMALL_AUDIT_FILE": str(audit)}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("mcpgen.runtime.process.log._sink", lines.append)
    try:
        on_loop(scenario)
    finally:
        set_log_style("info", "text")
        receiver.close()
    assert [span.name for span in receiver.spans] == ["tools/call echo"] * 2
    assert {span.attributes["network.transport"] for span in receiver.spans} == {"tcp"}
    logged = [json.loads(line) for line in lines]
    assert [it["tool"] for it in logged if "outcome" in it] == ["echo"] * 2
    audited = [json.loads(line) for line in audit.read_text().splitlines()]
    assert [it["trace"] for it in audited] == [span.trace_id for span in receiver.spans]
    assert last_steps == []


def test_web_sockets_are_rejected() -> None:
    async def scenario() -> None:
        app = AsgiApplication("small_mcp")
        call = Call(app, {"type": "websocket"}, {"type": "websocket.connect"})
        await call.task
        assert call.sent == [{"type": "websocket.close"}]

    on_loop(scenario)


# -- under uvicorn ---------------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def under_uvicorn(folder: Path, *options: str) -> Iterator[int]:
    (folder / "application.py").write_text(APP)
    command = ["uvicorn", "application:app", "--port", "0", *options]
    running = r"Uvicorn running on http://127\.0\.0\.1:(\d+)"
    with serving(folder, command, running, SETTINGS) as port:
        yield port


REQUESTS: list[tuple[str, str, dict[str, str], bytes | None]] = [
    ("GET", "/health", {}, None),
    ("HEAD", "/health", {}, None),
    ("GET", "/nowhere", {}, None),
    ("GET", "/health", {"Host": "evil.example"}, None),
    ("GET", "/health", {"Origin": "https://evil.example"}, None),
    ("GET", "/health", {"Origin": "https://app.example"}, None),
    ("OPTIONS", "/mcp", {"Origin": "https://app.example", "Access-Control-Request-Method": "POST"},
     None),
    ("GET", "/mcp", {}, None),
    ("PUT", "/mcp", {}, b"{}"),
    ("DELETE", "/mcp", {}, None),
    ("POST", "/mcp", {**USUAL, "Content-Type": "text/plain"}, b"{}"),
    ("POST", "/mcp", {**USUAL, "Accept": "application/json"}, b"{}"),
    ("POST", "/mcp", USUAL, b"{"),
    ("POST", "/mcp", USUAL, b"[]"),
    ("POST", "/mcp", MODERN_ECHO, json.dumps(ECHO).encode()),
    ("POST", "/mcp", {**MODERN_ECHO, "Mcp-Name": "other"}, json.dumps(ECHO).encode()),
    ("POST", "/mcp", {**MODERN_ECHO, "Mcp-Method": "tools/list"},
     json.dumps(modern("tools/list", {})).encode()),
    ("POST", "/mcp", {**USUAL, "Mcp-Session-Id": "x"}, json.dumps(tool_call("echo")).encode()),
]  # fmt: skip


@pytest.mark.slow
def test_responses_under_uvicorn_are_those_of_our_own_server(tmp_path: Path) -> None:
    folder = write_package(tmp_path)
    own = ["small_mcp", "--http", "--port", "0", "--sse"]
    with (
        serving(folder, own, r"served at http://127\.0\.0\.1:(\d+)", SETTINGS) as port,
        under_uvicorn(folder) as asgi_port,
    ):
        for request in REQUESTS:
            assert ask(asgi_port, *request) == ask(port, *request), request[:3]
        for revision in ("2025-03-26", "2025-06-18", "2025-11-25"):
            assert list(use_session(asgi_port, revision)) == list(use_session(port, revision))
        assert use_sse(asgi_port) == use_sse(port)


@pytest.mark.slow
def test_a_disconnect_under_uvicorn_cancels_a_modern_call(tmp_path: Path) -> None:
    folder = write_package(tmp_path)
    with under_uvicorn(folder, "--root-path", "/mounted") as port:
        marker = tmp_path / "marker"
        call = modern("tools/call", {"name": "wait_for", "arguments": {"text": str(marker)}})
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=BOUND_SECONDS)
        connection.request(
            "POST",
            "/mcp",
            json.dumps(call).encode(),
            {**MODERN_ECHO, "Host": "127.0.0.1", "Mcp-Name": "wait_for"},
        )
        status, _, _ = ask(port, "POST", "/mcp", MODERN_ECHO, json.dumps(ECHO).encode())
        assert status == 200  # by now the first call waits
        connection.close()
        wait_until_exists(marker)
        assert marker.read_text() == "cancelled"


@pytest.mark.slow
def test_uvicorn_does_not_start_with_an_invalid_setting(tmp_path: Path) -> None:
    folder = write_package(tmp_path)
    (folder / "application.py").write_text(APP)
    paths = os.pathsep.join([str(folder), str(REPOSITORY)])
    done = subprocess.run(
        [sys.executable, "-m", "uvicorn", "application:app", "--port", str(free_port())],
        env={**os.environ, "PYTHONPATH": paths, "SMALL_ALLOW_REMOTE": "perhaps"},
        capture_output=True,
        text=True,
        timeout=BOUND_SECONDS * 3,
        check=False,
    )
    assert done.returncode == 3
    assert "invalid SMALL_ALLOW_REMOTE: expected 0, 1, false or true" in done.stderr
