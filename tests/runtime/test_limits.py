"""Tests that limits set by the operator reach the parts of the server that they limit."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from mcpgen.contract.limits import LIMIT_NAMES, Limits
from mcpgen.runtime.errors import ToolError
from mcpgen.runtime.process.memory_budget import DecodingBudget, MemoryBudget
from mcpgen.runtime.tools.result_shape import ResultShape
from mcpgen.runtime.tools.results import make_result
from mcpgen.runtime.transports.http.connection_limits import determine_max_connections
from mcpgen.runtime.transports.http.server import HttpServer
from mcpgen.runtime.transports.stdio.pipe import LineBuffer, TruncatedLine
from mcpgen.runtime.upstream.errors import OverloadedError, TimeoutExceededError
from mcpgen.runtime.upstream.http.messages import HttpRequest, HttpResponse
from mcpgen.runtime.upstream.http.pool import ConnectionPool
from mcpgen.runtime.upstream.request.rules import RequestRules
from mcpgen.runtime.upstream.resilience import CircuitBreaker, Course, OriginLimits
from tests.support.http_server import Served, make_served, run
from tests.support.paths import REPOSITORY

HEADERS = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
}
GET = RequestRules("GET", "/pets")


def test_every_limit_is_read_somewhere() -> None:
    sources = "".join(
        path.read_text("utf-8") for path in (REPOSITORY / "mcpgen/runtime").rglob("*.py")
    )
    for name in LIMIT_NAMES:
        assert re.search(rf"(limits|settings|LIMITS)\.{name}\b", sources), name


def test_attempts_time_and_sizes_of_requests_follow_the_settings(
    make_client, upstream, run
) -> None:
    upstream.outcomes = (HttpResponse(503),)
    client = make_client(
        {
            "PETSTORE_MAX_ATTEMPTS": "2",
            "PETSTORE_MAX_RESPONSE_BYTES": "2048",
            "PETSTORE_STREAM_SECONDS": "3",
        }
    )
    with pytest.raises(ToolError):
        run(client.bind("t", GET).request("GET", "/pets", returns=dict))
    assert len(upstream.requests) == 2
    assert {it.max_response_bytes for it in upstream.requests} == {2048}
    assert {it.stream_seconds for it in upstream.requests} == {3}


def test_a_limit_of_the_manifest_is_the_default_of_the_server(
    make_client, contract, upstream, run
) -> None:
    contract["limits"] = {"max_attempts": 1}
    upstream.outcomes = (HttpResponse(503),)
    with pytest.raises(ToolError):
        run(make_client().bind("t", GET).request("GET", "/pets", returns=dict))
    assert len(upstream.requests) == 1


def test_what_an_operation_states_comes_before_the_settings(make_client, upstream, run) -> None:
    upstream.outcomes = (HttpResponse(503),)
    rules = RequestRules("GET", "/pets", attempts=1)
    client = make_client({"PETSTORE_MAX_ATTEMPTS": "5"})
    with pytest.raises(ToolError):
        run(client.bind("t", rules).request("GET", "/pets", returns=dict))
    assert len(upstream.requests) == 1


def test_a_call_ends_after_the_time_of_the_settings(make_client, run) -> None:
    async def never(request: HttpRequest) -> HttpResponse:
        await asyncio.Event().wait()
        raise AssertionError

    client = make_client({"PETSTORE_TIMEOUT_SECONDS": "0.1"})
    client._send = never
    with pytest.raises(TimeoutExceededError, match=r"within 0\.1 seconds"):
        run(client.bind("t", GET).request("GET", "/pets", returns=dict))


def test_requests_beyond_concurrency_and_queue_fail_at_once(run) -> None:
    async def scenario() -> None:
        limits = OriginLimits(
            lambda: 0.0, lambda: 0.0, Limits({"max_concurrent": 1, "max_queued": 1})
        )
        release = asyncio.Event()

        async def send(_: HttpRequest) -> HttpResponse:
            await release.wait()
            return HttpResponse(200)

        async def call() -> HttpResponse:
            course = Course(asyncio.timeout(None))
            return await limits.send(send, HttpRequest("GET", "https://a.example/"), "", course)

        tasks = [asyncio.create_task(call()) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(OverloadedError):
            await call()
        release.set()
        assert [it.status for it in await asyncio.gather(*tasks)] == [200, 200]

    run(scenario())


def test_the_circuit_follows_the_settings() -> None:
    now = 0.0
    circuit = CircuitBreaker(
        lambda: now,
        lambda: 0.5,
        Limits({"circuit_requests": 2, "circuit_window_seconds": 100, "circuit_rest_seconds": 50}),
    )
    circuit.record(circuit.admit("a"), failed=True)
    now = 90.0
    circuit.record(circuit.admit("a"), failed=True)
    with pytest.raises(OverloadedError, match="Try again in 50 seconds"):
        circuit.check("a")
    now = 141.0
    circuit.check("a")


def test_connections_to_the_api_follow_the_settings() -> None:
    limits = Limits({"max_concurrent": 7, "idle_timeout_seconds": 9})
    connector: Any = None
    pool = ConnectionPool(connector, limits)
    assert pool._max_connections == 7
    assert pool.find_idle_seconds("") == 9


def test_a_result_is_cut_at_four_bytes_for_each_token(make_client, contract) -> None:
    shape = ResultShape("GET /text", max_bytes=1000)
    assert make_result("x" * 1000, shape).content[0].text == "x" * 1000
    short = make_result("é" * 501, shape)
    assert short.content[0].text == "é" * 375  # there is room for the note
    assert short.content[1].text == "Cut: `/` shows 375 of 501 characters."
    assert make_client({"PETSTORE_MAX_RESULT_TOKENS": "250"}).limits.max_result_tokens == 250


def test_messages_over_stdio_follow_the_settings() -> None:
    buffer = LineBuffer(65_536)
    lines = buffer.feed(b"x" * 65_537)
    assert isinstance(lines[0], TruncatedLine)


def test_memory_budgets_can_be_resized() -> None:
    async def scenario() -> None:
        budget, decoding = MemoryBudget(100), DecodingBudget(100)
        budget.resize(10)
        decoding.resize(10)
        budget.change_buffered(1)
        waiting = asyncio.create_task(budget.reserve(100))
        await asyncio.sleep(0)
        assert budget.is_short
        budget.change_buffered(-1)
        await waiting
        await decoding.take("a", 100)
        assert decoding.taken == {"a": 10}

    asyncio.run(scenario())


def test_the_http_server_follows_the_settings() -> None:
    async def scenario() -> None:
        served = make_served(max_in_flight=3, limits={"keep_alive_seconds": 5})
        server = HttpServer(served.app)
        assert server.limits.max_connections == determine_max_connections(12_000)
        assert server._state.settings.keep_alive_seconds == 5
        assert served.app._calls_in_flight.max_amount == 3

    asyncio.run(scenario())


def test_a_message_above_the_setting_is_rejected_over_http() -> None:
    async def scenario(served: Served) -> None:
        response = await served.client.send("POST", b" " * 2000, headers=HEADERS).complete()
        assert response.status == 413

    run(scenario, limits={"max_message_bytes": 1000})
