"""Tests of the petstore server with third-party clients, in each era and transport."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from mcpgen.testing import MockUpstream
from tests.support.paths import CACHE, EXAMPLES, REPOSITORY
from tests.support.running_server import (
    RunningServer,
    inspected,
    inspector,
    installed,
    run_json,
    running,
)

PETSTORE = EXAMPLES / "petstore-mcp"
CLIENTS = REPOSITORY / "tests" / "peers"
TRANSPORTS = ("stdio", "http")
TOOL_COUNT = 14


def sent(upstream: MockUpstream) -> list[str]:
    """Return the requests that reached the API; each must be as the document describes."""
    assert [recorded.problems for recorded in upstream.requests if recorded.problems] == []
    return [f"{recorded.method} {recorded.url}" for recorded in upstream.requests]


def check_calls(server: RunningServer, results: list[dict[str, Any]]) -> None:
    """Check that one call fetched a pet, and the other was rejected for its invalid id."""
    fetched, refused = results
    assert fetched["structuredContent"]["name"] == "Rex"
    assert json.loads(fetched["content"][0]["text"]) == fetched["structuredContent"]
    assert refused["isError"] is True
    assert "pet_id" in refused["content"][0]["text"]
    assert [line.rsplit("/", 2)[-2:] for line in sent(server.upstream)] == [["pets", "42"]]


CALLS = [["get_pet", {"pet_id": 42}], ["get_pet", {"pet_id": "rex"}]]


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize(
    ("mode", "revision"),
    [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")],
)
def test_the_mcp_python_client_calls_every_kind_of_tool(
    mode: str, revision: str, transport: str
) -> None:
    python = installed(CACHE / "peers" / "mcp-2.3.0" / "bin" / "python", "peers")

    async def story() -> None:
        async with running(PETSTORE) as server:
            order: dict[str, Any] = {"mode": mode, "calls": CALLS}
            if transport == "stdio":
                order |= {"command": server.command, "environment": server.settings}
            else:
                order |= {"url": server.url}
            command = [str(python), str(CLIENTS / "mcp_2_client.py")]
            seen = await run_json(command, stdin=json.dumps(order))
            assert seen["revision"] == revision
            assert len(seen["tools"]) == TOOL_COUNT
            assert seen["tools"] == sorted(seen["tools"])
            check_calls(server, seen["results"])

    asyncio.run(story())


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_command_line_calls_every_kind_of_tool(era: str, transport: str) -> None:
    program = inspector()

    async def story() -> None:
        async with running(PETSTORE) as server:
            reached = inspected(server, transport)
            command = [*program, *reached, "--protocol-era", era, "--quiet"]
            listed = await run_json(
                [*command, "--method", "tools/list", "--strict"], env=server.environment
            )
            assert len(listed["tools"]) == TOOL_COUNT
            results = []
            for tool, arguments in CALLS:
                call = ["--method", "tools/call", "--tool-name", tool]
                given = ["--tool-args-json", json.dumps(arguments)]
                results.append(await inspect_call([*command, *call, *given], server))
            check_calls(server, results)

    asyncio.run(story())


async def inspect_call(command: list[str], server: RunningServer) -> dict[str, Any]:
    """Make one call with the Inspector; on a tool error it prints the result and exits with 1."""
    process = await asyncio.create_subprocess_exec(
        *command,
        env=server.environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(), 60)
    assert out, err.decode()
    result: dict[str, Any] = json.loads(out)
    return result
