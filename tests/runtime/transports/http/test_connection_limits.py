"""Tests that the cost of an unknown client is bounded, and that disconnects lose nothing."""

from __future__ import annotations

import asyncio
import gc
import json

import pytest

from mcpgen.contract.limits import DEFAULT_LIMITS
from mcpgen.runtime.state.session_store import MemorySessions, StoredEvent
from tests.runtime.transports.http.test_legacy_sse import INITIALIZED, connect, post
from tests.support.http_server import BOUND_SECONDS, Served, modern, request, run, tool_call

ECHO = {"name": "echo"}
MODERN_HEADERS = {
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "echo",
}

LONGEST = DEFAULT_LIMITS.max_message_bytes


def test_an_oversized_content_length_is_rejected_without_reading_the_body() -> None:
    async def scenario(served: Served) -> None:
        response = await served.client.send(
            "POST",
            b"",
            headers={"content-length": str(LONGEST + 1)},
            ends=False,
        ).complete()
        assert response.status == 413
        assert response.headers["connection"] == "close"

    run(scenario)


@pytest.mark.parametrize("pieces", [1, 9])
def test_an_oversized_body_is_rejected_when_it_exceeds_the_limit(pieces: int) -> None:
    async def scenario(served: Served) -> None:
        piece = b" " * (LONGEST // pieces + 1)
        response = await served.client.send("POST", chunks=[piece] * pieces).complete()
        assert response.status == 413

    run(scenario)


def test_a_body_of_the_maximum_size_is_accepted_in_several_chunks() -> None:
    async def scenario(served: Served) -> None:
        body = json.dumps(modern("tools/call", ECHO)).encode().ljust(LONGEST)
        half = len(body) // 2
        chunks = [body[:half], body[half:], b""]
        exchange = served.client.send("POST", chunks=chunks, headers=MODERN_HEADERS)
        assert (await exchange.complete()).status == 200

    run(scenario)


def test_a_client_that_disconnects_during_its_body_makes_no_call() -> None:
    async def scenario(served: Served) -> None:
        exchange = served.client.send("POST", chunks=[b"{"], ends=False, headers=MODERN_HEADERS)
        await exchange.leave()
        assert served.tools.calls == []

    run(scenario)


def test_the_body_of_a_lost_connection_is_released_at_once() -> None:
    """The exchange itself may be in a reference cycle, which stays until the collector runs."""

    async def scenario(served: Served) -> None:
        part = b" " * 1_000_000
        exchange = served.client.send("POST", chunks=[part], ends=False, headers=MODERN_HEADERS)
        assert held_by(exchange._http) >= len(part)
        await exchange.leave()
        assert held_by(exchange._http) < len(part)

    run(scenario)


def held_by(owner: object) -> int:
    """Return how many bytes of input an object refers to directly."""
    held = gc.get_referents(owner)
    return sum(len(it) for it in held if isinstance(it, bytes | bytearray))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"[" * 100_000, id="depth"),
        pytest.param(b"[" + b"1," * 1_000_000 + b"1]", id="elements"),
        pytest.param(b'{"jsonrpc":"2.0","id":' + b"1" * 5_000 + b"}", id="digits"),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}', id="NaN"),
    ],
)
def test_json_bombs_are_rejected(body: bytes) -> None:
    async def scenario(served: Served) -> None:
        response = await served.client.send("POST", body, headers=MODERN_HEADERS).complete()
        assert response.status == 400
        assert response.json["error"]["code"] in {-32700, -32600}

    run(scenario)


def test_a_call_above_the_limit_is_rejected_with_retry_after() -> None:
    async def scenario(served: Served) -> None:
        await served.client.initialize("2025-11-25")
        waiting = [
            served.client.begin_modern("tools/call", {"name": "hang"}),
            served.client.begin(tool_call("hang")),
        ]
        await served.tools.started.wait()
        await asyncio.sleep(0)
        for refused in (
            served.client.begin_modern("tools/call", ECHO),
            served.client.begin(tool_call("echo")),
        ):
            response = await refused.complete()
            assert response.status == 503
            assert response.headers["retry-after"] == "1"
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        assert (await served.client.post(cancel)).status == 202
        await waiting[1].complete()
        assert (await served.client.post_modern("tools/call", ECHO)).status == 200
        served.tools.go_on.set()
        await waiting[0].complete()

    run(scenario, max_in_flight=2)


def test_listeners_do_not_count_as_calls() -> None:
    async def scenario(served: Served) -> None:
        listening = [
            served.client.begin_modern(
                "subscriptions/listen", {"notifications": {"toolsListChanged": True}}
            )
            for _ in range(5)
        ]
        for exchange in listening:
            await exchange.until_events(1)
        assert (await served.client.post_modern("tools/call", ECHO)).status == 200
        for exchange in listening:
            await exchange.leave()

    run(scenario, max_in_flight=1)


def test_draining_finishes_calls_in_flight_and_rejects_new_ones() -> None:
    async def scenario(served: Served) -> None:
        await served.client.initialize("2025-11-25")
        listening = served.client.send("GET", headers=served.client.session_headers)
        await listening.until_events(1)
        old = served.client.begin(tool_call("hang"))
        new = served.client.begin_modern("tools/call", {"name": "hang"})
        await served.tools.started.wait()
        draining = asyncio.ensure_future(served.app.drain(5))
        await listening.complete()
        refused = await served.client.post_modern("tools/call", ECHO)
        assert refused.status == 503
        assert refused.headers["connection"] == "close"
        assert (await served.client.send("GET", path="/health").complete()).status == 503
        assert not draining.done()
        served.tools.go_on.set()
        await draining
        for exchange in (old, new):
            assert "result" in (await exchange.complete()).json

    run(scenario)


@pytest.mark.parametrize("transport", ["session", "sse"])
def test_draining_ends_a_call_that_waits_for_a_disconnected_client(transport: str) -> None:
    async def scenario(served: Served) -> None:
        client = served.client
        capabilities = {"elicitation": {}}
        if transport == "session":
            await client.initialize("2025-06-18", capabilities)
            asked = client.begin(tool_call("ask"))
            await asked.until_events(1)
        else:
            asked, query = await connect(served)
            params = {"protocolVersion": "2025-06-18", "capabilities": capabilities}
            for message in (request("initialize", params, id=0), INITIALIZED, tool_call("ask")):
                await post(served, query, message)
            await asked.until_events(3)
        await served.app.drain(BOUND_SECONDS / 2)
        answer = (await asked.complete()).body
        assert b"the client disconnected before it answered" in answer

    run(scenario, with_sse=True)


def test_calls_that_do_not_finish_in_time_are_answered_with_an_error() -> None:
    async def scenario(served: Served) -> None:
        await served.client.initialize("2025-11-25")
        old = served.client.begin(tool_call("report", token=1))
        new = served.client.begin_modern("tools/call", {"name": "hang"})
        await old.until_events(2)
        await served.app.drain(0)
        assert (await new.complete()).json["error"]["code"] == -32603
        assert (await old.complete()).messages[-1]["error"]["code"] == -32603
        await served.dispatcher.drain(5)
        assert served.tools.cancelled == 2

    run(scenario)


def test_a_stream_is_bounded_in_bytes_but_keeps_its_newest_event() -> None:
    async def scenario(served: Served) -> None:
        await served.client.initialize("2025-11-25")
        for number in range(1, 6):
            served.store.append_event(
                served.client.session_id, "s", StoredEvent(number, b"x" * 400, False, 0.0)
            )
        kept = await served.store.find_events_after(served.client.session_id, "s", 0)
        assert kept is not None
        assert [event.number for event in kept] == [4, 5]
        big = StoredEvent(6, b"x" * 4000, True, 0.0)
        served.store.append_event(served.client.session_id, "s", big)
        assert await served.store.find_events_after(served.client.session_id, "s", 0) == [big]
        for number in range(4):
            served.store.append_event(served.client.session_id, f"t{number}", big)
        assert await served.store.find_events_after(served.client.session_id, "s", 0) is None

    run(scenario, store=MemorySessions(max_event_bytes=1000, max_streams=3))


def test_an_internal_error_is_answered_with_500_and_logged_in_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def scenario(served: Served) -> None:
        served.app._decode = None  # type: ignore[assignment]  # the fault
        response = await served.client.send("POST", modern("tools/list")).complete()
        assert response.status == 500
        assert b"NoneType" not in response.body

    run(scenario)
    assert len(capsys.readouterr().err.splitlines()) == 1
