"""Tests of a server whose search uses an embedding model that the operator configured."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.bigapi.conftest import CHATDESK, Connect
from tests.support.embedding_models import write_model
from tests.support.http_server import MODERN, modern
from tests.support.paths import REPOSITORY
from tests.support.replica_processes import SECONDS, find_children
from tests.support.running_process import serving
from tests.support.wire_client import send

SETTING = "CHATDESK_SEARCH_MODEL"
LIBRARIES = ("numpy", "onnxruntime", "tokenizers")
# The API has webhooks and no zebras.
WORDS = {"webhook": 1, "webhooks": 1, "zebra": 1}
WITHOUT_MODEL = f"""
import asyncio, sys
from mcpgen.runtime.package import ServerPackage
from mcpgen.testing.client.client import Client

async def search():
    async with Client.in_memory(ServerPackage.load("chatdesk_mcp"), {{}}) as client:
        assert not (await client.call_tool("search_tools", {{"query": "a bot"}})).get("isError")

asyncio.run(search())
print(*(it for it in sys.modules if it.startswith({(*LIBRARIES, "mcpgen.runtime.embeddings")!r})))
"""


def search(connect: Connect, *, model: Path | None = None, **arguments: Any) -> dict[str, Any]:
    """Search with or without a model; return the result."""

    async def scenario() -> Any:
        settings = {} if model is None else {SETTING: str(model)}
        async with connect(**settings) as (client, _):
            return await client.call_tool("search_tools", arguments)

    (content,) = asyncio.run(scenario())["content"]
    answer: dict[str, Any] = json.loads(content["text"])
    return answer


def list_operations(answer: Mapping[str, Any]) -> Sequence[str]:
    return [tool["operation"] for tool in answer["tools"]]


def test_words_that_the_api_does_not_have_lead_to_tools_of_that_meaning(
    connect: Connect, tmp_path: Path
) -> None:
    model = write_model(tmp_path, WORDS)
    by_words = list_operations(search(connect, query="list the zebra", limit=3))
    by_meaning = list_operations(search(connect, model=model, query="list the zebra", limit=3))
    assert not any("webhook" in it for it in by_words)
    assert all("webhook" in it for it in by_meaning)


def test_filters_and_hints_remain(connect: Connect, tmp_path: Path) -> None:
    model = write_model(tmp_path, WORDS)
    found = search(connect, model=model, query="list the zebra", tag="bots", effect="read")
    assert found["tools"]
    assert all("webhook" not in it for it in list_operations(found))
    weak = search(connect, model=model, query="list frobnicated quuxified zebra")
    assert "of the tags: `webhooks`" in weak["hint"]
    unshared = search(connect, model=model, query="zebra", limit=1)
    assert "webhook" in list_operations(unshared)[0]
    assert unshared["hint"].startswith("No tool has all of this.")


def test_the_name_of_a_tool_comes_first(connect: Connect, tmp_path: Path) -> None:
    found = search(connect, model=write_model(tmp_path, WORDS), query="get_bot")
    assert found["tools"][0]["name"] == "get_bot"


def start(*command: str, **settings: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(CHATDESK / "src"), str(REPOSITORY)])
    return subprocess.run(
        [sys.executable, *command],
        env={**os.environ, "PYTHONPATH": paths, **settings},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


@pytest.mark.slow
def test_a_search_without_a_model_imports_nothing_of_it() -> None:
    done = start("-c", WITHOUT_MODEL)
    assert (done.stdout, done.stderr) == ("\n", "")


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--http", "--port", "0"]], ids=["stdio", "HTTP"])
def test_a_server_with_an_invalid_model_does_not_start(options: list[str], tmp_path: Path) -> None:
    done = start("-m", "chatdesk_mcp", *options, **{SETTING: str(tmp_path)})
    assert done.returncode == 2
    errors = [line for line in done.stderr.splitlines() if not line.startswith("warning: ")]
    files = "`model.onnx` and `tokenizer.json`"
    assert errors == [f"error: invalid {SETTING}: expected a folder with the files {files}"]
    report = start("-m", "chatdesk_mcp", "--check-env", "--json", **{SETTING: str(tmp_path)})
    assert report.returncode == 1
    checked = json.loads(report.stdout)
    assert [it["state"] for it in checked["settings"] if it["name"] == SETTING] == ["invalid"]
    assert len(checked["problems"]) == 1


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_each_worker_answers_searches(tmp_path: Path) -> None:
    settings = {
        "PYTHONPATH": os.pathsep.join([str(CHATDESK / "src"), str(REPOSITORY)]),
        "CHATDESK_STATE_KEYS": "k" * 32,
        SETTING: str(write_model(tmp_path / "model", WORDS)),
    }
    command = ["chatdesk_mcp", "--http", "--port", "0", "--workers", "2", "--no-sessions"]
    others = {*find_children(os.getpid())}
    with serving(tmp_path, command, r"served at http://127\.0\.0\.1:(\d+)/", settings) as port:
        (server,) = {*find_children(os.getpid())} - others
        asyncio.run(_search_until_all_workers_have_the_model(server, port))
        assert not has_model(server)


async def _search_until_all_workers_have_the_model(server: int, port: int) -> None:
    arguments = {"query": "list the zebra", "limit": 1}
    message = modern("tools/call", {"name": "search_tools", "arguments": arguments})
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call"}
    headers["Mcp-Name"] = "search_tools"
    workers = find_children(server)
    async with asyncio.timeout(SECONDS):
        while len(workers) < 2 or not all(map(has_model, workers)):
            url = f"http://127.0.0.1:{port}/mcp"
            calls = [send(url, "POST", headers, message) for _ in range(8)]
            for response in await asyncio.gather(*calls):
                (content,) = json.loads(await response.read())["result"]["content"]
                assert "webhook" in list_operations(json.loads(content["text"]))[0]
            workers = workers if len(workers) == 2 else find_children(server)
    assert find_children(server) == workers  # none has crashed and was replaced


def has_model(process: int) -> bool:
    """Return whether the process has loaded ONNX Runtime."""
    return "onnxruntime" in Path(f"/proc/{process}/maps").read_text()
