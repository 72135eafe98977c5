"""Tests that a restart, a reload or a closed terminal loses no call."""

from __future__ import annotations

import asyncio
import http.client
import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.attack.api import Exchange, HostileApi
from tests.support.attack.documents import HEALTHY_TOOL, api_document, operation
from tests.support.attack.server import (
    PREFIX,
    AttackedServer,
    HttpClient,
    generate,
    serve_http,
    serve_stdio,
)

BOUND_SECONDS = 60.0
SLOW_SECONDS = 0.5
PRE_STOP_SECONDS = 3.0
SIGNALS = [signal.SIGHUP, signal.SIGTERM]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    paths = {"/slow": {"get": operation("getSlow", schema={"type": "object"})}}
    return generate(tmp_path_factory.mktemp("restart"), api_document(paths))


class SlowApi(HostileApi):
    """An API with a slow operation; `is_asked` is set when it is called."""

    def __init__(self) -> None:
        super().__init__()
        self.is_asked = threading.Event()
        self.on("/slow", self._answer_slowly)

    async def _answer_slowly(self, exchange: Exchange) -> None:
        self.is_asked.set()
        await asyncio.sleep(SLOW_SECONDS)
        await exchange.answer({"done": True})


def environ(api: HostileApi, **more: str) -> dict[str, str]:
    return {f"{PREFIX}BASE_URL": api.base_url, **more}


class InBackground:
    """A call on a separate thread."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self._outcome: Any = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._outcome = self._call()
        except Exception as error:  # noqa: BLE001  (raised by `result`)
            self._outcome = error

    def result(self) -> Any:
        self._thread.join(BOUND_SECONDS)
        assert not self._thread.is_alive()
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome


def health(port: int) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=BOUND_SECONDS)
    try:
        connection.request("GET", "/health")
        with connection.getresponse() as response:
            return response.status
    finally:
        connection.close()


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_lets_running_http_calls_finish(project: Path, number: signal.Signals) -> None:
    with SlowApi() as api, serve_http(project, environ(api)) as server:
        with HttpClient(server.port) as client:
            call = InBackground(lambda: client.call_tool("get_slow", {}))
            assert api.is_asked.wait(BOUND_SECONDS)
            server.process.send_signal(number)
            assert call.result()["result"]["structuredContent"] == {"done": True}
        assert server.process.wait(BOUND_SECONDS) == 0


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_lets_running_stdio_calls_finish(project: Path, number: signal.Signals) -> None:
    with SlowApi() as api, serve_stdio(project, environ(api)) as server:
        stdin, stdout = server.process.stdin, server.process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(stdio_call("get_slow")).encode() + b"\n")
        stdin.flush()
        assert api.is_asked.wait(BOUND_SECONDS)
        server.process.send_signal(number)
        answer = json.loads(stdout.readline())
        assert answer["result"]["structuredContent"] == {"done": True}
        assert server.process.wait(BOUND_SECONDS) == 0


def stdio_call(name: str) -> dict[str, Any]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": name, "arguments": {}, "_meta": meta}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def test_sighup_together_with_sigterm_lets_running_calls_finish(project: Path) -> None:
    """systemd sends both signals with SendSIGHUP=yes."""
    with SlowApi() as api, serve_http(project, environ(api)) as server:
        with HttpClient(server.port) as client:
            call = InBackground(lambda: client.call_tool("get_slow", {}))
            assert api.is_asked.wait(BOUND_SECONDS)
            for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGHUP, signal.SIGHUP):
                server.process.send_signal(number)
                time.sleep(0.05)
            assert call.result()["result"]["structuredContent"] == {"done": True}
        assert server.process.wait(BOUND_SECONDS) == 0


def test_sighup_is_ignored_if_the_parent_ignores_it(project: Path) -> None:
    """`nohup` starts programs this way."""
    former = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with SlowApi() as api, serve_http(project, environ(api)) as server:
            server.process.send_signal(signal.SIGHUP)
            with HttpClient(server.port) as client:
                assert "result" in client.call_tool("get_slow", {})
            assert server.is_alive
    finally:
        signal.signal(signal.SIGHUP, former)


class RespectfulClient:
    """A client that calls a tool, on a new connection each time, until the server is not ready."""

    def __init__(self, server: AttackedServer) -> None:
        self._server = server
        self.answered = 0
        self.saw_not_ready = False

    def run(self) -> None:
        due = time.monotonic() + BOUND_SECONDS
        while time.monotonic() < due:
            if health(self._server.port) == 503:
                self.saw_not_ready = True
                return
            with HttpClient(self._server.port) as client:
                for _ in range(3):
                    answer = client.call_tool(HEALTHY_TOOL, {"id": "mine"})
                    assert answer["result"]["structuredContent"] == {"id": "mine"}
                    self.answered += 1


@pytest.mark.parametrize("way", ["option", "setting"])
def test_a_client_that_respects_readiness_loses_no_call(project: Path, way: str) -> None:
    delay = str(PRE_STOP_SECONDS)
    options = ["--pre-stop-delay", delay] if way == "option" else []
    settings = {f"{PREFIX}PRE_STOP_DELAY_SECONDS": delay} if way == "setting" else {}
    with SlowApi() as api, serve_http(project, environ(api, **settings), *options) as server:
        clients = [RespectfulClient(server) for _ in range(4)]
        running = [InBackground(client.run) for client in clients]
        with HttpClient(server.port) as patient:
            patient.call_tool(HEALTHY_TOOL, {"id": "before"})
            while min(client.answered for client in clients) < 3:
                time.sleep(0.01)
            server.process.send_signal(signal.SIGTERM)
            for each in running:
                each.result()
            assert all(client.saw_not_ready for client in clients)
            # A load balancer that has not noticed yet is served as before, until the delay is over.
            slow = patient.call_tool("get_slow", {})
            assert slow["result"]["structuredContent"] == {"done": True}
        assert server.process.wait(BOUND_SECONDS) == 0
        assert "error" not in server.log


def test_open_connections_are_closed_during_the_pre_stop_delay(project: Path) -> None:
    """An open connection could send another request just when the server exits."""
    with SlowApi() as api, serve_http(project, environ(api), "--pre-stop-delay", "30") as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=BOUND_SECONDS)
        connection.request("GET", "/health")
        response = connection.getresponse()
        response.read()
        assert (response.status, response.getheader("Connection")) == (200, None)
        server.process.send_signal(signal.SIGTERM)
        due = time.monotonic() + BOUND_SECONDS
        # A request that came just before the signal may be answered without asking.
        while response.getheader("Connection") is None and time.monotonic() < due:
            connection.request("GET", "/health")
            response = connection.getresponse()
            response.read()
        assert (response.status, response.getheader("Connection")) == (503, "close")
        connection.close()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(BOUND_SECONDS) == 128 + signal.SIGTERM


@pytest.mark.parametrize("way", ["option", "setting"])
def test_an_invalid_delay_is_reported_at_start(project: Path, way: str) -> None:
    options = ["--pre-stop-delay=nan"] if way == "option" else []
    settings = {f"{PREFIX}PRE_STOP_DELAY_SECONDS": "nan"} if way == "setting" else {}
    with serve_stdio(
        project, settings, "--http", "--port", "0", *options, stderr=subprocess.PIPE
    ) as server:
        _, errors = server.process.communicate(timeout=BOUND_SECONDS)
    assert server.process.returncode in {1, 2}
    expected = "expected seconds from 0 to" if way == "option" else "expected a number from 0 to"
    assert expected in errors.decode()
    assert "Traceback" not in errors.decode()
