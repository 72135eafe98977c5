"""Tests of third-party clients with GitHub's 1,223 operations behind three tools."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpgen.testing.client.client import MODERN, Client
from tests.conformance.test_outside_clients import CLIENTS, inspect_call, sent
from tests.support.paths import CACHE
from tests.support.questions import FOUND, OCTOKIT, questions
from tests.support.running_server import (
    RunningServer,
    inspected,
    inspector,
    installed,
    run,
    run_json,
    running,
)

THREE = ["call_tool", "describe_tool", "search_tools"]
BUDGET_TOKENS = 20_000
MAX_ANSWER_BYTES = 4_000
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("search_tools", {"query": "close an issue as not planned"}),
    ("describe_tool", {"name": "issues_update"}),
    (
        "call_tool",
        {
            "name": "issues_update",
            "arguments": {
                "owner": "octo",
                "repo": "demo",
                "issue_number": 7,
                "state": "closed",
                "state_reason": "not_planned",
            },
        },
    ),
    ("call_tool", {"name": "issues_update", "arguments": {"owner": "octo"}}),
]


@pytest.fixture(scope="module")
def github(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Generate GitHub's server once, without models, which would take seconds."""
    source = installed(OCTOKIT / "api.github.com.json", "peers")
    target = tmp_path_factory.mktemp("github") / "server"
    new = (sys.executable, "-m", "mcpgen", "new", str(source), str(target), "--defaults", "-q")
    code, out, err = asyncio.run(run([*new, "--no-models", "--name", "github"]))
    assert code == 0, err + out
    return target


def check(server: RunningServer, results: list[dict[str, Any]]) -> None:
    """Check that search found the tool, and that its call sent the request as described."""
    found, described, called, refused = results
    names = [tool["name"] for tool in json.loads(found["content"][0]["text"])["tools"]]
    assert "issues_update" in names[:5]
    schema = json.loads(described["content"][0]["text"])["inputSchema"]
    assert {"owner", "repo", "issue_number"} <= {*schema["required"]}
    assert called.get("isError", False) is False
    assert refused["isError"] is True
    assert "issue_number" in refused["content"][0]["text"]
    assert [line.split("/", 3)[-1] for line in sent(server.upstream)] == [
        "repos/octo/demo/issues/7"
    ]
    (request,) = server.upstream.requests
    assert json.loads(request.body) == {"state": "closed", "state_reason": "not_planned"}


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_inspector_searches_describes_and_calls(github: Path, era: str) -> None:
    program = inspector()

    async def story() -> None:
        async with running(github) as server:
            reached = inspected(server, "http")
            command = [*program, *reached, "--protocol-era", era, "--quiet"]
            listed = await run_json(
                [*command, "--method", "tools/list", "--strict"], env=server.environment
            )
            assert [tool["name"] for tool in listed["tools"]] == THREE
            assert len(json.dumps(listed)) / 4 < BUDGET_TOKENS
            results = []
            for tool, arguments in CALLS:
                call = ["--method", "tools/call", "--tool-name", tool]
                given = ["--tool-args-json", json.dumps(arguments)]
                results.append(await inspect_call([*command, *call, *given], server))
            check(server, results)

    asyncio.run(story())


def test_mcp_python_client_searches_describes_and_calls(github: Path) -> None:
    python = installed(CACHE / "peers" / "mcp-2.3.0" / "bin" / "python", "peers")

    async def story() -> None:
        async with running(github) as server:
            order = {
                "mode": "auto",
                "calls": CALLS,
                "command": server.command,
                "environment": server.settings,
            }
            command = [str(python), str(CLIENTS / "mcp_2_client.py")]
            seen = await run_json(command, stdin=json.dumps(order))
            assert seen["tools"] == THREE
            check(server, seen["results"])

    asyncio.run(story())


def test_every_search_result_stays_below_the_size_limit(github: Path) -> None:
    asked = [query for name, api in FOUND if api == "github" for query, _ in questions(name, api)]

    async def story() -> None:
        async with (
            running(github) as server,
            await Client.over_stdio(server.command, server.environment, revision=MODERN) as client,
        ):
            for query in asked:
                arguments = {"query": query, "limit": 20}
                result = await client.call_tool("search_tools", arguments)
                assert result["content"][0]["text"].startswith('{"tools":[{')
                assert len(json.dumps(result)) < MAX_ANSWER_BYTES

    asyncio.run(story())


def test_toolsets_list_the_tools_of_their_tags(github: Path) -> None:
    modules = github.glob("src/*/_generated/tools/*.json")
    listed = [path for path in modules if path.stem in ("issues", "code_scanning")]
    assert len(listed) == 2
    expected = {name for path in listed for name in json.loads(path.read_text())["tools"]}

    async def story() -> None:
        async with (
            running(github, toolset="issues, Code-Scanning") as server,
            Client.over_http(server.url) as client,
        ):
            assert {tool["name"] for tool in await client.list_tools()} == expected

    asyncio.run(story())


def test_an_unknown_toolset_exits_with_2_and_a_suggestion(github: Path) -> None:
    async def story() -> None:
        async with running(github) as server:
            code, out, err = await run(
                [*server.command, "--toolset", "isues"], env=server.environment
            )
            assert (code, out) == (2, "")
            assert err == "error: unknown toolset `isues`; did you mean `issues`?\n"

    asyncio.run(story())
