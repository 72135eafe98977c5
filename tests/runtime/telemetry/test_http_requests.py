"""Tests of telemetry and health over HTTP: links, sessions and addresses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from mcpgen.runtime.state.store import StoreUnavailableError
from tests.runtime.telemetry.attribute_table import check_all
from tests.runtime.telemetry.conftest import MakeObserver
from tests.support.http_server import LEGACY, Served, definition, make_served, tool_call
from tests.support.otlp_receiver import OtlpReceiver

LINKED = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")
HEADERS = {"traceparent": f"00-{LINKED[0]}-{LINKED[1]}-01"}
HTTP = (
    ("network.transport", "tcp"),
    ("network.protocol.name", "http"),
    ("network.protocol.version", "1.1"),
)


def on_served(scenario: Callable[[Served], Coroutine[Any, Any, None]], **more: Any) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(30):
            await scenario(make_served(**more))

    asyncio.run(bounded())


def test_a_modern_request_links_the_http_request_and_has_no_session(
    make_observer: MakeObserver, receiver: OtlpReceiver
) -> None:
    async def scenario(served: Served) -> None:
        served.client.address = "192.0.2.7"
        params = {"name": "echo", "arguments": {}}
        parent = {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}
        headers = {**HEADERS, "mcp-session-id": "made-up"}
        await served.client.post_modern("tools/call", params, headers=headers, meta=parent)

    on_served(scenario, definition=definition(observer=make_observer(transport=HTTP)))
    span = receiver.wait_for_span("tools/call echo")
    assert span.links == (LINKED,)
    assert span.parent_id == "00f067aa0ba902b7"
    assert span.attributes["client.address"] == "192.0.2.7"
    assert span.attributes["network.transport"] == "tcp"
    assert "mcp.session.id" not in span.attributes
    check_all(receiver)


@pytest.mark.parametrize("revision", LEGACY)
def test_a_request_of_a_session_has_a_hash_of_its_id(
    revision: str, make_observer: MakeObserver, receiver: OtlpReceiver
) -> None:
    ids: list[str] = []

    async def scenario(served: Served) -> None:
        await served.client.initialize(revision)
        await served.client.post(tool_call("echo"), HEADERS)
        await served.client.post(tool_call("fail", id=2), HEADERS)
        ids.append(served.client.session_id)

    on_served(scenario, definition=definition(observer=make_observer(transport=HTTP)))
    span = receiver.wait_for_span("tools/call echo")
    failed = receiver.wait_for_span("tools/call fail")
    assert span.attributes["mcp.session.id"] == failed.attributes["mcp.session.id"]
    assert ids[0] not in str(receiver.spans)
    assert span.links == (LINKED,)
    assert span.attributes["mcp.protocol.version"] == revision
    assert failed.attributes["error.type"] == "-32603"
    initialize = receiver.wait_for_span("initialize")
    assert "mcp.session.id" not in initialize.attributes
    check_all(receiver)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("path", ["/livez", "/readyz", "/health"])
def test_health_needs_no_call_and_no_token(path: str, method: str) -> None:
    async def scenario(served: Served) -> None:
        response = await served.client.send(method, path=path).complete()
        assert (response.status, response.body) == (200, b"")
        assert served.tools.calls == []

    on_served(scenario)


def test_a_server_that_drains_is_live_but_not_ready() -> None:
    async def scenario(served: Served) -> None:
        await served.app.drain(0)
        statuses = {
            path: (await served.client.send("GET", path=path).complete()).status
            for path in ("/livez", "/readyz", "/health")
        }
        assert statuses == {"/livez": 200, "/readyz": 503, "/health": 503}

    on_served(scenario)


def test_a_server_without_its_store_is_not_ready_until_the_store_is_back() -> None:
    async def scenario(served: Served) -> None:
        problems: list[Exception] = [StoreUnavailableError("the store is away")]

        async def check_store() -> None:
            if problems:
                raise problems.pop()

        served.app.check_store = check_store
        paths = ("/livez", "/readyz", "/readyz")
        statuses = [
            (await served.client.send("GET", path=path).complete()).status for path in paths
        ]
        assert statuses == [200, 503, 200]

    on_served(scenario)


def test_a_store_that_does_not_answer_counts_as_unavailable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario(served: Served) -> None:
        served.app.check_store = asyncio.Event().wait
        assert (await served.client.send("GET", path="/readyz").complete()).status == 503

    monkeypatch.setattr("mcpgen.runtime.transports.http.streamable.READY_CHECK_SECONDS", 0.05)
    on_served(scenario)
