"""Tests of third-party clients that use every feature of everything-mcp, per era and transport."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.support.paths import CACHE, EXAMPLES, REPOSITORY
from tests.support.running_server import (
    NODE_MODULES,
    RunningServer,
    inspected,
    inspector,
    installed,
    run_json,
    running,
)

EVERYTHING = EXAMPLES / "everything-mcp"
PEERS = REPOSITORY / "tests" / "peers"
TRANSPORTS = ("stdio", "http")
HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
LEGACY, MODERN = HANDSHAKES[-1], "2026-07-28"
WEATHER = {"city": "Oslo", "celsius": 21.5, "conditions": ["sunny", "windy"]}
ELICITED = 'User response: action=accept, content={"username": "ada", "email": "a@b.example"}'
COUNTS = {"tools": 44, "prompts": 5, "resources": 4, "templates": 1}

SENT_TO = ["https://accounts.example/sign-in", "https://accounts.example/link"]

# The client, its script, its mode, and the negotiated revision.
PYTHON_VISITS = [
    *(("mcp-1.30.0", "mcp_1_tour.py", revision, revision) for revision in HANDSHAKES),
    *(
        (peer, script, mode, revision)
        for peer, script in (("mcp-2.3.0", "mcp_2_tour.py"), ("fastmcp-4.1.6", "fastmcp_tour.py"))
        for mode, revision in (("legacy", LEGACY), ("auto", MODERN), (MODERN, MODERN))
    ),
]
TYPESCRIPT_VISITS: list[tuple[str, Any, str]] = [
    ("sdk", "legacy", LEGACY),
    ("client", "legacy", LEGACY),
    ("client", "auto", MODERN),
    ("client", {"pin": MODERN}, MODERN),
]


def order_for(server: RunningServer, transport: str, mode: Any) -> str:
    order: dict[str, Any] = {"mode": mode}
    if transport == "stdio":
        order |= {"command": server.command, "environment": server.environment}
    else:
        order |= {"url": server.url}
    return json.dumps(order)


def check(seen: dict[str, Any], revision: str) -> None:
    """Check that each feature returned what its handler states."""
    tools = seen.pop("tools")
    assert tools == sorted(tools)
    changes = seen.pop("changes", None)
    assert changes in (
        None,
        ["notifications/resources/updated", "notifications/tools/list_changed"],
    )
    check_urls(seen, revision)
    if revision < "2025-06-18":
        assert "elicit" in seen.pop("elicited")  # it says that this client cannot be asked
        assert seen.pop("structured") is None
        seen |= {"elicited": ELICITED, "structured": WEATHER}
    assert {"tools": len(tools), **seen} == {
        **COUNTS,
        "revision": revision,
        "kinds": ["text", "image", "resource"],
        "structured": WEATHER,
        "failed": True,
        "elicited": ELICITED,
        "sampled": "LLM response: Hello",
        "roots": "file:///work",
        "said": "All 100 done",
        "prompt": "Prompt with arguments: arg1='a', arg2='b'",
        "read": "This is the content of the static text resource.",
        "templated": "7",
        "completed": ["paris", "park", "party"],
        "progress": [0, 50, 100],
        "logged": 3,
    }


def check_urls(seen: dict[str, Any], revision: str) -> None:
    """Check that the client opened both URLs, or none in a revision without URL elicitation."""
    if "urls" not in seen:
        return  # this client was not asked to
    at_url, linked, urls = seen.pop("at_url"), seen.pop("linked"), seen.pop("urls")
    if revision < "2025-11-25":
        assert "elicit" in at_url
        assert "elicit" in linked
        assert urls == []
    else:
        assert at_url == "The user went to the page"
        assert linked == "The account is linked"
        assert urls == SENT_TO


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize(("peer", "script", "mode", "revision"), PYTHON_VISITS)
def test_the_python_client_passes_the_feature_tour(
    peer: str, script: str, mode: str, revision: str, transport: str
) -> None:
    python = installed(CACHE / "peers" / peer / "bin" / "python", "peers")

    async def story() -> None:
        async with running(EVERYTHING) as server:
            order = order_for(server, transport, mode)
            check(await run_json([str(python), str(PEERS / script)], stdin=order), revision)

    asyncio.run(story())


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize(
    ("package", "mode", "revision"),
    TYPESCRIPT_VISITS,
    ids=[f"{package}-{mode}" for package, mode, _ in TYPESCRIPT_VISITS],
)
def test_the_typescript_client_passes_the_feature_tour(
    package: str, mode: Any, revision: str, transport: str
) -> None:
    node = installed(NODE_MODULES / "node" / "bin" / "node", "peers")
    installed(NODE_MODULES / "@modelcontextprotocol" / package, "peers")
    command = [str(node), str(PEERS / "typescript_tour.mjs"), package]

    async def story() -> None:
        async with running(EVERYTHING) as server:
            order = order_for(server, transport, mode)
            check(await run_json(command, stdin=order, cwd=CACHE / "node"), revision)

    asyncio.run(story())


INSPECTED: list[tuple[list[str], str, int]] = [
    (["--method", "tools/list", "--strict"], "tools", COUNTS["tools"]),
    (["--method", "prompts/list"], "prompts", COUNTS["prompts"]),
    (["--method", "resources/list"], "resources", COUNTS["resources"]),
    (["--method", "resources/templates/list"], "resourceTemplates", COUNTS["templates"]),
    (["--method", "resources/read", "--uri", "test://static-text"], "contents", 1),
    (["--method", "prompts/get", "--prompt-name", "test_prompt_with_image"], "messages", 2),
]


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_accepts_every_list_in_strict_mode(era: str, transport: str) -> None:
    program = inspector()

    async def story() -> None:
        async with running(EVERYTHING) as server:
            reached = inspected(server, transport)
            command = [*program, *reached, "--protocol-era", era, "--quiet"]
            for arguments, key, count in INSPECTED:
                found = await run_json([*command, *arguments], env=server.environment)
                assert len(found[key]) == count

    asyncio.run(story())
