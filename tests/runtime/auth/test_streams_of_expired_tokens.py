"""Tests of access tokens that expire during a stream: a stream that only listens ends."""

from __future__ import annotations

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from mcpgen.runtime.auth.claims import CLOCK_SKEW_SECONDS
from tests.support.asgi import AsgiExchange
from tests.support.authorized import TokenClient
from tests.support.authorized_scene import LIFETIME_SECONDS, Scene, observe
from tests.support.http_server import BOUND_SECONDS, Client, Exchange, request, tool_call

LISTEN = {"notifications": {"toolsListChanged": True}}
STATIC = "a-static-token"


@pytest.fixture(params=["memory", "replica", "asgi"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    chosen: str = request.param
    if chosen == "asgi":
        monkeypatch.setattr(Client, "make_exchange", AsgiExchange)
    return chosen


def listen_by_get(client: TokenClient, last_event_id: str = "") -> Exchange:
    resumed = {"last-event-id": last_event_id} if last_event_id else {}
    return client.send("GET", headers={**client.session_headers, **resumed})


def test_a_get_stream_ends_with_its_token_and_is_resumed_with_a_new_one(kind: str) -> None:
    async def scenario(scene: Scene) -> None:
        client = scene.client()
        await client.initialize("2025-11-25")
        stream = listen_by_get(client)
        await stream.until_events(1)
        await scene.wait(LIFETIME_SECONDS + CLOCK_SKEW_SECONDS - 5)
        assert not stream.response.is_complete
        await scene.wait(5)
        (opened,) = (await stream.complete()).events
        refused = await listen_by_get(client).complete()
        assert refused.status == 401
        assert 'error="invalid_token"' in refused.headers["www-authenticate"]
        client.token = scene.client(2 * LIFETIME_SECONDS).token
        resumed = listen_by_get(client, opened["id"])
        assert (await resumed.until(lambda response: bool(response.status))).status == 200
        await resumed.vanish()

    observe(kind, scenario)


def test_a_subscription_ends_with_its_token(kind: str) -> None:
    async def scenario(scene: Scene) -> None:
        client = scene.client()
        stream = client.begin_modern("subscriptions/listen", LISTEN, id="mine")
        other = scene.client(2 * LIFETIME_SECONDS).begin_modern("subscriptions/listen", LISTEN)
        for each in (stream, other):
            await each.until_events(1)
        await scene.wait_until_expired()
        *_, ended = (await stream.complete()).messages
        assert (ended["id"], ended["result"]["resultType"]) == ("mine", "complete")
        again = await client.begin_modern("subscriptions/listen", LISTEN).complete()
        assert again.status == 401
        await scene.wait(0)
        assert not other.response.is_complete
        await other.leave()

    observe(kind, scenario)


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_a_call_that_outlives_its_token_is_answered(kind: str, revision: str) -> None:
    async def scenario(scene: Scene) -> None:
        client = scene.client()
        params = {"name": "report", "arguments": {}}
        if revision == "2026-07-28":
            call = client.begin_modern("tools/call", params, meta={"progressToken": 1})
        else:
            await client.initialize(revision)
            call = client.begin(tool_call("report", token=1))
        await call.until(lambda response: b"notifications/progress" in response.body)
        await scene.wait_until_expired()
        scene.served.tools.go_on.set()
        *_, answer = (await call.complete()).messages
        assert answer["id"] == 1
        assert "content" in answer["result"]
        refused = await client.begin_modern("tools/list").complete()
        assert refused.status == 401

    observe(kind, scenario)


def test_a_stream_of_2024_11_05_ends_with_its_token_once_its_calls_are_answered(kind: str) -> None:
    async def scenario(scene: Scene) -> None:
        client = scene.client()
        stream = client.send("GET", path="/sse")
        (endpoint,) = (await stream.until_events(1)).events
        query = endpoint["data"].partition("?")[2]

        async def post(message: Any) -> None:
            sent = client.send("POST", message, path="/messages", query=query)
            assert (await sent.complete()).status == 202

        about = {"protocolVersion": "2024-11-05", "capabilities": {}}
        about |= {"clientInfo": {"name": "test", "version": "1"}}
        await post(request("initialize", about, id=0))
        await stream.until_events(2)
        await post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        await post(tool_call("hang", id=7))
        await asyncio.wait_for(scene.served.tools.started.wait(), BOUND_SECONDS)
        await scene.wait_until_expired()
        scene.served.tools.go_on.set()
        *_, answer = (await stream.until_events(3)).events
        assert json.loads(answer["data"])["id"] == 7
        assert not stream.response.is_complete
        await scene.wait(0)
        await stream.complete()
        assert scene.served.tools.cancelled == 0

    observe(kind, scenario)


def test_the_streams_of_a_static_token_end_when_its_line_is_removed(
    kind: str, tmp_path: Path
) -> None:
    def list_tokens(*tokens: str) -> None:
        lines = (f"{it[:3]} {hashlib.sha256(it.encode()).hexdigest()}\n" for it in tokens)
        file.write_text("".join(lines))

    async def scenario(scene: Scene) -> None:
        client, other = (TokenClient(scene.served, it) for it in (STATIC, "other-token"))
        streams = [it.begin_modern("subscriptions/listen", LISTEN) for it in (client, other)]
        for each in streams:
            await each.until_events(1)
        list_tokens("other-token")
        static: Any = scene.authorization._authorizer._static
        static._next_check = 0.0
        await scene.wait(10 * LIFETIME_SECONDS)
        await streams[0].complete()
        assert not streams[1].response.is_complete
        await streams[1].leave()

    file = tmp_path / "tokens"
    list_tokens(STATIC, "other-token")
    file.chmod(0o600)
    observe(kind, scenario, AUTH_TOKENS_FILE=str(file))
