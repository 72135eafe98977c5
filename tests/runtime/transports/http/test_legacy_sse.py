"""Tests of HTTP+SSE of 2024-11-05: two endpoints, one stream."""

from __future__ import annotations

import asyncio

import pytest

from mcpgen.runtime.protocol.messages import Change
from tests.support.http_server import (
    Exchange,
    Response,
    Served,
    check_frames,
    modern,
    request,
    run,
    tool_call,
)

REVISION = "2024-11-05"
INITIALIZE = request(
    "initialize",
    {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    id=0,
)
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


async def connect(served: Served) -> tuple[Exchange, str]:
    """Open a stream; return it, and the query of its endpoint for messages."""
    stream = served.client.send("GET", path="/sse", headers={"accept": "text/event-stream"})
    event = (await stream.until_events(1)).events[0]
    path, _, query = event["data"].partition("?")
    assert (event["event"], path) == ("endpoint", f"{stream.prefix}/messages")
    return stream, query


async def post(served: Served, query: str, body: object) -> Response:
    return await served.client.send("POST", body, path="/messages", query=query).complete()


def answers(response: Response) -> list[object]:
    return [it.get("id") for it in Response(body=response.body.split(b"\n\n", 1)[1]).messages]


@pytest.mark.requirement("L042", "L043", "L044")
def test_responses_are_sent_on_the_stream_and_not_to_the_post() -> None:
    async def scenario(served: Served) -> None:
        stream, query = await connect(served)
        for message in (INITIALIZE, INITIALIZED, tool_call("report", id=1, token=1)):
            accepted = await post(served, query, message)
            assert (accepted.status, accepted.body) == (202, b"")
        served.tools.go_on.set()
        response = await stream.until_events(5)
        assert answers(response) == [0, None, None, 1]
        assert {event["event"] for event in response.events[1:]} == {"message"}
        assert response.headers["x-accel-buffering"] == "no"
        events = Response(headers=response.headers, body=response.body.split(b"\n\n", 1)[1])
        check_frames(REVISION, [INITIALIZE, tool_call("report")], events)
        await stream.leave()

    run(scenario, with_sse=True)


def test_a_client_is_notified_of_changes() -> None:
    async def scenario(served: Served) -> None:
        stream, query = await connect(served)
        await post(served, query, INITIALIZE)
        await post(served, query, INITIALIZED)
        served.dispatcher.announce(Change("tools"))
        await stream.until_events(3)
        await stream.leave()

    run(scenario, with_sse=True)


def test_the_session_and_its_calls_end_with_the_stream() -> None:
    async def scenario(served: Served) -> None:
        stream, query = await connect(served)
        await post(served, query, INITIALIZE)
        await post(served, query, tool_call("hang"))
        await served.tools.started.wait()
        await stream.leave()
        assert (await post(served, query, tool_call("echo"))).status == 404
        await served.dispatcher.drain(5)
        assert served.tools.cancelled == 1

    run(scenario, with_sse=True)


@pytest.mark.parametrize(
    ("method", "path", "query", "body", "status"),
    [
        ("POST", "/messages", "", INITIALIZE, 404),
        ("POST", "/messages", "session_id=guess", INITIALIZE, 404),
        ("POST", "/messages", "", b"{", 400),
        ("GET", "/messages", "", None, 405),
        ("POST", "/sse", "", INITIALIZE, 405),
    ],
)
def test_a_request_without_a_matching_session_or_endpoint_is_rejected(
    method: str, path: str, query: str, body: object, status: int
) -> None:
    async def scenario(served: Served) -> None:
        response = await served.client.send(method, body, path=path, query=query).complete()
        assert response.status == status

    run(scenario, with_sse=True)


def test_the_accept_header_must_include_event_streams() -> None:
    async def scenario(served: Served) -> None:
        headers = {"accept": "application/json"}
        assert (
            await served.client.send("GET", path="/sse", headers=headers).complete()
        ).status == 406

    run(scenario, with_sse=True)


def test_legacy_sse_is_disabled_by_default() -> None:
    async def scenario(served: Served) -> None:
        assert (await served.client.send("GET", path="/sse").complete()).status == 404

    run(scenario)


def test_draining_finishes_the_calls_in_flight() -> None:
    async def scenario(served: Served) -> None:
        idle, _ = await connect(served)
        busy, query = await connect(served)
        await post(served, query, INITIALIZE)
        await post(served, query, tool_call("hang", id=9))
        await served.tools.started.wait()
        draining = asyncio.ensure_future(served.app.drain(5))
        await idle.complete()
        assert not busy.response.is_complete
        served.tools.go_on.set()
        await draining
        assert answers(await busy.complete()) == [0, 9]

    run(scenario, with_sse=True)


def test_stateless_requests_are_rejected_over_legacy_sse() -> None:
    async def scenario(served: Served) -> None:
        stream, query = await connect(served)
        accepted = await post(served, query, modern("tools/call", {"name": "echo"}, id=1))
        assert accepted.status == 202
        response = await stream.until_events(2)
        (answer,) = Response(body=response.body.split(b"\n\n", 1)[1]).messages
        assert answer["error"]["code"] == -32600  # no session is open
        assert not served.tools.calls

    run(scenario, with_sse=True)
