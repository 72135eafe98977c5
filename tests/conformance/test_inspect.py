"""Tests of `mcpgen inspect` with the real MCP Inspector: command line, web view, and shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import select
import signal
import socket
import stat
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import EXAMPLES, REPOSITORY
from tests.support.running_process import ATTEMPTS, PAUSE_SECONDS, wait_for_end
from tests.support.running_server import NODE_MODULES, inspector, running

pytestmark = pytest.mark.slow

PETSTORE = EXAMPLES / "petstore-mcp"
SECRET = "s3cret-of-the-user"
WAIT_SECONDS = 60
HANGING = """
import os, pathlib, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
while True:
    time.sleep(1)
"""


@pytest.fixture(autouse=True)
def installed_inspector() -> None:
    inspector()


@contextmanager
def inspecting(
    temporary: Path, *arguments: str, variables: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Run `mcpgen inspect` with the installed Inspector and its own temporary directory."""
    process = subprocess.Popen(
        [sys.executable, "-m", "mcpgen", "inspect", *arguments],
        cwd=NODE_MODULES.parent,
        env={
            **os.environ,
            "PYTHONPATH": str(REPOSITORY),
            "TMPDIR": str(temporary),
            "HOME": str(temporary),
            "CI": "true",
            **(variables or {}),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):  # what it started may hold them open
            if pipe is not None:
                pipe.close()


def inspect(
    temporary: Path, *arguments: str, variables: Mapping[str, str] | None = None
) -> tuple[int, str, str]:
    with inspecting(temporary, *arguments, variables=variables) as process:
        out, err = process.communicate(timeout=WAIT_SECONDS)
        assert configurations(temporary) == []
        return process.returncode, out, err


def configurations(temporary: Path) -> list[Path]:
    return list(temporary.glob("mcpgen-inspect-*"))


def call(tool: str, arguments: dict[str, Any]) -> list[str]:
    given = json.dumps(arguments)
    return ["--", "--method", "tools/call", "--tool-name", tool, "--tool-args-json", given]


def test_the_command_line_lists_the_tools(tmp_path: Path) -> None:
    code, out, err = inspect(
        tmp_path, str(PETSTORE), "--cli", "--json", "--", "--method", "tools/list"
    )
    assert code == 0, err
    assert "get_pet" in {tool["name"] for tool in json.loads(out)["result"]["tools"]}


def test_a_call_reaches_the_mock_api(tmp_path: Path) -> None:
    code, out, err = inspect(tmp_path, str(PETSTORE), "--cli", *call("get_pet", {"pet_id": 1}))
    assert code == 0, err
    assert json.loads(out)["structuredContent"]["name"] == "Rex"


def test_the_exit_code_of_a_failed_call_is_that_of_the_inspector(tmp_path: Path) -> None:
    code, out, _ = inspect(tmp_path, str(PETSTORE), "--cli", *call("get_pet", {"pet_id": 0}))
    assert code == 5
    assert json.loads(out)["isError"] is True


def test_live_calls_the_api_with_the_credentials_of_the_user(tmp_path: Path) -> None:
    async def story() -> tuple[tuple[int, str, str], list[str]]:
        async with running(PETSTORE) as server:
            variables = {
                "PETSTORE_BASE_URL": server.upstream.base_url,
                "PETSTORE_API_KEY": SECRET,
            }
            arguments = (str(PETSTORE), "--live", "--cli", *call("get_pet", {"pet_id": 1}))
            done = await asyncio.to_thread(inspect, tmp_path, *arguments, variables=variables)
            (request,) = server.upstream.requests
            return done, [value for name, value in request.headers if name == "X-Petstore-Key"]

    (code, _, err), keys = asyncio.run(story())
    assert code == 0, err
    assert keys == [SECRET]


def test_a_server_by_url_is_inspected(tmp_path: Path) -> None:
    async def story() -> tuple[int, str, str]:
        async with running(PETSTORE) as server:
            listed = ["--cli", "--json", "--", "--method", "tools/list"]
            return await asyncio.to_thread(inspect, tmp_path, server.url, *listed)

    code, out, err = asyncio.run(story())
    assert code == 0, err
    assert json.loads(out)["result"]["tools"]


def test_a_server_that_does_not_start_is_reported(tmp_path: Path) -> None:
    code, _, err = inspect(tmp_path, "false", "--cli", "--", "--method", "tools/list")
    assert code != 0
    assert "error" in err.lower()
    assert "Traceback" not in err


def test_ctrl_c_ends_a_server_that_hangs(tmp_path: Path) -> None:
    script, started = tmp_path / "hanging.py", tmp_path / "pid"
    script.write_text(HANGING)
    command = f"{sys.executable} {script} {started}"
    with inspecting(tmp_path, command, "--cli", "--", "--method", "tools/list") as process:
        wait_until(lambda: started.exists() and started.read_text() != "", process)
        process.send_signal(signal.SIGINT)
        process.wait(WAIT_SECONDS)
    assert process.returncode != 0
    pid = int(started.read_text())
    try:
        wait_for_end(pid)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert configurations(tmp_path) == []


def test_the_web_view_answers_until_it_is_interrupted(tmp_path: Path) -> None:
    port = find_free_port()
    variables = {
        "CLIENT_PORT": str(port),
        "MCP_SANDBOX_PORT": str(find_free_port()),
        "PETSTORE_API_KEY": SECRET,
        "PETSTORE_BASE_URL": "http://127.0.0.1:9",
    }
    with inspecting(tmp_path, str(PETSTORE), "--web", "--live", variables=variables) as process:
        assert process.stdout is not None
        url = read_url(process.stdout)
        with urllib.request.urlopen(url, timeout=WAIT_SECONDS) as response:
            assert response.status == 200
            assert b"<html" in response.read()
        (file,) = configurations(tmp_path)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert SECRET in file.read_text()
        assert SECRET not in "".join(command_lines(process.pid))
        assert any("--config" in line for line in command_lines(process.pid))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=WAIT_SECONDS)
    assert process.returncode == 0
    assert configurations(tmp_path) == []
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


def wait_until(is_so: Any, process: subprocess.Popen[str]) -> None:
    for _ in range(ATTEMPTS):
        if is_so():
            return
        assert process.poll() is None
        select.select([], [], [], PAUSE_SECONDS)
    raise AssertionError("it never was so")


def read_url(output: Any) -> str:
    """Read the URL of the web view, which the Inspector prints."""
    seen = []
    for line in output:
        seen.append(line)
        if found := re.search(r"http://127\.0\.0\.1:\d+\?\S+", line):
            return found[0]
    raise AssertionError(f"no URL: {seen}")


def command_lines(pid: int) -> list[str]:
    """Return the command lines of a process and all its descendants."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    own = Path(f"/proc/{pid}/cmdline").read_text()
    return [own, *(line for child in children for line in command_lines(int(child)))]


def find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
