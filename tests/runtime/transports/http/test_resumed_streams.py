"""Tests of resuming a stream by Last-Event-ID, and of SSE polling of 2025-11-25."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from mcpgen.contract.limits import DEFAULT_LIMITS
from mcpgen.runtime.protocol.messages import Change, Outgoing
from mcpgen.runtime.state.session_store import MemorySessions, StoredEvent
from mcpgen.runtime.transports.http.reply_stream import (
    MAX_UNREAD_BYTES,
    ReplyStream,
    ResumableStream,
)
from mcpgen.runtime.transports.http.sessions import REOPEN_SECONDS, STREAM_AFTER_SECONDS
from tests.support.http_server import LEGACY, Client, Exchange, Served, run, tool_call

each_revision = pytest.mark.parametrize("revision", LEGACY)


def resume(client: Client, event_id: str) -> Exchange:
    return client.send("GET", headers={**client.session_headers, "last-event-id": event_id})


@pytest.mark.requirement("L055", "L060", "L061", "L062")
@each_revision
def test_a_client_that_reconnects_receives_the_result_of_its_call(revision: str) -> None:
    async def scenario(served: Served) -> None:
        client = served.client
        await client.initialize(revision)
        other = client.begin(tool_call("report", id=1, token=1))
        await other.until(lambda response: len(response.messages) == 1)
        exchange = client.begin(tool_call("report", id=2, token=2))
        seen = await exchange.until(lambda response: len(response.messages) == 1)
        await exchange.vanish()
        last_seen = seen.events[-1]["id"]
        resumed = resume(client, last_seen)
        await resumed.until(lambda response: response.status == 200)
        served.tools.go_on.set()
        response = await resumed.complete()
        assert [it.get("id") for it in response.messages] == [None, 2]
        assert response.messages[0]["params"]["progressToken"] == 2
        again = await resume(client, last_seen).complete()
        assert again.messages == response.messages
        assert [it["id"] for it in again.events] == [it["id"] for it in response.events]
        ids = [it["id"] for it in [*other.response.events, *seen.events, *response.events]]
        assert len(set(ids)) == len(ids)

    run(scenario)


@pytest.mark.requirement("L061")
def test_a_result_is_replayed_after_a_disconnection() -> None:
    async def scenario(served: Served) -> None:
        client = served.client
        await client.initialize("2025-06-18")
        exchange = client.begin(tool_call("report", token=1))
        seen = await exchange.until_events(1)
        await exchange.vanish()
        served.tools.go_on.set()
        await served.dispatcher.drain(5)
        await asyncio.sleep(0)
        response = await resume(client, seen.events[0]["id"]).complete()
        assert [it.get("id") for it in response.messages] == [None, 1]

    run(scenario)


@pytest.mark.requirement("L061")
@pytest.mark.parametrize(
    "event_id", ["", "x", "x-1", "-1", "x--1", "x-" + "9" * 400, "\u0663-\u0661"]
)
def test_resuming_from_an_unknown_event_is_rejected(event_id: str) -> None:
    async def scenario(served: Served) -> None:
        await served.client.initialize("2025-11-25")
        sent = event_id.encode().decode("latin-1")
        assert (await resume(served.client, sent).complete()).status == 400

    run(scenario)


def test_events_of_another_session_cannot_be_read() -> None:
    async def scenario(served: Served) -> None:
        client, other = served.client, served.new_client()
        await client.initialize("2025-11-25")
        await other.initialize("2025-11-25")
        exchange = client.begin(tool_call("report", token=1))
        seen = await exchange.until_events(2)
        assert (await resume(other, seen.events[0]["id"]).complete()).status == 400
        served.tools.go_on.set()
        await exchange.complete()

    run(scenario)


@pytest.mark.requirement("L056", "L061")
def test_the_get_stream_stores_messages_while_its_client_is_disconnected() -> None:
    async def scenario(served: Served) -> None:
        client = served.client
        await client.initialize("2025-11-25")
        listening = client.send("GET", headers=client.session_headers)
        seen = await listening.until_events(1)
        await listening.leave()
        served.dispatcher.announce(Change("tools"))
        resumed = resume(client, seen.events[0]["id"])
        assert len((await resumed.until_events(1)).messages) == 1
        served.dispatcher.announce(Change("tools"))
        assert len((await resumed.until_events(2)).messages) == 2
        await resumed.leave()
        served.clock.now += REOPEN_SECONDS
        await served.app.housekeep()
        assert not served.app._sessions._live
        served.dispatcher.announce(Change("tools"))
        assert (await resume(client, seen.events[0]["id"]).complete()).status == 400

    run(scenario)


@pytest.mark.requirement("L063")
@pytest.mark.parametrize(("revision", "primes"), [("2025-06-18", False), ("2025-11-25", True)])
def test_a_priming_event_is_sent_only_in_revisions_that_support_it(
    revision: str, primes: bool
) -> None:
    async def scenario(served: Served) -> None:
        client = served.client
        await client.initialize(revision)
        exchange = client.begin(tool_call("report", token=1))
        seen = await exchange.until(lambda response: len(response.messages) == 1)
        assert ("event" not in seen.events[0]) is primes
        assert all(event["id"] for event in seen.events)
        served.tools.go_on.set()
        await exchange.complete()

    run(scenario)


@pytest.mark.requirement("L051", "L055", "L063")
def test_a_slow_call_becomes_a_stream_so_that_its_result_can_be_fetched() -> None:
    async def scenario(served: Served) -> None:
        client = served.client
        await client.initialize("2025-11-25")
        exchange = client.begin(tool_call("hang"))
        await served.tools.started.wait()
        await served.app.housekeep()
        assert exchange.response.status == 0
        served.clock.now += STREAM_AFTER_SECONDS
        await served.app.housekeep()
        seen = await exchange.until_events(1)
        await exchange.vanish()
        served.tools.go_on.set()
        response = await resume(client, seen.events[0]["id"]).complete()
        assert "result" in response.messages[-1]

    run(scenario)


@pytest.mark.requirement("L053", "L064")
@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
def test_a_released_connection_closes_and_its_stream_can_be_resumed(revision: str) -> None:
    async def scenario(served: Served) -> None:
        client = served.client
        await client.initialize(revision)
        exchange = client.begin(tool_call("hang"))
        await served.tools.started.wait()
        (stream,) = served.app._sessions.open_streams()
        stream.put(Outgoing(b"", stream))
        if revision == "2025-06-18":
            assert exchange.response.status == 0
            served.tools.go_on.set()
            assert "result" in (await exchange.complete()).json
            return
        await exchange.until(lambda response: response.is_complete)
        assert stream.reader == 0  # nobody reads, so nothing piles up
        priming, retry = exchange.response.events
        assert int(retry["retry"]) > 0
        resumed = resume(client, priming["id"])
        await resumed.until(lambda response: response.status == 200)
        served.tools.go_on.set()
        assert "result" in (await resumed.complete()).messages[-1]

    run(scenario)


def test_a_new_connection_takes_a_stream_over_from_the_old_one() -> None:
    async def scenario(served: Served) -> None:
        client = served.client
        await client.initialize("2025-11-25")
        old = client.begin(tool_call("report", token=1))
        seen = await old.until_events(2)
        new = resume(client, seen.events[0]["id"])
        assert len((await new.until_events(1)).messages) == 1
        await old.until(lambda response: response.is_complete)
        served.tools.go_on.set()
        response = await new.complete()
        assert "result" in response.messages[-1]
        assert "result" not in seen.messages[-1]

    run(scenario)


def test_a_stream_keeps_its_newest_hundred_events_for_five_minutes() -> None:
    async def scenario(served: Served) -> None:
        client = served.client
        await client.initialize("2025-11-25")
        listening = client.send("GET", headers=client.session_headers)
        first = (await listening.until_events(1)).events[0]["id"]
        for _ in range(150):
            served.dispatcher.announce(Change("tools"))
        await listening.until_events(151)
        await listening.leave()
        replayed = await resume(client, first).until_events(100)
        assert replayed.events[0]["id"] == listening.response.events[51]["id"]
        served.clock.now += 300
        await served.app.housekeep()
        assert await served.store.find_events_after(client.session_id, first[:-2], 0) is None

    run(scenario)


def test_resuming_the_stream_of_a_cancelled_call_ends_it() -> None:
    async def scenario(served: Served) -> None:
        client = served.client
        await client.initialize("2025-11-25")
        exchange = client.begin(tool_call("report", id=4, token=1))
        seen = await exchange.until_events(2)
        await exchange.vanish()
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 4}}
        await client.post(cancel)
        await exchange.task
        response = await resume(client, seen.events[0]["id"]).complete()
        assert response.messages == seen.messages
        assert "retry" not in response.events[-1]

    run(scenario)


class SlowStore(MemorySessions):
    """A store that behaves like one on a network: `meanwhile` runs during each operation."""

    meanwhile: Callable[[], None]

    async def find_events_after(
        self, session_id: str, stream_id: str, number: int
    ) -> list[StoredEvent] | None:
        self.meanwhile()
        return await super().find_events_after(session_id, stream_id, number)


def test_a_message_that_arrives_during_a_replay_is_sent_once() -> None:
    async def scenario(served: Served) -> None:
        client = served.client
        await client.initialize("2025-11-25")
        listening = client.send("GET", headers=client.session_headers)
        first = (await listening.until_events(1)).events[0]["id"]
        await listening.leave()
        served.dispatcher.announce(Change("tools"))
        store.meanwhile = lambda: served.dispatcher.announce(Change("tools"))
        resumed = resume(client, first)
        await resumed.until_events(2)
        served.dispatcher.announce(Change("tools"))
        ids = [event["id"] for event in (await resumed.until_events(3)).events]
        assert [int(it.rpartition("-")[2]) for it in ids] == [1, 2, 3]
        await resumed.leave()

    store = SlowStore()
    run(scenario, store=store)


def test_a_client_that_does_not_read_loses_its_connection_but_not_its_stream() -> None:
    kept = []
    stream = ResumableStream("s", lambda _, event: kept.append(event), lambda: 0.0, primes=False)
    for _ in range(DEFAULT_LIMITS.max_unread_events + 1):
        stream.put(Outgoing(b"{}", stream))
    assert stream.reader == 0
    assert not stream.pending
    assert len(kept) == DEFAULT_LIMITS.max_unread_events + 1


def test_unread_events_are_bounded_in_bytes() -> None:
    stream = ReplyStream()
    stream.push(b"x" * (MAX_UNREAD_BYTES + 1))  # one is always taken
    assert len(stream.take_pending()) == MAX_UNREAD_BYTES + 1
    for _ in range(8):
        stream.push(b"x" * (MAX_UNREAD_BYTES // 8))
    assert stream.reader == 1
    stream.push(b"x")
    assert stream.reader == 0
    assert not stream.pending
