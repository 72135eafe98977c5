"""Tests that one client cannot exhaust connections, sessions, calls or file descriptors."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.attack.api import Exchange, HostileApi
from tests.support.attack.documents import HEALTHY_TOOL, api_document, operation
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
)
from tests.support.attack.wires import (
    BOUND_SECONDS,
    Wires,
    health,
    legacy,
    listen,
    read_response,
    tool_call,
)

DESCRIPTORS = 512
SOCKETS = 1000
SESSIONS = 10_500


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    paths = {"/hang": {"get": operation("getHang", schema={"type": "object"})}}
    return generate(tmp_path_factory.mktemp("one-client"), api_document(paths))


@contextmanager
def attacked(project: Path, descriptors: int | None = None) -> Iterator[AttackedServer]:
    """Run a server whose API never answers `/hang`, optionally with few file descriptors."""

    async def hang(_: Exchange) -> None:
        await asyncio.sleep(BOUND_SECONDS)

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with HostileApi() as api:
        api.on("/hang", hang)
        if descriptors is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, hard))
        try:
            starting = serve_http(project, {f"{PREFIX}BASE_URL": api.base_url})
            server = starting.__enter__()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        try:
            yield server
        finally:
            starting.__exit__(None, None, None)


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"", id="silent"),
        pytest.param(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", id="idle"),
        pytest.param(tool_call("get_hang")[:-5], id="within a body"),
        pytest.param(listen(), id="listening"),
    ],
)
def test_a_thousand_sockets_of_one_client_do_not_block_others(project: Path, sent: bytes) -> None:
    with attacked(project, DESCRIPTORS) as server, Wires(server.port) as wires:
        with Bystander(server) as bystander:
            for _ in range(5):
                wires.open(SOCKETS // 5, sent)
                assert health(server.port) == 200  # also from the attacker's own address
                assert health(server.port, "127.0.0.3") == 200
                with HttpClient(server.port, "127.0.0.4") as newcomer:
                    assert "result" in newcomer.call_tool(HEALTHY_TOOL, {"id": "new"})
            time.sleep(0.5)
        bystander.check()


def test_a_thousand_calls_of_one_client_do_not_block_others(project: Path) -> None:
    with attacked(project) as server, Wires(server.port) as wires:
        wires.open(1100, tool_call("get_hang"))
        time.sleep(1)
        # Their API is busy (test_limits_per_origin.py); a ping fails if no connection is left.
        with HttpClient(server.port, "127.0.0.3") as newcomer:
            newcomer.open_session()
            for _ in range(10):
                sent_at = time.monotonic()
                newcomer.ping()
                assert time.monotonic() - sent_at < ANSWER_SECONDS
        assert health(server.port) == 200
        assert server.growth_mb < MAX_GROWTH_MB


def test_ten_thousand_sessions_of_one_client_do_not_block_others(project: Path) -> None:
    params = {
        "protocolVersion": LEGACY,
        "capabilities": {},
        "clientInfo": {"name": "x" * 5000, "version": "1"},
    }
    request = legacy("initialize", params)
    with attacked(project) as server, Wires(server.port) as wires:
        with HttpClient(server.port, "127.0.0.3") as quiet:
            quiet.open_session()
            with Bystander(server) as bystander:
                (attacker,) = wires.open(1)
                stream = attacker.makefile("rb")
                for _ in range(SESSIONS // 50):
                    attacker.sendall(request * 50)
                    for _ in range(50):
                        assert read_response(stream) == 200
            bystander.check()
            quiet.ping()  # its session is older than any of the attacker's
        with HttpClient(server.port, "127.0.0.4") as newcomer:
            newcomer.open_session()
            newcomer.ping()
        with HttpClient(server.port) as same_address:
            same_address.open_session()
            same_address.ping()


def test_oversized_session_capabilities_are_rejected(project: Path) -> None:
    capabilities = {"experimental": {str(number): {} for number in range(50_000)}}
    params = {"protocolVersion": LEGACY, "capabilities": capabilities}
    with attacked(project) as server, HttpClient(server.port) as client:
        answer = client.post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
        assert "`capabilities` is too large" in answer["error"]["message"]


def test_a_server_out_of_file_descriptors_recovers(project: Path) -> None:
    """The limit is set below the number of open descriptors, so that `accept` fails with EMFILE."""
    with attacked(project) as server, Wires(server.port) as wires:
        pid = server.process.pid
        with Bystander(server) as bystander:
            soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
            in_use = len(list(Path(f"/proc/{pid}/fd").iterdir()))
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (in_use, hard))
            wires.open(20)
            used_before = cpu_seconds(pid)
            time.sleep(2)
            assert cpu_seconds(pid) - used_before < 1.5, "a busy loop"
            assert 1 <= server.log.count("cannot accept connections: ") <= 2
            assert "Traceback" not in server.log
            with (  # a newcomer waits in the backlog, or is told to come again
                HttpClient(server.port, "127.0.0.3", seconds=2) as newcomer,
                contextlib.suppress(OSError, http.client.HTTPException),
            ):
                newcomer.call_tool(HEALTHY_TOOL, {"id": "new"})
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
            time.sleep(0.5)
            assert health(server.port, "127.0.0.3") == 200
            with HttpClient(server.port, "127.0.0.3") as newcomer:
                assert "result" in newcomer.call_tool(HEALTHY_TOOL, {"id": "new"})
        bystander.check()


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100
