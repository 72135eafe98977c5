"""Tests of the raw client with the shop's server: in memory, stdio and HTTP, in both eras."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mcpgen.runtime.package import ServerPackage
from mcpgen.testing.client.client import LEGACY, MODERN, Client, NoAnswerError, RpcError
from mcpgen.testing.client.connections import ConnectionLostError, build_routing_headers
from mcpgen.testing.mock.upstream import MockUpstream
from tests.support.imports import importing_anew
from tests.support.paths import REPOSITORY, SHOP

NAMES = ["add_item", "delete_item", "get_item", "list_items", "measure", "replace_item"]


@pytest.fixture(autouse=True)
def _shop_is_importable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(SHOP / "src")
    with importing_anew("shop_mcp"):
        yield


@pytest.fixture
def mock() -> MockUpstream:
    return MockUpstream(json.loads((SHOP / "tests/generated/upstream.json").read_bytes()))


def run(talk: Any) -> Any:
    return asyncio.run(asyncio.wait_for(talk, 30))


def child_environ(base_url: str) -> dict[str, str]:
    path = os.pathsep.join([str(SHOP / "src"), str(REPOSITORY)])
    return {**os.environ, "PYTHONPATH": path, "SHOP_BASE_URL": base_url, "SHOP_KEY": "k1"}


COMMAND = (
    sys.executable,
    "-c",
    "import sys; from mcpgen.runtime.serving import serve; sys.exit(serve('shop_mcp'))",
)


async def lists_and_calls(client: Client, mock: MockUpstream) -> None:
    assert [tool["name"] for tool in await client.list_tools()] == NAMES
    result = await client.call_tool("get_item", {"item_id": 7, "fields": ["id", "name"]})
    assert result["structuredContent"]["name"] == "name"
    assert mock.requests[-1].problems == ()
    assert mock.requests[-1].decoded.values("query") == {"fields": ["id", "name"]}
    with pytest.raises(RpcError) as caught:
        await client.call_tool("no_such_tool")
    assert caught.value.code == -32602


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_the_client_lists_and_calls_tools_in_memory(mock: MockUpstream, revision: str) -> None:
    async def talk() -> None:
        package = ServerPackage.load("shop_mcp")
        environ = {"SHOP_KEY": "k1"}
        async with Client.in_memory(package, environ, send=mock.send, revision=revision) as client:
            await lists_and_calls(client, mock)

    run(talk())


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_the_client_lists_and_calls_tools_over_stdio(mock: MockUpstream, revision: str) -> None:
    async def talk() -> None:
        environ = child_environ(await mock.start())
        try:
            async with await Client.over_stdio(COMMAND, environ, revision=revision) as client:
                await lists_and_calls(client, mock)
        finally:
            await mock.stop()

    run(talk())


@asynccontextmanager
async def http_server(base_url: str) -> AsyncIterator[str]:
    """Run the shop's server over HTTP as a child process; yield its URL."""
    code = COMMAND[2].replace("serve('shop_mcp')", "serve('shop_mcp', ['--http', '--port', '0'])")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, env=child_environ(base_url), stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(20):
            said = ""
            while "http://" not in said:
                said = (await process.stderr.readline()).decode()
        yield next(word for word in said.split() if word.startswith("http://")).rstrip(".,")
    finally:
        process.terminate()
        await process.wait()


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_the_client_lists_and_calls_tools_over_http(mock: MockUpstream, revision: str) -> None:
    async def talk() -> None:
        try:
            async with (
                http_server(await mock.start()) as url,
                Client.over_http(url, revision=revision) as client,
            ):
                await lists_and_calls(client, mock)
        finally:
            await mock.stop()

    run(talk())


class Scripted:
    """A server that answers messages with responses prepared by a test."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.sent: list[Any] = []
        self._ready: asyncio.Queue[Any] = asyncio.Queue()

    async def send(self, message: Any) -> None:
        self.sent.append(message)
        for answer in self.answers.pop(0) if self.answers else ():
            if isinstance(answer, dict) and answer.get("id") == "same":
                answer = {**answer, "id": message["id"]}
            self._ready.put_nowait(answer)

    async def receive(self) -> Any:
        answer = await self._ready.get()
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def close(self) -> None:
        pass


def result(value: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": "same", "result": value}


def test_every_page_of_tools_is_read() -> None:
    pages = [
        [result({"tools": [{"name": "a"}], "nextCursor": ""})],
        [result({"tools": [{"name": "b"}]})],
    ]

    async def talk() -> list[Any]:
        async with Client(Scripted(*pages), MODERN) as client:
            return await client.list_tools()

    assert run(talk()) == [{"name": "a"}, {"name": "b"}]


def test_a_repeated_cursor_is_rejected() -> None:
    page = [result({"tools": [], "nextCursor": "x"})]

    async def talk() -> None:
        async with Client(Scripted(page, page, page), MODERN) as client:
            await client.list_tools()

    with pytest.raises(ConnectionLostError, match="twice"):
        run(talk())


def test_a_request_without_an_answer_times_out() -> None:
    async def talk() -> None:
        async with Client(Scripted(), MODERN, timeout_seconds=0.01) as client:
            await client.call_tool("a")

    with pytest.raises(NoAnswerError, match="no answer to `tools/call` within"):
        run(talk())


def test_a_broken_connection_fails_the_request_immediately() -> None:
    async def talk() -> None:
        async with Client(Scripted([ConnectionLostError("gone")]), MODERN) as client:
            await client.call_tool("a")

    with pytest.raises(ConnectionLostError, match="gone"):
        run(talk())


def test_request_of_the_server_is_answered() -> None:
    asked = {"jsonrpc": "2.0", "id": 9, "method": "roots/list"}
    connection = Scripted([asked], [result({"content": []})])

    async def talk() -> None:
        answers = {"roots/list": lambda params: {"roots": []}}
        async with Client(connection, MODERN, answers=answers) as client:
            connection.answers[1] = [{**result({"content": []}), "id": 1}]
            await client.call_tool("a")

    run(talk())

    assert connection.sent[1] == {"jsonrpc": "2.0", "id": 9, "result": {"roots": []}}


def test_modern_requests_have_routing_headers() -> None:
    message = Client(Scripted(), MODERN).message("tools/call", {"name": "ä"}, 1)

    assert build_routing_headers(message) == {
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "=?base64?w6Q=?=",
    }
    assert build_routing_headers({"method": "initialize", "params": {}}) == {}


def test_a_child_that_exits_is_reported_with_its_stderr() -> None:
    async def talk() -> None:
        code = "import sys; sys.stderr.write('no such key'); sys.stderr.flush()"
        async with await Client.over_stdio([sys.executable, "-c", code]) as client:
            await client.list_tools()

    with pytest.raises(ConnectionLostError, match="stderr: no such key"):
        run(talk())
