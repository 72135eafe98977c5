"""Tests of two replicas with a shared store: requests of a session may reach either of them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcpgen.runtime.handlers.context import Context
from mcpgen.runtime.protocol.messages import Change
from mcpgen.runtime.protocol.prepared_list import PreparedList
from tests.support.http_server import (
    BOUND_SECONDS,
    LEGACY,
    Client,
    Exchange,
    Response,
    definition,
    request,
    tool_call,
    until,
)
from tests.support.replicas import Replicas, run_replicas

each_revision = pytest.mark.parametrize("revision", LEGACY)


def resume(client: Client, last_event_id: str) -> Exchange:
    headers = {**client.session_headers, "last-event-id": last_event_id}
    return client.send("GET", headers=headers)


@each_revision
def test_a_session_is_served_by_both_replicas(revision: str) -> None:
    async def scenario(replicas: Replicas) -> None:
        client = replicas.new_client()
        await client.initialize(revision)
        for number in range(4):
            called = await client.post(tool_call("echo", a=number))
            assert called.json["result"]["content"][0]["text"] == f'{{"a": {number}}}'
        assert [len(it.tools.calls) for it in replicas.both] == [2, 2]
        assert not any(it.app._sessions._live for it in replicas.both)

    run_replicas(scenario)


def test_a_session_of_another_principal_or_an_invented_one_is_unknown() -> None:
    async def scenario(replicas: Replicas) -> None:
        client = replicas.new_client()
        await client.initialize("2025-11-25")
        session_id = client.session_id
        shared: Any = replicas.both[0].app._sessions
        assert await shared.shared.find_session(session_id, "somebody", 0.0) is None
        for wrong in ("x" * 32, "..", "x" * 5000):
            client.session_id = wrong
            assert (await client.post(tool_call("echo"))).status == 404

    run_replicas(scenario)


def test_delete_ends_a_session_and_its_calls_in_every_replica() -> None:
    async def scenario(replicas: Replicas) -> None:
        client = replicas.new_client()
        await client.initialize("2025-11-25")
        first, second = replicas.at(0, client), replicas.at(1, client)
        waiting = first.begin(tool_call("hang", id=5))
        await replicas.both[0].tools.started.wait()
        ended = await second.send("DELETE", headers=client.session_headers).complete()
        assert ended.status == 204
        assert (await waiting.complete()).json["error"]["code"] == -32603
        assert replicas.both[0].tools.cancelled == 1
        for each in (first, second):
            assert (await each.post(tool_call("echo"))).status == 404

    run_replicas(scenario)


def test_a_stream_that_is_still_produced_is_resumed_at_the_other_replica() -> None:
    async def scenario(replicas: Replicas) -> None:
        client = replicas.new_client()
        await client.initialize("2025-11-25")
        exchange = replicas.at(0, client).begin(tool_call("report", id=7, token=1))
        seen = await exchange.until(lambda response: len(response.messages) == 1)
        await exchange.vanish()
        resumed = resume(replicas.at(1, client), seen.events[0]["id"])
        assert len((await resumed.until_events(1)).messages) == 1
        replicas.both[0].tools.go_on.set()
        response = await resumed.complete()
        assert [it.get("id") for it in response.messages] == [None, None, 7]
        assert response.messages[0] == seen.messages[0]
        ids = [event["id"] for event in response.events]
        assert len(set(ids)) == len(ids)
        again = await resume(replicas.at(0, client), seen.events[0]["id"]).complete()
        assert again.events == response.events

    run_replicas(scenario)


def test_a_result_is_replayed_by_the_other_replica() -> None:
    async def scenario(replicas: Replicas) -> None:
        client = replicas.new_client()
        await client.initialize("2025-06-18")
        exchange = replicas.at(0, client).begin(tool_call("report", id=7, token=1))
        seen = await exchange.until(lambda response: len(response.messages) == 1)
        assert ("event" in seen.events[0]) is True  # no priming event in this revision
        await exchange.vanish()
        replicas.both[0].tools.go_on.set()
        await exchange.task
        response = await resume(replicas.at(1, client), seen.events[0]["id"]).complete()
        assert [it.get("id") for it in response.messages] == [None, 7]

    run_replicas(scenario)


def test_a_client_that_resumes_a_stream_elsewhere_leaves_its_old_connection() -> None:
    async def scenario(replicas: Replicas) -> None:
        client = replicas.new_client()
        await client.initialize("2025-11-25")
        old = replicas.at(0, client).begin(tool_call("report", token=1))
        seen = await old.until(lambda response: len(response.messages) == 1)
        new = resume(replicas.at(1, client), seen.events[0]["id"])
        await old.until(lambda response: response.is_complete)
        newest = resume(replicas.at(0, client), seen.events[0]["id"])
        await new.until(lambda response: response.is_complete)
        replicas.both[0].tools.go_on.set()
        response = await newest.complete()
        assert "result" in response.messages[-1]
        assert "result" not in old.response.messages[-1]

    run_replicas(scenario)


@pytest.mark.parametrize("event_id", ["", "x-1", "p0123456789ab1-1", "g0123456789ab1-1"])
def test_resuming_from_an_unknown_event_is_rejected(event_id: str) -> None:
    async def scenario(replicas: Replicas) -> None:
        client = replicas.new_client()
        await client.initialize("2025-11-25")
        assert (await resume(client, event_id).complete()).status == 400

    run_replicas(scenario)


def test_events_of_another_session_cannot_be_read() -> None:
    async def scenario(replicas: Replicas) -> None:
        client, other = replicas.new_client(), replicas.new_client()
        await client.initialize("2025-11-25")
        await other.initialize("2025-11-25")
        exchange = replicas.at(0, client).begin(tool_call("report", token=1))
        seen = await exchange.until_events(2)
        for number in (0, 1):
            rejected = await resume(replicas.at(number, other), seen.events[0]["id"]).complete()
            assert rejected.status == 400
        replicas.both[0].tools.go_on.set()
        await exchange.complete()

    run_replicas(scenario)


def test_a_stream_whose_replica_died_ends_with_an_error_for_its_call() -> None:
    async def scenario(replicas: Replicas) -> None:
        client = replicas.new_client()
        await client.initialize("2025-11-25")
        exchange = replicas.at(0, client).begin(tool_call("report", id="call", token=1))
        seen = await exchange.until(lambda response: len(response.messages) == 1)
        await replicas.both[0].die()
        await exchange.vanish()
        resumed = resume(replicas.at(1, client), seen.events[0]["id"])
        response = await resumed.complete()
        assert response.messages[-1]["id"] == "call"
        assert response.messages[-1]["error"]["code"] == -32603
        again = await resume(replicas.at(1, client), seen.events[0]["id"]).complete()
        assert again.events == response.events

    run_replicas(scenario)


def test_the_error_of_a_dead_batch_answers_each_of_its_requests() -> None:
    async def scenario(replicas: Replicas) -> None:
        client = replicas.new_client()
        await client.initialize("2025-03-26")
        batch = [tool_call("echo", id=1), tool_call("report", id=2, token=1)]
        exchange = replicas.at(0, client).begin(batch)
        seen = await exchange.until(lambda response: len(response.messages) == 1)
        await replicas.both[0].die()
        await exchange.vanish()
        response = await resume(replicas.at(1, client), seen.events[0]["id"]).complete()
        assert [it["id"] for it in response.messages[-1]] == [1, 2]

    run_replicas(scenario)


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
def test_an_answer_of_the_client_reaches_the_replica_that_asked(revision: str) -> None:
    async def scenario(replicas: Replicas) -> None:
        client = replicas.new_client()
        await client.initialize(revision, {"elicitation": {}})
        calls = [
            replicas.at(number, client).begin(tool_call("ask", id=number)) for number in (0, 1)
        ]
        asked = [
            (await it.until(lambda response: len(response.messages) == 1)).messages[0]
            for it in calls
        ]
        assert asked[0]["id"] != asked[1]["id"]
        for number, action in ((0, "decline"), (1, "cancel")):
            answer = {"jsonrpc": "2.0", "id": asked[number]["id"], "result": {"action": action}}
            posted = await replicas.at(1 - number, client).post(answer)
            assert posted.status == 202
            response = await calls[number].complete()
            assert response.messages[-1]["result"]["content"][0]["text"] == action

    run_replicas(scenario)


def test_an_answer_of_another_session_is_ignored() -> None:
    async def scenario(replicas: Replicas) -> None:
        client, other = replicas.new_client(), replicas.new_client()
        for each in (client, other):
            await each.initialize("2025-11-25", {"elicitation": {}})
        exchange = replicas.at(0, client).begin(tool_call("ask"))
        asked = (await exchange.until(lambda response: len(response.messages) == 1)).messages[0]
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "decline"}}
        assert (await replicas.at(1, other).post(answer)).status == 202
        assert (
            await replicas.at(1, client).post({**answer, "result": {"action": "cancel"}})
        ).status
        response = await exchange.complete()
        assert response.messages[-1]["result"]["content"][0]["text"] == "cancel"

    run_replicas(scenario)


@each_revision
def test_a_cancellation_reaches_the_replica_that_runs_the_call(revision: str) -> None:
    async def scenario(replicas: Replicas) -> None:
        client = replicas.new_client()
        await client.initialize(revision)
        exchange = replicas.at(0, client).begin(tool_call("hang", id=3))
        await replicas.both[0].tools.started.wait()
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}}
        assert (await replicas.at(1, client).post(cancel)).status == 202
        response = await exchange.complete()
        assert response.body == b""
        assert replicas.both[0].tools.cancelled == 1

    run_replicas(scenario)


def test_notifications_reach_the_get_stream_wherever_it_is_open() -> None:
    async def scenario(replicas: Replicas) -> None:
        client = replicas.new_client()
        await client.initialize("2025-11-25")
        listening = replicas.at(0, client).send("GET", headers=client.session_headers)
        await listening.until_events(1)
        for number, each in enumerate(replicas.both, 1):
            each.dispatcher.announce(Change("tools"))
            await listening.until(lambda response, number=number: len(response.messages) == number)
        await listening.leave()
        each.dispatcher.announce(Change("tools"))
        first = listening.response.events[0]["id"]
        resumed = resume(replicas.at(1, client), first)
        await resumed.until(lambda response: len(response.messages) == 3)
        for each in replicas.both:
            each.dispatcher.announce(Change("tools"))
        await resumed.until(lambda response: len(response.messages) == 5)
        numbers = [int(it["id"].rpartition("-")[2]) for it in resumed.response.events]
        assert numbers == sorted(set(numbers))
        await resumed.leave()

    run_replicas(scenario)


def test_a_second_get_stream_at_the_other_replica_replaces_the_first() -> None:
    async def scenario(replicas: Replicas) -> None:
        client = replicas.new_client()
        await client.initialize("2025-06-18")
        first = replicas.at(0, client).send("GET", headers=client.session_headers)
        await first.until(lambda response: response.status == 200)
        second = replicas.at(1, client).send("GET", headers=client.session_headers)
        assert (await first.complete()).body == b""
        replicas.both[0].dispatcher.announce(Change("tools"))
        assert len((await second.until_events(1)).messages) == 1
        await second.leave()

    run_replicas(scenario)


def test_log_level_and_subscriptions_hold_in_both_replicas() -> None:
    async def scenario(replicas: Replicas) -> None:
        client = replicas.new_client()
        await client.initialize("2025-11-25")
        listening = replicas.at(0, client).send("GET", headers=client.session_headers)
        await listening.until_events(1)
        for uri in ("thing://a", "thing://b"):
            subscribed = await client.post(request("resources/subscribe", {"uri": uri}))
            assert "result" in subscribed.json
        await client.post(request("logging/setLevel", {"level": "error"}))
        assert (
            "result"
            in (await client.post(request("resources/unsubscribe", {"uri": "thing://a"}))).json
        )
        for number in (0, 1):
            found = await _find(replicas, number, client)
            assert found.log_level == "error"
            assert found.subscribed_uris == frozenset({"thing://b"})
            assert found.is_initialized
        replicas.both[1].dispatcher.announce(Change("resource", "thing://a"))
        replicas.both[1].dispatcher.announce(Change("resource", "thing://b"))
        seen = await listening.until(lambda response: len(response.messages) == 1)
        assert seen.messages[0]["params"] == {"uri": "thing://b"}
        await listening.leave()

    things = [f'{{"uri": "thing://{it}", "name": "{it}"}}'.encode() for it in "ab"]
    run_replicas(
        scenario,
        definition=definition(
            resources=PreparedList("resources", things), has_subscriptions=True, has_logging=True
        ),
    )


async def _find(replicas: Replicas, number: int, client: Client) -> Any:
    sessions: Any = replicas.both[number].app._sessions
    return (await sessions.shared.find_session(client.session_id, "", 0.0)).state


def test_the_end_of_an_elicitation_is_told_by_any_replica() -> None:
    async def scenario(replicas: Replicas) -> None:
        for each in replicas.both:
            each.tools.call = call  # type: ignore[method-assign]
        client = replicas.new_client()
        await client.initialize("2025-11-25", {"elicitation": {"url": {}}})
        listening = replicas.at(0, client).send("GET", headers=client.session_headers)
        await listening.until_events(1)
        required = await replicas.at(1, client).post(tool_call("ask"))
        assert required.json["error"]["code"] == -32042
        replicas.both[1].dispatcher.announce(Change("elicitation", "e-1"))
        seen = await listening.until(lambda response: len(response.messages) == 1)
        assert seen.messages[0]["params"] == {"elicitationId": "e-1"}
        replicas.both[0].dispatcher.announce(Change("elicitation", "e-1"))
        replicas.both[0].dispatcher.announce(Change("tools"))
        seen = await listening.until(lambda response: len(response.messages) == 2)
        assert seen.messages[1]["method"] == "notifications/tools/list_changed"
        await listening.leave()

    async def call(name: str, arguments: dict[str, Any], context: Context) -> Any:
        context.require_url("Go", "https://example.com/", "e-1")

    run_replicas(scenario)


@pytest.mark.parametrize("finishing", [0, 1])
def test_an_elicitation_may_end_before_the_listening_replica_knows_of_it(finishing: int) -> None:
    async def scenario(replicas: Replicas) -> None:
        listener, other = replicas.both
        other.tools.call = call  # type: ignore[method-assign]
        client = replicas.new_client()
        await client.initialize("2025-11-25", {"elicitation": {"url": {}}})
        listening = replicas.at(0, client).send("GET", headers=client.session_headers)
        await listening.until_events(1)
        late: list[Any] = []
        receive = listener.replica._receivers["changed"]
        listener.replica.on("changed", hold_back(late))
        await replicas.at(1, client).post(tool_call("ask"))
        await until(lambda: late)
        replicas.both[finishing].dispatcher.announce(Change("elicitation", "e-1"))
        listener.dispatcher.announce(Change("tools"))
        other.dispatcher.announce(Change("tools"))  # after it, the other announcement has come
        seen = await listening.until(lambda response: len(response.messages) == 2)
        assert {it["method"] for it in seen.messages} == {"notifications/tools/list_changed"}
        for _ in range(2):
            await receive(late[0])
        listener.dispatcher.announce(Change("tools"))
        seen = await listening.until(lambda response: len(response.messages) == 4)
        assert seen.messages[2]["params"] == {"elicitationId": "e-1"}
        await listening.leave()

    def hold_back(late: list[Any]) -> Any:
        async def receive(message: Any) -> None:
            late.append(message)

        return receive

    async def call(name: str, arguments: dict[str, Any], context: Context) -> Any:
        context.require_url("Go", "https://example.com/", "e-1")

    run_replicas(scenario)


def test_a_listening_client_of_2026_is_notified_by_any_replica() -> None:
    async def scenario(replicas: Replicas) -> None:
        client = replicas.both[0].client
        listening = client.begin_modern(
            "subscriptions/listen", {"notifications": {"toolsListChanged": True}}
        )
        await listening.until_events(1)
        replicas.both[1].dispatcher.announce(Change("tools"))
        seen = await listening.until_events(2)
        assert seen.messages[1]["method"] == "notifications/tools/list_changed"
        await listening.leave()

    run_replicas(scenario)


def test_a_released_connection_continues_at_the_other_replica() -> None:
    async def scenario(replicas: Replicas) -> None:
        client = replicas.new_client()
        await client.initialize("2025-11-25")
        exchange = replicas.at(0, client).begin(tool_call("hang", id=1))
        await replicas.both[0].tools.started.wait()
        (call,) = replicas.both[0].dispatcher.calls
        call.release_connection()
        replicas.both[0].app._sessions._live[client.session_id].flush()
        seen = await exchange.until(lambda response: response.is_complete)
        priming, retry = seen.events
        assert int(retry["retry"]) > 0
        resumed = resume(replicas.at(1, client), priming["id"])
        await resumed.until(lambda response: response.status == 200)
        replicas.both[0].tools.go_on.set()
        assert "result" in (await resumed.complete()).messages[-1]

    run_replicas(scenario)


def test_draining_stores_the_results_and_sends_readers_of_others_away() -> None:
    async def scenario(replicas: Replicas) -> None:
        client = replicas.new_client()
        await client.initialize("2025-11-25")
        lost = replicas.at(0, client).begin(tool_call("report", id=1, token=1))
        seen = await lost.until(lambda response: len(response.messages) == 1)
        other = replicas.at(1, client).begin(tool_call("report", id=2, token=2))
        elsewhere = await other.until(lambda response: len(response.messages) == 1)
        await lost.vanish()
        await other.vanish()
        reading = resume(replicas.at(0, client), elsewhere.events[0]["id"])
        await reading.until_events(1)
        draining = asyncio.create_task(replicas.both[0].app.drain(0.1))
        told = await reading.complete()
        assert "retry" in told.events[-1]
        assert not await draining
        response = await resume(replicas.at(1, client), seen.events[0]["id"]).complete()
        assert response.messages[-1]["id"] == 1
        assert response.messages[-1]["error"]["message"] == "the server is shutting down"
        replicas.both[1].tools.go_on.set()
        response = await resume(replicas.at(1, client), elsewhere.events[0]["id"]).complete()
        assert "result" in response.messages[-1]

    run_replicas(scenario)


def test_without_the_store_sessions_fail_and_stateless_calls_succeed_until_it_is_back() -> None:
    async def scenario(replicas: Replicas) -> None:
        client = replicas.new_client()
        await client.initialize("2025-11-25")
        running = replicas.at(0, client).begin(tool_call("report", id=1, token=1))
        await running.until(lambda response: len(response.messages) == 1)
        replicas.store.stop()
        refused = await client.post(tool_call("echo"))
        assert refused.status == 503
        assert "state store is unavailable" in refused.json["error"]["message"]
        assert refused.headers["retry-after"] == "1"
        modern = await client.post_modern("tools/call", {"name": "echo"})
        assert modern.status == 200
        replicas.both[0].tools.go_on.set()
        response = await running.complete()  # its client still gets the answer
        assert "result" in response.messages[-1]
        replicas.store.is_available = True
        assert (await client.post(tool_call("echo"))).status == 200
        listening = replicas.at(0, client).send("GET", headers=client.session_headers)
        await listening.until_events(1)

        async def announce() -> None:
            while not listening.response.messages:
                replicas.both[1].dispatcher.announce(Change("tools"))
                await asyncio.sleep(0)

        await asyncio.wait_for(announce(), BOUND_SECONDS)
        await listening.leave()

    run_replicas(scenario)


def test_a_call_that_finishes_without_the_store_is_stored_when_it_is_back() -> None:
    async def scenario(replicas: Replicas) -> None:
        client = replicas.new_client()
        await client.initialize("2025-11-25")
        running = replicas.at(0, client).begin(tool_call("report", id=1, token=1))
        seen = await running.until(lambda response: len(response.messages) == 1)
        await running.vanish()
        replicas.store.stop()
        replicas.both[0].tools.go_on.set()
        await replicas.both[0].dispatcher.drain(5)
        replicas.store.is_available = True
        response = await resume(replicas.at(1, client), seen.events[0]["id"]).complete()
        assert "result" in response.messages[-1]

    run_replicas(scenario)


# -- 2024-11-05 ----------------------------------------------------------------------------------


async def _connect(client: Client) -> tuple[Exchange, str]:
    stream = client.send("GET", path="/sse", headers={"accept": "text/event-stream"})
    event = (await stream.until_events(1)).events[0]
    return stream, event["data"].partition("?")[2]


async def _send(client: Client, query: str, body: object) -> Response:
    return await client.send("POST", body, path="/messages", query=query).complete()


def _answers(response: Response) -> list[Any]:
    return Response(body=response.body.split(b"\n\n", 1)[1]).messages


OPENING = (
    request(
        "initialize", {"protocolVersion": "2024-11-05", "capabilities": {"elicitation": {}}}, id=0
    ),
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
)


def test_messages_of_2024_11_05_are_answered_on_the_stream_of_the_other_replica() -> None:
    async def scenario(replicas: Replicas) -> None:
        client = replicas.new_client()
        stream, query = await _connect(replicas.both[0].client)
        for message in (*OPENING, tool_call("echo", id=1), tool_call("echo", id=2)):
            assert (await _send(client, query, message)).status == 202
        response = await stream.until_events(4)
        assert sorted(it["id"] for it in _answers(response)) == [0, 1, 2]
        assert [len(it.tools.calls) for it in replicas.both] == [1, 1]
        replicas.both[1].dispatcher.announce(Change("tools"))
        response = await stream.until_events(5)
        assert _answers(response)[-1]["method"] == "notifications/tools/list_changed"
        hanging = tool_call("hang", id=3)
        await _send(replicas.both[1].client, query, hanging)
        await replicas.both[1].tools.started.wait()
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}}
        await _send(replicas.both[0].client, query, cancel)
        await replicas.both[1].dispatcher.drain(5)
        assert replicas.both[1].tools.cancelled == 1
        await stream.leave()
        assert (await _send(client, query, tool_call("echo"))).status == 404

    run_replicas(scenario, with_sse=True)


def test_a_closed_stream_of_2024_11_05_cancels_its_calls_in_every_replica() -> None:
    async def scenario(replicas: Replicas) -> None:
        stream, query = await _connect(replicas.both[0].client)
        for message in (*OPENING, tool_call("hang", id=1)):
            await _send(replicas.both[1].client, query, message)
        await replicas.both[1].tools.started.wait()
        await stream.leave()
        await replicas.both[1].dispatcher.drain(5)
        assert replicas.both[1].tools.cancelled == 1
        await replicas.both[1].app.housekeep()
        assert not any(it.app._sessions._live for it in replicas.both)

    run_replicas(scenario, with_sse=True)
