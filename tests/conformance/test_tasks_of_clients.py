"""Tests of third-party clients that run tasks of everything-mcp to completion."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.support.paths import CACHE, EXAMPLES, REPOSITORY
from tests.support.running_server import inspected, inspector, installed, run, run_json, running

EVERYTHING = EXAMPLES / "everything-mcp"
TRANSPORTS = ("stdio", "http")
FAILED = 5  # exit code of the Inspector for a result with `isError`
EXPECTED = {
    "greeted": "Hello, ada!",
    "computed": "Computed it in 0.2 seconds",
    "confirmed": "old.txt was deleted",
    "answered": "ada answered 2 questions",
    "failed": "The job failed, as it always does.",
    "broken": "the job broke",
    "states": ["working", "completed"],
    "result": "Computed a report in 1 seconds",
    "cancelled": "cancelled",
}


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_client_of_fastmcp_tasks_runs_tasks_to_their_end(transport: str) -> None:
    python = installed(CACHE / "peers" / "fastmcp-tasks-4.1.4" / "bin" / "python", "peers")
    script = REPOSITORY / "tests" / "peers" / "fastmcp_tasks_tour.py"

    async def story() -> None:
        async with running(EVERYTHING) as server:
            order: dict[str, Any] = {"url": server.url}
            if transport == "stdio":
                order = {"command": server.command, "environment": server.environment}
            assert await run_json([str(python), str(script)], stdin=json.dumps(order)) == EXPECTED

    asyncio.run(story())


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_inspector_awaits_tasks(transport: str) -> None:
    program = inspector()

    async def story() -> None:
        async with running(EVERYTHING) as server:
            command = [*program, *inspected(server, transport), "--protocol-era", "modern"]
            call = [*command, "--quiet", "--method", "tools/call", "--tool-name"]
            arguments = ["--tool-arg", "seconds=1", "label=it"]
            computed = await run_json([*call, "slow_compute", *arguments], env=server.environment)
            assert computed["content"][0]["text"] == "Computed it in 1 seconds"
            # This tool refuses every client that does not support tasks.
            code, out, _ = await run([*call, "failing_job"], env=server.environment)
            assert code == FAILED
            assert json.loads(out)["content"][0]["text"] == EXPECTED["failed"]

    asyncio.run(story())
