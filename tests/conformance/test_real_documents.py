"""Tests that published documents become servers that install, start and send every call.

Nothing of them is kept: the documents come from `../shared/corpus` and from an npm package, and
the servers are generated into a temporary folder.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcpgen.contract.toolset_names import EVERYTHING
from mcpgen.factory.packages import find_package
from mcpgen.testing.client.client import LEGACY, MODERN, Client
from mcpgen.testing.suite.cases import Case, read_cases
from tests.conformance.conftest import SERVED
from tests.support.paths import SHARED
from tests.support.running_server import (
    NODE_MODULES,
    RunningServer,
    installed,
    run,
    run_json,
    running,
)

CORPUS = SHARED / "corpus" / "docs"
GITHUB = NODE_MODULES / "@octokit" / "openapi" / "generated"
IN_FLIGHT = 50

DOCUMENTS = {
    "facebook-openapi-facebook-campaigns-api-openapi.yaml": 3,
    "twilio-oai-yaml-twilio_lookups_v2.yaml": 10,
    "reonomy-openapi-reonomy-openapi.yaml": 5,
    "n8n-2.8.4-public-api-v1-openapi.yaml": 55,
    "ag-httpbin.org-0.9.2.yaml": 78,
    "api.github.com.json": 1223,
}


def document(name: str) -> Path:
    """Return the path of a real document; skip the test if its source is missing."""
    if name == "api.github.com.json":
        return installed(GITHUB / name, "peers")
    path = CORPUS / name
    if not path.exists():
        pytest.skip(f"no ../shared/corpus, so `{name}` is not tested")
    return path


@pytest.mark.parametrize("name", DOCUMENTS)
def test_real_document_becomes_a_server(
    name: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    source = document(name)
    target = tmp_path / "server"

    async def story() -> dict[str, Any]:
        new = (sys.executable, "-m", "mcpgen", "new", str(source), str(target), "--defaults")
        made: dict[str, Any] = await run_json([*new, "--json"])
        await install(target, tmp_path / "site")
        async with running(target, tmp_path / "site", toolset=EVERYTHING) as server:
            await check_server(server, target, made["tools"])
        if names := find_package(target).search_tools:
            async with running(target, tmp_path / "site") as server:
                await check_search(server, target, names)
        return made

    made = asyncio.run(story())
    left_out = made["left_out"]
    assert made["operations"] == DOCUMENTS[name] == made["tools"] + len(left_out)
    reasons = "".join(f"\n    {entry['operation']}: {entry['code']}" for entry in left_out)
    record_property(
        SERVED,
        f"{name}: {made['tools']} tools of {made['operations']} operations, "
        f"{len(left_out)} left out{reasons}",
    )


async def install(project: Path, site: Path) -> None:
    """Install the package as its users would, but without access to a package index."""
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    code, out, err = await run(
        [*pip, "--no-deps", "--no-build-isolation", "--target", str(site), str(project)]
    )
    assert code == 0, out + err


async def check_server(server: RunningServer, project: Path, tool_count: int) -> None:
    """List all tools in both eras and transports, and send every case of the generated tests."""
    cases = cases_of(project)
    called = {case.tool for case in cases}
    package = find_package(project)
    listed = tool_count + len(package.contract.get("handles", {}))  # `read_result`, of no operation
    for revision in (LEGACY, MODERN):
        async with await Client.over_stdio(
            server.command, server.environment, revision=revision
        ) as client:
            assert len(await client.list_tools()) == listed
            await send_cases(client, cases, server)
        async with Client.over_http(server.url, revision=revision) as client:
            assert len(await client.list_tools()) == listed
            await send_cases(client, cases[:IN_FLIGHT], server)
    uncalled = tool_count - len(called)
    assert uncalled <= tool_count // 50, f"{package.name}: {uncalled} tools have no case"


def cases_of(project: Path) -> list[Case]:
    """Return the cases with a single call; those of several pages need prepared responses."""
    entries = json.loads((project / "tests" / "generated" / "cases.json").read_bytes())
    return [case for case in read_cases(entries) if case.group == "calls" and not case.replies]


async def check_search(server: RunningServer, project: Path, names: tuple[str, ...]) -> None:
    """Send every case through the tool that calls tools which are not listed."""
    async with await Client.over_stdio(server.command, server.environment) as client:
        assert [tool["name"] for tool in await client.list_tools()] == sorted(names)
        cases = [
            replace(
                case, tool=names[-1], arguments={"name": case.tool, "arguments": case.arguments}
            )
            for case in cases_of(project)
        ]
        await send_cases(client, cases, server)


async def send_cases(client: Client, cases: list[Case], server: RunningServer) -> None:
    """Call tools; check that each request reaches the API as the document describes it."""
    server.upstream.forget()
    for start in range(0, len(cases), IN_FLIGHT):
        batch = cases[start : start + IN_FLIGHT]
        results = await asyncio.gather(
            *(client.call_tool(case.tool, case.arguments) for case in batch)
        )
        wrong = [
            f"{case.id}: {result['content'][0].get('text', '')[:300]}"
            for case, result in zip(batch, results, strict=True)
            if result.get("isError", False)
        ]
        assert wrong == []
    problems = [
        f"{recorded}: {recorded.problems}"
        for recorded in server.upstream.requests
        if recorded.problems
    ]
    assert problems == []
    assert len(server.upstream.requests) == len(cases)
