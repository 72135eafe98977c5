"""Tests of overrides: a workflow with a connection to no node does not replace a valid one."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.testing import Client, MockUpstream, Reply

UPSTREAM = Path(__file__).parent / "generated" / "upstream.json"
SETTINGS = {"N8N_API_KEY": "key-of-the-mock", "N8N_BASE_URL": "http://localhost:5678/api/v1"}


def call(upstream: MockUpstream, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Call a tool in memory, with `upstream` as its API."""

    async def run() -> dict[str, Any]:
        package = ServerPackage.load("n8n_mcp")
        async with Client.in_memory(package, SETTINGS, send=upstream.send) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(run())


def api(answer: object = None) -> MockUpstream:
    """A mock of the API, that gives `answer` if there is one."""
    upstream = MockUpstream(json.loads(UPSTREAM.read_bytes()))
    if answer is not None:
        upstream.reply_with(Reply.from_json({"status": 200, "body": answer}))
    return upstream


def update(upstream: MockUpstream, connections: dict[str, Any]) -> dict[str, Any]:
    """Replace a workflow of the nodes `Start` and `Greet`."""
    nodes = [
        {"name": name, "type": f"n8n-nodes-base.{kind}", "parameters": {}}
        for name, kind in (("Start", "scheduleTrigger"), ("Greet", "emailSend"))
    ]
    body = {"name": "Greet leads", "nodes": nodes, "connections": connections, "settings": {}}
    return call(upstream, "update_workflow", {"id": "2tUt1wbLX592XDdX", "body": body})


def to(*names: str) -> dict[str, Any]:
    return {"main": [[{"node": name, "type": "main", "index": 0} for name in names]]}


@pytest.mark.parametrize(
    "connections",
    [{}, {"Start": to("Greet")}, {"Start": {"main": [None, [{"node": "Greet"}]]}}],
    ids=["none", "one", "an output that leads nowhere"],
)
def test_connections_between_its_nodes_are_sent(connections: dict[str, Any]) -> None:
    upstream = api()
    assert not update(upstream, connections).get("isError")
    assert len(upstream.requests) == 1


@pytest.mark.parametrize(
    ("connections", "missing"),
    [
        ({"Begin": to("Greet")}, "`Begin`"),
        ({"Start": to("Greet", "Log")}, "`Log`"),
        ({"Begin": to("Log")}, "`Begin`, `Log`"),
    ],
)
def test_others_are_refused_and_nothing_is_sent(connections: dict[str, Any], missing: str) -> None:
    upstream = api()
    result = update(upstream, connections)
    assert result["isError"] is True
    assert f"no node is called {missing}" in result["content"][0]["text"]
    assert not upstream.requests
