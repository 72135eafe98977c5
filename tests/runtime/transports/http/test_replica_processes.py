"""Tests of two replica processes with Valkey or Redis, behind a round-robin balancer."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.kills.run import Replicas, balanced_replicas
from tests.support.balancer import Balancer
from tests.support.http_server import MODERN, modern
from tests.support.redis_server import RedisServer
from tests.support.replica_processes import (
    SECONDS,
    read_lines,
    serving,
    until,
    write_working_package,
)
from tests.support.wire_client import WireClient, WireResponse, send

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="signals"),
]


@dataclass
class Cluster:
    """The processes of a test: store, replicas and balancer."""

    folder: Path
    redis: RedisServer
    replicas: Replicas
    balancer: Balancer

    @property
    def url(self) -> str:
        return self.balancer.url

    @property
    def pids(self) -> set[int]:
        return {server.pid for server in self.replicas.servers}


def on_replicas(
    folder: Path, scenario: Callable[[Cluster], Coroutine[Any, Any, None]], *options: str
) -> None:
    """Run a test against two replicas."""

    async def run() -> None:
        (folder / "redis").mkdir()
        with RedisServer(folder / "redis") as redis:
            async with balanced_replicas(folder, redis.url, *options) as (replicas, balancer):
                cluster = Cluster(folder, redis, replicas, balancer)
                await asyncio.wait_for(scenario(cluster), SECONDS)

    asyncio.run(run())


async def call_modern(url: str, tool: str, /, **arguments: Any) -> Any:
    message = modern("tools/call", {"name": tool, "arguments": arguments})
    return await (await post_modern(url, message, tool)).read()


async def post_modern(url: str, message: Any, name: str = "") -> WireResponse:
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": message["method"]}
    return await send(url, "POST", {**headers, **({"Mcp-Name": name} if name else {})}, message)


async def read_message(response: WireResponse, method: str) -> Any:
    """Return the next message with a method."""
    async with asyncio.timeout(SECONDS):
        async for event in response.events():
            message = json.loads(event["data"]) if event.get("data") else {}
            if message.get("method") == method:
                return message
    raise AssertionError("the stream has ended")


def process_of(answer: Any) -> int:
    process: int = json.loads(answer["result"]["content"][0]["text"])["process"]
    return process


def test_two_replicas_serve_the_sessions_of_three_revisions(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        for revision in ("2025-03-26", "2025-06-18", "2025-11-25"):
            client = WireClient(cluster.url, revision)
            await client.initialize({"elicitation": {}})
            assert "result" in await client.request("resources/subscribe", {"uri": "thing://a"})
            assert "result" in await client.request("logging/setLevel", {"level": "error"})
            served = {process_of(await client.call("work", name="x")) for _ in range(4)}
            assert served == cluster.pids
            listening = await client.listen()
            await client.call("change")
            await client.call("change")
            for _ in range(2):  # announced by each of the replicas
                await read_message(listening, "notifications/tools/list_changed")
            listening.close()
            assert await client.delete() == 204
            assert await client.post({"jsonrpc": "2.0", "method": "notifications/x"}) == 404

    on_replicas(tmp_path, scenario)


def test_a_client_answers_a_question_through_the_balancer(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        client = WireClient(cluster.url)
        await client.initialize({"elicitation": {}})
        for _ in range(2):  # the answers go to the other replica than the questions
            message = {
                "jsonrpc": "2.0",
                "id": 5,
                "method": "tools/call",
                "params": {"name": "ask", "arguments": {"question": "Who?"}},
            }
            asking = await send(cluster.url, "POST", client.headers, message)
            events = asking.events()
            question: Any = {}
            while question.get("method") != "elicitation/create":
                event = await anext(events)
                question = json.loads(event["data"]) if event.get("data") else {}
            answer = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}
            assert await client.post(answer) == 202
            response = json.loads((await anext(events))["data"])
            assert response["result"]["content"][0]["text"] == "decline"
            asking.close()

    on_replicas(tmp_path, scenario)


def test_two_replicas_serve_2024_11_05(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        base = cluster.url.removesuffix("/mcp")
        stream = await send(f"{base}/sse", "GET", {"Accept": "text/event-stream"})
        events = stream.events()
        endpoint = base + (await anext(events))["data"]

        async def post(message: Any) -> None:
            response = await send(endpoint, "POST", {}, {"jsonrpc": "2.0", **message})
            await response.read()
            assert response.status == 202

        params = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {}}
        await post({"id": 0, "method": "initialize", "params": params})
        assert json.loads((await anext(events))["data"])["id"] == 0
        await post({"method": "notifications/initialized"})
        served = set()
        for number in range(1, 5):
            work = {"name": "work", "arguments": {"name": "x"}}
            await post({"id": number, "method": "tools/call", "params": work})
            answer = json.loads((await anext(events))["data"])
            assert answer["id"] == number
            served.add(process_of(answer))
        assert served == cluster.pids
        stream.close()

    on_replicas(tmp_path, scenario, "--sse")


def test_two_replicas_serve_2026_07_28(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        answers = [json.loads(await call_modern(cluster.url, "work", name="x")) for _ in range(4)]
        assert {process_of(answer) for answer in answers} == cluster.pids
        wanted = {"notifications": {"toolsListChanged": True}}
        listening = await post_modern(cluster.url, modern("subscriptions/listen", wanted))
        await read_message(listening, "notifications/subscriptions/acknowledged")
        for _ in range(2):
            await call_modern(cluster.url, "change")
        for _ in range(2):
            await read_message(listening, "notifications/tools/list_changed")
        listening.close()

    on_replicas(tmp_path, scenario)


def test_the_client_of_a_killed_replica_gets_the_end_of_its_call(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        client = WireClient(cluster.url)
        await client.initialize()
        calling = asyncio.create_task(client.call("work", name="long", steps=1000))
        await until(lambda: bool(client.messages))
        pids = {server.pid: server for server in cluster.replicas.servers}
        waiting = asyncio.create_task(client_of_other(cluster, client, "waits"))
        await until(lambda: bool(read_lines(cluster.folder / "started")))
        other = int(read_lines(cluster.folder / "started")[0].split()[1])
        (victim,) = set(pids) - {other}
        os.kill(victim, signal.SIGKILL)
        answer = await calling
        assert answer["id"] == 1
        assert "has ended" in answer["error"]["message"]
        assert client.resumed
        (cluster.folder / "waits.go").touch()
        assert process_of(await waiting) == other

    on_replicas(tmp_path, scenario)


async def client_of_other(cluster: Cluster, client: WireClient, name: str) -> Any:
    """Call `wait` in the same session; the balancer sends it to the other replica."""
    other = WireClient(cluster.url, client.revision, client.session_id)
    return await other.call("wait", name=name, id=2)


def test_without_the_store_stateless_calls_go_on_and_sessions_continue_later(
    tmp_path: Path,
) -> None:
    async def scenario(cluster: Cluster) -> None:
        client = WireClient(cluster.url)
        await client.initialize()
        cluster.redis.stop()
        for _ in range(2):
            message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            refused = await send(cluster.url, "POST", client.headers, message)
            assert refused.status == 503
            error = json.loads(await refused.read())["error"]["message"]
            assert "the state store is unavailable" in error
            assert b'"result"' in await call_modern(cluster.url, "work", name="x")
        pids = cluster.pids
        cluster.redis.start()
        for server in cluster.replicas.servers:
            await server.until_logged("the state store is unavailable")
            await server.until_logged("the state store is available again")
        assert {process_of(await client.call("work", name="x")) for _ in range(4)} == pids
        listening = await client.listen()
        hearing = asyncio.create_task(read_message(listening, "notifications/tools/list_changed"))
        while not hearing.done():
            await client.call("change")
        await hearing
        listening.close()

    on_replicas(tmp_path, scenario)


@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_workers_share_the_sessions_of_their_clients(tmp_path: Path, kind: str) -> None:
    async def scenario(url: str) -> None:
        folder = write_working_package(tmp_path)
        settings = {"SMALL_STATE_URL": url, "SMALL_WORKERS": "2"}
        async with serving(folder, settings=settings) as server:
            client = WireClient(server.url)
            await client.initialize()
            served: set[int] = set()
            async with asyncio.timeout(SECONDS):
                while len(served) < 2:
                    calls = [client.call("work", name="x", id=number) for number in range(8)]
                    served |= {process_of(answer) for answer in await asyncio.gather(*calls)}
            assert server.pid not in served

    if kind == "sqlite":
        asyncio.run(scenario(f"sqlite:///{tmp_path}/state.sqlite"))
    else:
        (tmp_path / "redis").mkdir()
        with RedisServer(tmp_path / "redis") as redis:
            asyncio.run(scenario(redis.url))
