"""Tests of `--workers`: processes on one socket, restarted when they die, drained together."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from mcpgen.runtime.process.supervisor import MAX_DELAY_SECONDS, Supervisor
from tests.support.http_server import MODERN, modern
from tests.support.otlp_receiver import OtlpReceiver
from tests.support.replica_processes import (
    SECONDS,
    ServerProcess,
    find_children,
    read_lines,
    serving,
    start_server,
    until,
    write_working_package,
)
from tests.support.running_process import is_running
from tests.support.wire_client import BrokenOffError, WireClient, send

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"),
]
STATELESS = ("--no-sessions", "--workers", "2")


def on_workers(
    folder: Path,
    scenario: Callable[[ServerProcess], Coroutine[Any, Any, None]],
    *options: str,
    settings: dict[str, str] | None = None,
) -> None:
    """Run a test against a server with two workers."""

    async def run() -> None:
        written = write_working_package(folder)
        async with serving(written, *(options or STATELESS), settings=settings) as server:
            await asyncio.wait_for(scenario(server), SECONDS)

    asyncio.run(run())


async def call(server: ServerProcess, tool: str, /, **arguments: Any) -> Any:
    """Call a tool without a session; return the structured result."""
    message = modern("tools/call", {"name": tool, "arguments": arguments})
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": tool}
    response = await send(server.url, "POST", headers, message)
    assert response.status == 200
    return json.loads(await response.read())["result"]["structuredContent"]


def count_threads(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


async def until_served_by(server: ServerProcess, wanted: int) -> set[int]:
    """Make calls until this many processes have answered."""
    seen: set[int] = set()
    async with asyncio.timeout(SECONDS):
        while len(seen) < wanted:
            calls = [call(server, "work", name="x") for _ in range(8)]
            seen |= {result["process"] for result in await asyncio.gather(*calls)}
    return seen


async def until_refused(server: ServerProcess) -> None:
    """Wait until the socket is closed."""
    async with asyncio.timeout(SECONDS):
        with contextlib.suppress(BrokenOffError):
            while True:
                (await send(server.url, "GET")).close()


def test_each_worker_exports_as_an_instance_of_its_own(tmp_path: Path) -> None:
    receiver = OtlpReceiver()

    async def scenario(server: ServerProcess) -> None:
        await until_served_by(server, 2)
        assert count_threads(server.pid) == 1  # at a fork

    try:
        on_workers(tmp_path, scenario, settings=receiver.environment)
        assert all(span.name == "tools/call work" for span in receiver.spans)
        instances = {resource["service.instance.id"] for resource in receiver.resources}
    finally:
        receiver.close()
    assert len(instances) == 2


def test_each_worker_serves_the_socket_and_a_dead_one_is_replaced(tmp_path: Path) -> None:
    async def scenario(server: ServerProcess) -> None:
        workers = await until_served_by(server, 2)
        assert workers == set(find_children(server.pid))
        assert server.pid not in workers
        dead = min(workers)
        os.kill(dead, signal.SIGKILL)
        logged = await server.until_logged(rf"worker \d \(process {dead}\) was killed by signal 9")
        assert "started again in 0.5 s" in logged.string
        replaced = await until_served_by(server, 2)
        assert dead not in replaced
        assert len(find_children(server.pid)) == 2

    on_workers(tmp_path, scenario)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_workers_drain_together_and_the_exit_code_is_0(tmp_path: Path, number: int) -> None:
    async def scenario(server: ServerProcess) -> None:
        await until_served_by(server, 2)
        waiting = [asyncio.create_task(call(server, "wait", name=str(it))) for it in range(6)]
        started = tmp_path / "started"
        await until(lambda: len(read_lines(started)) == 6)
        processes = {line.split()[1] for line in read_lines(started)}
        workers = find_children(server.pid)
        server.kill(number)
        await until_refused(server)  # and calls go on
        assert not any(it.done() for it in waiting)
        for it in range(6):
            (tmp_path / f"{it}.go").touch()
        results = await asyncio.gather(*waiting)
        assert {str(it["process"]) for it in results} == processes
        assert await server.end() == 0
        assert not any(map(is_running, workers))

    on_workers(tmp_path, scenario)


def test_a_second_signal_ends_all_workers_at_once(tmp_path: Path) -> None:
    async def scenario(server: ServerProcess) -> None:
        waiting = asyncio.create_task(call(server, "wait", name="x"))
        await until(lambda: bool(read_lines(tmp_path / "started")))
        workers = find_children(server.pid)
        server.kill(signal.SIGTERM)
        await until_refused(server)
        server.kill(signal.SIGTERM)
        assert await server.end() == 128 + signal.SIGTERM
        await asyncio.gather(waiting, return_exceptions=True)
        await until(lambda: not any(map(is_running, workers)))

    on_workers(tmp_path, scenario)


def test_workers_end_when_their_supervisor_is_killed(tmp_path: Path) -> None:
    async def scenario(server: ServerProcess) -> None:
        workers = find_children(server.pid)
        server.kill()
        await server.end()
        await until(lambda: not any(map(is_running, workers)))

    on_workers(tmp_path, scenario)


def test_a_server_that_cannot_start_says_so_once_and_ends(tmp_path: Path) -> None:
    async def run() -> None:
        folder = write_working_package(tmp_path)
        handlers = folder / "small_mcp" / "_generated" / "tools" / "some.py"
        handlers.write_text("raise RuntimeError('broken')\n")
        server = await start_server(folder, *STATELESS)
        assert await server.end() in {1, 2}
        assert len([line for line in server.log if "RuntimeError: broken" in line]) == 1

    asyncio.run(run())


@pytest.mark.parametrize(
    ("options", "settings", "message"),
    [
        (["--workers", "2"], {}, "--workers needs --no-sessions, or a store that the processes"),
        (STATELESS, {"SMALL_STATE_KEYS": ""}, "SMALL_STATE_KEYS must be set with --workers"),
        (["--workers", "0"], {}, "expected a number from 1 to 256"),
        (["--no-sessions"], {"SMALL_WORKERS": "2", "SMALL_STATE_KEYS": ""}, "SMALL_STATE_KEYS"),
        (["--no-sessions"], {"SMALL_WORKERS": "many"}, "invalid SMALL_WORKERS"),
    ],
)
def test_workers_that_could_not_share_their_clients_are_refused(
    tmp_path: Path, options: list[str], settings: dict[str, str], message: str
) -> None:
    async def run() -> None:
        server = await start_server(write_working_package(tmp_path), *options, settings=settings)
        assert await server.end() == 2
        assert any(message in line for line in server.log), server.log

    asyncio.run(run())


def test_one_worker_is_the_server_itself(tmp_path: Path) -> None:
    async def scenario(server: ServerProcess) -> None:
        assert (await call(server, "work", name="x"))["process"] == server.pid
        client = WireClient(server.url)
        await client.initialize()
        assert "result" in await client.call("work", name="x")

    settings = {"SMALL_STATE_KEYS": ""}
    on_workers(tmp_path, scenario, "--workers", "1", settings=settings)


def test_the_delay_of_restarts_doubles_to_a_limit() -> None:
    supervisor = Supervisor(
        1, [], lambda _: 0, on_ready=lambda: None, stop_seconds=1, first_delay_seconds=1
    )
    supervisor._was_ready = True
    (worker,) = supervisor._workers
    delays = []
    for _ in range(7):
        worker.started_at = worker.due
        supervisor._on_death(worker, 1, -signal.SIGKILL)
        delays.append(worker.due)
    waits = [round(after - delays[0] + 1) for after in delays]
    assert waits == [1, 2, 4, 8, 16, MAX_DELAY_SECONDS, MAX_DELAY_SECONDS]


def test_a_signal_during_the_start_of_a_worker_reaches_it(monkeypatch: pytest.MonkeyPatch) -> None:
    supervisor = Supervisor(1, [], lambda _: 0, on_ready=lambda: None, stop_seconds=1)
    (worker,) = supervisor._workers
    reached: list[int] = []
    monkeypatch.setattr(supervisor, "_send", lambda _: reached.append(worker.pid))

    def fork() -> int:
        signal.raise_signal(signal.SIGTERM)
        return 4242

    monkeypatch.setattr(os, "fork", fork)
    before = signal.signal(signal.SIGTERM, supervisor._on_signal)
    try:
        assert supervisor._fork(worker) is None
        os.close(worker.ready_fd)
        assert reached == [4242]
        worker.pid = 0
        assert supervisor._fork(worker) is None
        assert worker.pid == 0
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("was_ready", [False, True])
def test_a_worker_that_cannot_be_forked_does_not_end_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, was_ready: bool
) -> None:
    supervisor = Supervisor(1, [], lambda _: 0, on_ready=lambda: None, stop_seconds=1)
    supervisor._was_ready = was_ready

    def fork() -> int:
        raise BlockingIOError(errno.EAGAIN, "no more processes")

    monkeypatch.setattr(os, "fork", fork)
    before = len(list(Path("/proc/self/fd").iterdir()))
    assert supervisor._start_due_workers() is None
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert supervisor._is_stopping is not was_ready
    said = "was not started (no more processes); it is started again in 0.5 s"
    assert (said if was_ready else "no worker can be started") in capsys.readouterr().err
