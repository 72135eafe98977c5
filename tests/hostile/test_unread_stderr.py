"""Tests that thousands of failing calls are answered although nobody reads stderr."""

from __future__ import annotations

import json
import os
import select
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcpgen.runtime.process.log import MAX_LINE_BYTES, MAX_LINES_PER_SECOND
from tests.support.attack.api import HostileApi
from tests.support.attack.documents import HEALTHY_TOOL, api_document, operation
from tests.support.attack.server import (
    MODERN,
    PREFIX,
    SLOWER,
    AttackedServer,
    Bystander,
    HttpClient,
    generate,
    serve_http,
    serve_stdio,
)

HANDLERS = '''
import asyncio
import gc
import logging
import sys
import threading
import warnings

from mcpgen.runtime import Context, Features, override

features = Features()
TEXT = "\\n\\x1b[31m\\x9b\\u202e\\u2028\\r\\0" + "x" * 3_000


class Unreadable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def fail() -> None:
    raise ValueError(TEXT)


async def fail_later() -> None:
    fail()


def log_failure() -> None:
    try:
        fail()
    except ValueError:
        logging.getLogger("a.library").exception("a library failed")


@override("GET /overridden")
async def overridden(ctx: Context, call_next: object) -> dict[str, object]:
    fail()
    return {}


@features.tool()
async def misbehave(ctx: Context, *, how: str) -> dict[str, object]:
    """Fail in some way."""
    if how == "raise":
        fail()
    elif how == "raise without a text":
        raise Unreadable
    elif how == "log":
        log_failure()
    elif how == "warn":
        warnings.warn_explicit(TEXT, UserWarning, "some_file.py", 7)
    elif how == "lose a task":
        task = asyncio.ensure_future(fail_later())
        await asyncio.sleep(0)
        del task
        gc.collect()
    elif how == "fail in a thread":
        thread = threading.Thread(target=fail)
        thread.start()
        thread.join()
    elif how == "print":
        for stream in (sys.stdout, sys.stderr):
            for _ in range(100):
                print("y" * 999, file=stream, flush=True)
    return {"how": how}
'''
ONE_LINE_EACH = (
    "raise",
    "raise without a text",
    "log",
    "warn",
    "lose a task",
    "fail in a thread",
    "override",
)
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}
ANSWER_SECONDS = 10.0 * SLOWER


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    paths = {"/overridden": {"get": operation("getOverridden")}}
    project = generate(tmp_path_factory.mktemp("unread"), api_document(paths))
    (project / "src/attacked_mcp/handlers/misbehaving.py").write_text(HANDLERS)
    return project


@pytest.fixture
def environ() -> Iterator[dict[str, str]]:
    with HostileApi() as api:
        yield {f"{PREFIX}BASE_URL": api.base_url}


def call_of(how: str, number: int) -> dict[str, Any]:
    name, arguments = ("misbehave", {"how": how})
    if how == "override":
        name, arguments = ("get_overridden", {})
    elif how == "healthy":
        name, arguments = (HEALTHY_TOOL, {"id": f"bystander-{number}"})
    params = {"name": name, "arguments": arguments, "_meta": META}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def exchange(server: AttackedServer, messages: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Send messages over stdio and return the responses by id, within a time limit."""
    stdin, stdout = server.process.stdin, server.process.stdout
    assert stdin is not None
    assert stdout is not None
    data = b"".join(json.dumps(message).encode() + b"\n" for message in messages)
    sending = threading.Thread(target=lambda: (stdin.write(data), stdin.flush()), daemon=True)
    sending.start()
    answers: dict[int, dict[str, Any]] = {}
    due = time.monotonic() + ANSWER_SECONDS
    rest = b""
    while len(answers) < len(messages):
        ready, _, _ = select.select([stdout], [], [], max(0.0, due - time.monotonic()))
        assert ready, f"{len(answers)} of {len(messages)} calls were answered"
        *lines, rest = (rest + os.read(stdout.fileno(), 65_536)).split(b"\n")
        for line in lines:
            answer = json.loads(line)
            answers[answer["id"]] = answer
    sending.join(ANSWER_SECONDS)
    return answers


def wait_for_rounds(bystander: Bystander, number: int) -> None:
    """Wait until a bystander has made this many rounds, or fail."""
    due = time.monotonic() + ANSWER_SECONDS
    while bystander.rounds < number and time.monotonic() < due:
        time.sleep(0.02)


@pytest.mark.parametrize("how", ["raise", "override", "log", "print"])
def test_stdio_calls_are_answered_although_stderr_is_not_read(
    project: Path, environ: dict[str, str], how: str
) -> None:
    number = 100 if how == "print" else 2_000
    messages = [
        call_of("healthy" if index % 10 == 0 else how, index) for index in range(1, number + 1)
    ]
    with serve_stdio(project, environ, stderr=subprocess.PIPE) as server:
        answers = exchange(server, messages)
        for index in range(10, number + 1, 10):
            value = answers[index]["result"]["structuredContent"]
            assert value == {"id": f"bystander-{index}"}
        assert server.process.stdin is not None
        server.process.stdin.close()
        assert server.process.wait(ANSWER_SECONDS) == 0


def test_dropped_log_lines_are_counted_when_stderr_is_read_again(
    project: Path, environ: dict[str, str]
) -> None:
    with serve_stdio(project, environ, stderr=subprocess.PIPE) as server:
        exchange(server, [call_of("print", number) for number in range(1, 51)])
        assert server.process.stdin is not None
        server.process.stdin.close()
        assert server.process.stderr is not None
        lines = server.process.stderr.read().decode().splitlines()
        assert server.process.wait(ANSWER_SECONDS) == 0
    reports = [line.split() for line in lines if "lines were dropped" in line]
    dropped = sum(int(words[1].replace(",", "")) for words in reports)
    assert all(
        line == "y" * 999 for line in lines if "lines were dropped because stderr" not in line
    )
    assert dropped + len(lines) - len(reports) == 50 * 200


@pytest.mark.parametrize("how", ["raise", "override", "log", "print"])
def test_http_clients_are_served_although_stderr_is_not_read(
    project: Path, environ: dict[str, str], how: str
) -> None:
    number = 50 if how == "print" else 300
    with serve_http(project, environ, reads_stderr=False) as server:
        with Bystander(server) as bystander, HttpClient(server.port) as client:
            for _ in range(number):
                call = call_of(how, 1)["params"]
                answer = client.call_tool(call["name"], call["arguments"])
                assert {"result", "error"} & answer.keys()
            wait_for_rounds(bystander, 3)
        bystander.check()


def test_each_failure_is_logged_as_one_short_printable_line(
    project: Path, environ: dict[str, str]
) -> None:
    messages = [call_of(how, index) for index, how in enumerate(ONE_LINE_EACH * 4)]
    with serve_stdio(project, environ) as server:
        exchange(server, messages)
        assert server.process.stdin is not None
        server.process.stdin.close()
        assert server.process.wait(ANSWER_SECONDS) == 0
        log = server.log
    lines = log.splitlines(keepends=True)
    assert len(lines) == len(messages), log
    for line in lines:
        assert line.endswith("\n")
        assert line[:-1].isprintable()
        assert len(line.encode()) <= MAX_LINE_BYTES
        assert "misbehaving.py:" in line or "some_file.py:7" in line, line


def test_a_flood_of_failing_calls_is_logged_in_part_and_counted(
    project: Path, environ: dict[str, str]
) -> None:
    number = 20 * MAX_LINES_PER_SECOND
    with serve_stdio(project, environ) as server:
        began = time.monotonic()
        exchange(server, [call_of("raise", index) for index in range(number)])
        seconds = time.monotonic() - began
        time.sleep(1.0)  # the next second of the limit
        exchange(server, [call_of("raise", 1)])
        assert server.process.stdin is not None
        server.process.stdin.close()
        assert server.process.wait(ANSWER_SECONDS) == 0
        log = server.log
    lines = log.splitlines()
    reports = [line for line in lines if "lines were dropped because there were more" in line]
    assert len(lines) - len(reports) <= MAX_LINES_PER_SECOND * (seconds + 3)
    dropped = sum(int(line.split()[1].replace(",", "")) for line in reports)
    assert dropped + len(lines) - len(reports) == number + 1
