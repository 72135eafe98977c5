"""Tests that an API that fails or hangs does not affect calls of other clients."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.support.attack.api import Exchange, HostileApi
from tests.support.attack.documents import api_document, operation
from tests.support.attack.server import (
    ATTACKER_ADDRESS,
    MODERN,
    PREFIX,
    AttackedServer,
    Bystander,
    HttpClient,
    generate,
    serve_http,
)

HANGING_CALLS = 400  # more than the slots and the queue of one origin
FAILING_CALLS = 60  # more than it takes to open a circuit


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Generate a server of two documents; each has an operation that hangs and one that fails."""
    folder = tmp_path_factory.mktemp("two-apis")
    target = generate(folder, api_document(_paths("")))
    other = folder / "other.json"
    other.write_text(json.dumps(api_document(_paths("Other"))))
    command = [sys.executable, "-m", "mcpgen", "source", "add", str(other), str(target)]
    done = subprocess.run(
        [*command, "--name", "other", "--yes"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return target


def _paths(suffix: str) -> dict[str, object]:
    return {
        "/hang": {"get": operation(f"hang{suffix}")},
        "/fail": {"get": operation(f"fail{suffix}")},
    }


async def _hang(exchange: Exchange) -> None:
    await asyncio.Event().wait()


async def _fail(exchange: Exchange) -> None:
    await exchange.answer({"title": "Out of order"}, status=500)


@contextmanager
def _attacked(project: Path) -> Iterator[tuple[AttackedServer, HostileApi, HostileApi]]:
    """Run the server with its healthy API and the other one; yield all three."""
    with ExitStack() as stack:
        apis = [stack.enter_context(HostileApi()) for _ in range(2)]
        for api in apis:
            api.on("/hang", _hang)
            api.on("/fail", _fail)
        environ = {
            f"{PREFIX}BASE_URL": apis[0].base_url,
            f"{PREFIX}OTHER_BASE_URL": apis[1].base_url,
        }
        yield stack.enter_context(serve_http(project, environ)), *apis


@contextmanager
def _calls_under_way(server: AttackedServer, tool: str, count: int) -> Iterator[None]:
    """Send calls of a tool, each on a separate connection, without reading responses."""
    params = {
        "name": tool,
        "arguments": {},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    }
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n"
        f"MCP-Protocol-Version: {MODERN}\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    with ExitStack() as stack:
        for _ in range(count):
            connection = socket.create_connection(
                ("127.0.0.1", server.port), 10, source_address=(ATTACKER_ADDRESS, 0)
            )
            stack.enter_context(connection)
            connection.sendall((head + body).encode())
        yield


def _wait_until_held(api: HostileApi, path: str, least: int) -> None:
    due = time.monotonic() + 20
    while api.requests[path] < least:
        assert time.monotonic() < due, f"{api.requests[path]} requests came"
        time.sleep(0.02)


@pytest.mark.parametrize("tool", ["other_hang_other", "hang"])
def test_hanging_calls_do_not_block_another_client(project: Path, tool: str) -> None:
    """Calls hang at another API, or at the same one, where no client may take every slot."""
    with _attacked(project) as (server, healthy, other):
        attacked = other if tool.startswith("other") else healthy
        with _calls_under_way(server, tool, HANGING_CALLS):
            _wait_until_held(attacked, "/hang", 80)
            with Bystander(server) as bystander:
                time.sleep(1.0)
        assert attacked.requests["/hang"] == 80
        bystander.check()


@pytest.mark.parametrize("tool", ["other_fail_other", "fail"])
def test_failing_calls_are_rejected_only_for_the_client_that_makes_them(
    project: Path, tool: str
) -> None:
    with _attacked(project) as (server, healthy, other):
        attacked = other if tool.startswith("other") else healthy
        with HttpClient(server.port) as attacker, Bystander(server) as bystander:
            answers = [attacker.call_tool(tool, {}) for _ in range(FAILING_CALLS)]
            time.sleep(0.3)
        assert all(answer["result"]["isError"] for answer in answers)
        refused = [
            answer for answer in answers if "was not sent" in answer["result"]["content"][0]["text"]
        ]
        if attacked is other:
            assert refused
            assert attacked.requests["/fail"] < FAILING_CALLS
        bystander.check()


def test_quiet_client_is_served_while_the_circuit_of_another_is_open(project: Path) -> None:
    with _attacked(project) as (server, healthy, _):
        with HttpClient(server.port) as attacker:
            for _ in range(FAILING_CALLS):
                attacker.call_tool("fail", {})
            text = attacker.call_tool("fail", {})["result"]["content"][0]["text"]
            assert "was not sent" in text
            with Bystander(server) as bystander:
                time.sleep(0.5)
        assert healthy.requests["/fail"] < FAILING_CALLS
        bystander.check()
