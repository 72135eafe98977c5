"""Tests of code mode in real processes: over stdio and HTTP, at shutdown, and without the extra."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from mcpgen.pipeline.commands.generate import generate
from mcpgen.pipeline.options import GenerateOptions
from mcpgen.testing.client.client import LEGACY, MODERN, Client, RpcError
from mcpgen.testing.client.connections import ConnectionLostError, StdioConnection
from tests.code_mode.conftest import answer_of, text_of
from tests.support.paths import EXAMPLES, REPOSITORY
from tests.support.running_process import ATTEMPTS, PAUSE_SECONDS, wait_for_end
from tests.support.running_server import RunningServer, running

pytestmark = pytest.mark.slow

LOOP = """
total = 0
for n in range(1, 4):
    total += get_pet(pet_id=n)["id"]
{"calls": 3, "is_number": isinstance(total, int)}
"""
CHECK_AND_END = """
import asyncio
from mcpgen.contract.code_mode import CodeBounds
from mcpgen.runtime.code.checker import TypeChecker

async def main():
    checker = TypeChecker(CodeBounds())
    await checker.check("1", "")
    await checker.aclose()

asyncio.run(main())
"""
WITHOUT_SANDBOX = """
import sys
sys.modules["pydantic_monty"] = None
from codeshop_mcp.__main__ import main
sys.exit(main())
"""


def converse(directory: Path, story: Callable[[RunningServer], Awaitable[Any]]) -> Any:
    async def whole() -> Any:
        async with running(directory) as server:
            return await story(server)

    return asyncio.run(whole())


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_code_runs_over_each_transport(project: Path, transport: str, revision: str) -> None:
    async def story(server: RunningServer) -> None:
        client = (
            await Client.over_stdio(server.command, server.environment, revision=revision)
            if transport == "stdio"
            else Client.over_http(server.url, revision=revision)
        )
        async with client:
            answer = answer_of(await client.call_tool("run_code", {"code": LOOP}))
            wrong = await client.call_tool("run_code", {"code": "get_pet(id=1)"})
        assert answer["result"] == {"calls": 3, "is_number": True}
        assert [it["times"] for it in answer["calls"]] == [3]
        assert "It is `def get_pet(" in text_of(wrong)
        assert [it.url[-7:] for it in server.upstream.requests] == ["/pets/1", "/pets/2", "/pets/3"]

    converse(project, story)


def test_a_server_of_many_tools_gets_code_mode_by_generate(tmp_path: Path) -> None:
    directory = tmp_path / "chatdesk-mcp"
    shutil.copytree(EXAMPLES / "chatdesk-mcp", directory)
    options = GenerateOptions(external_validator=False, cache=tmp_path / "cache", code=True)
    report = generate(directory, options, lambda _: None)
    assert report.outcome == "done", list(report.problems)
    code = (
        "closed = []\n"
        "for conversation in list_conversations()['items'][:2]:\n"
        "    closed.append(conversation['id'])\n"
        "len(closed)"
    )

    async def story(server: RunningServer) -> None:
        async with Client.over_http(server.url) as client:
            listed = await client.list_tools()
            found = json.loads(
                text_of(await client.call_tool("search_tools", {"query": "list conversations"}))
            )
            shown = text_of(
                await client.call_tool("describe_tool", {"name": found["tools"][0]["name"]})
            )
            answer = answer_of(await client.call_tool("run_code", {"code": code}))
        assert [it["name"] for it in listed] == [
            "call_tool", "describe_tool", "run_code", "search_tools",
        ]  # fmt: skip
        assert "def list_conversations(" in shown
        assert [it["name"] for it in answer["calls"]] == ["list_conversations"]

    converse(directory, story)
    assert "\ncode: true" in (directory / "mcpgen.yaml").read_text()
    off = generate(directory, replace(options, code=False), lambda _: None)
    assert off.outcome == "done"
    assert not list(directory.rglob("functions.pyi"))


def wait_for_children(pid: int, number: int) -> list[int]:
    """Wait until a process has started a number of child processes."""
    for _ in range(ATTEMPTS):
        if len(found := find_children(pid)) >= number:
            return found
        select.select([], [], [], PAUSE_SECONDS)
    raise AssertionError(f"process {pid} has not started {number} others")


def find_children(pid: int) -> list[int]:
    """Return the running child processes of a process."""
    found = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            status = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(status[1]) == pid and status[0] != "Z":
                found.append(int(folder.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs the processes of Linux")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_the_sandbox_ends_with_the_server(project: Path, how: signal.Signals) -> None:
    async def story(server: RunningServer) -> list[int]:
        connection = await StdioConnection.start(server.command, server.environment)
        client = Client(connection)
        pid = connection.process.pid
        async with client:
            run = asyncio.create_task(client.call_tool("run_code", {"code": "while True: pass"}))
            # One checks types, and one runs the code.
            workers = await asyncio.to_thread(wait_for_children, pid, 2)
            os.kill(pid, how)
            with contextlib.suppress(ConnectionLostError, RpcError):
                await run
        return workers

    workers = converse(project, story)

    assert workers
    for worker in workers:
        wait_for_end(worker)


def test_a_process_that_ends_after_a_check_is_not_aborted() -> None:
    """Without a pause at the end, about one in five is."""
    environ = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    processes = [
        subprocess.Popen([sys.executable, "-c", CHECK_AND_END], env=environ) for _ in range(8)
    ]

    assert [process.wait(timeout=60) for process in processes] == [0] * 8


def test_a_server_without_the_extra_says_so_and_does_not_start(project: Path) -> None:
    environ = {**os.environ, "PYTHONPATH": f"{project / 'src'}{os.pathsep}{REPOSITORY}"}
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT_SANDBOX],
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
        check=False,
    )

    assert ended.returncode == 1
    assert (
        "mcpgen[code] is not installed, which the tool run_code needs: "
        "run `pip install 'mcpgen[code]'`"
    ) in ended.stderr
