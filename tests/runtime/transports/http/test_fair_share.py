"""Tests of limits shared by all clients: no client can exhaust one."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from mcpgen.runtime.process.memory_budget import MemoryBudget
from mcpgen.runtime.state.session_store import MemorySessions, StoredEvent
from mcpgen.runtime.transports.http import reply_stream
from mcpgen.runtime.transports.http.connection_limits import (
    CALLING,
    IDLE,
    STREAMING,
    ConnectionLimits,
    FairShare,
    identify_client,
)
from mcpgen.runtime.transports.http.reply_stream import Backlogs, ReplyStream
from tests.runtime.transports.http.test_server import until
from tests.runtime.transports.http.test_sessions import _open
from tests.support.http_server import Client, Served, run


def test_one_client_gets_at_most_nine_tenths_of_the_free_slots() -> None:
    share = FairShare(1000)
    taken = dict.fromkeys("abc", 0)
    for caller in "abc":
        while share.take(caller):
            taken[caller] += 1
    assert taken == {"a": 900, "b": 90, "c": 9}
    assert share.take("d")
    for caller, amount in taken.items():
        share.release(caller, amount)
    assert share.take("e", 899)


def test_a_client_without_slots_gets_any_amount_that_fits() -> None:
    share = FairShare(10)
    assert not share.take("a", 11)
    assert share.take("a", 10)
    assert not share.take("b")
    share.release("a", 10)
    assert share.take("b", 10)


@pytest.mark.parametrize(
    ("host", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3::4", "2001:0db8:0001:0002"),
        ("fe80::1%eth0", "fe80:0000:0000:0000"),
        ("", ""),
    ],
)
def test_addresses_of_the_same_network_are_one_client(host: str, network: str) -> None:
    assert identify_client(host) == network


@dataclass(eq=False)
class FakeConnection:
    client_network: str
    used_at: float = 0.0
    doing: int = IDLE
    buffered_bytes: int = 0
    is_aborted: bool = False
    parsed: list[FakeConnection] = field(default_factory=list)

    def state(self) -> int:
        return self.doing

    def abort(self) -> None:
        self.is_aborted = True

    def parse_next(self) -> None:
        self.parsed.append(self)


def limits(max_connections: int = 4, max_buffered_bytes: int = 1000) -> ConnectionLimits:
    return ConnectionLimits(
        max_connections, max_buffered_bytes=max_buffered_bytes, budget=MemoryBudget()
    )


def connections(*of: tuple[str, float, int]) -> list[FakeConnection]:
    return [FakeConnection(client, used_at, doing) for client, used_at, doing in of]


def test_the_largest_client_loses_its_least_active_connection() -> None:
    bounded = limits()
    held = connections(("a", 3, CALLING), ("a", 2, STREAMING), ("a", 1, CALLING), ("b", 0, IDLE))
    for connection in held:
        assert bounded.add(connection)
    assert bounded.add(FakeConnection("c"))
    assert [it.is_aborted for it in held] == [False, True, False, False]
    assert bounded.count == 4


@pytest.mark.parametrize(("of_newcomer", "is_accepted"), [(0, True), (1, False)])
def test_a_client_with_few_connections_displaces_one_of_a_larger_client(
    of_newcomer: int, is_accepted: bool
) -> None:
    bounded = limits()
    held = connections(*[("a", n, CALLING) for n in range(4 - of_newcomer)])
    held += connections(*[("b", n, CALLING) for n in range(of_newcomer)])
    for connection in held:
        bounded.add(connection)
    assert bounded.add(FakeConnection("b")) is is_accepted
    assert held[0].is_aborted is is_accepted


def test_the_only_connection_of_a_client_is_kept_when_descriptors_are_short() -> None:
    bounded = limits()
    alone = FakeConnection("a")
    bounded.add(alone)
    assert not bounded.close_idle()
    second = FakeConnection("a", used_at=1)
    bounded.add(second)
    assert bounded.close_idle()
    assert (alone.is_aborted, second.is_aborted) == (True, False)


def test_the_client_with_the_most_buffered_bytes_is_closed_first() -> None:
    bounded = limits()
    small, old, new = connections(("a", 0, IDLE), ("b", 1, IDLE), ("b", 2, IDLE))
    for connection in (small, old, new):
        bounded.add(connection)
    bounded.hold(small, 400)
    bounded.hold(old, 300)
    bounded.hold(new, 301)
    assert [it.is_aborted for it in (small, old, new)] == [False, True, False]
    assert bounded.buffered_bytes == 701
    bounded.remove(new)
    bounded.remove(new)
    assert (bounded.buffered_bytes, bounded.count) == (400, 1)


def test_connections_are_parsed_in_turn() -> None:
    async def scenario() -> None:
        bounded = limits()
        order: list[FakeConnection] = []
        parsed = [FakeConnection(str(number), parsed=order) for number in range(3)]
        for connection in parsed:
            bounded.parse_later(connection)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert order == parsed

    asyncio.run(scenario())


def test_the_longest_backlog_is_dropped_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    backlogs = Backlogs(max_bytes=100_000)
    monkeypatch.setattr(reply_stream, "_backlogs", backlogs)
    short, long, tiny = ReplyStream(), ReplyStream(), ReplyStream()
    short.push(bytes(40_000))
    long.push(bytes(60_000))
    tiny.push(bytes(1_000))  # not counted
    assert (short.reader, long.reader) == (1, 1)
    short.push(bytes(1))
    assert (short.reader, long.reader, tiny.reader) == (1, 0, 1)
    assert backlogs._bytes == 40_001
    assert len(short.take_pending()) == 40_001
    assert backlogs._bytes == 0


def test_stored_events_are_bounded_over_all_sessions() -> None:
    async def scenario(served: Served) -> None:
        store = served.store
        small, large = await _open(store, ""), await _open(store, "")
        store.append_event(small, "s", StoredEvent(1, bytes(30), False, 0.0))
        for number in range(1, 5):
            store.append_event(large, f"s{number}", StoredEvent(1, bytes(25), False, 0.0))
        assert store._bytes == 80
        assert await store.find_events_after(small, "s", 0)
        assert await store.find_events_after(large, "s1", 0) is None
        assert await store.find_events_after(large, "s4", 0)
        await store.end_session(large)
        assert store._bytes == 30
        await store.evict(400.0)
        assert store._bytes == 0

    run(scenario, store=MemorySessions(max_bytes=100))


def from_address(client: Client, address: str) -> Client:
    """Let the application see this address for everything that a client sends."""
    client.address = address
    return client


def test_calls_in_flight_are_shared_among_clients() -> None:
    async def scenario(served: Served) -> None:
        greedy = from_address(served.new_client(), "192.0.2.1")
        other = from_address(served.new_client(), "192.0.2.2")
        hanging = [greedy.begin_modern("tools/call", {"name": "hang"}) for _ in range(20)]
        await until(lambda: len(served.tools.calls) == 18)
        refused = [await exchange.complete() for exchange in hanging if exchange.response.status]
        assert [response.status for response in refused] == [503, 503]
        assert refused[0].headers["retry-after"] == "1"
        assert (await other.post_modern("tools/call", {"name": "echo"})).status == 200
        served.tools.go_on.set()
        for exchange in hanging:
            await exchange.complete()
        again = [greedy.begin_modern("tools/call", {"name": "echo"}) for _ in range(18)]
        assert {(await exchange.complete()).status for exchange in again} == {200}

    run(scenario, max_in_flight=20)


def test_memory_for_arguments_is_shared_among_clients() -> None:
    async def scenario(served: Served) -> None:
        greedy = from_address(served.new_client(), "192.0.2.1")
        other = from_address(served.new_client(), "192.0.2.2")
        arguments = {"values": [{} for _ in range(90_000)]}
        hanging = [
            greedy.begin_modern("tools/call", {"name": "hang", "arguments": arguments})
            for _ in range(10)
        ]
        await until(lambda: any(it.response.status for it in hanging))
        assert {it.response.status for it in hanging} == {0, 503}
        params = {"name": "echo", "arguments": {"text": "x" * 100_000}}
        assert (await other.post_modern("tools/call", params)).status == 200
        served.tools.go_on.set()
        for exchange in hanging:
            await exchange.complete()
        assert (await greedy.post_modern("tools/call", params)).status == 200

    run(scenario)


def test_a_client_can_cancel_and_respond_when_all_slots_are_in_use() -> None:
    async def scenario(served: Served) -> None:
        await served.client.initialize("2025-11-25")
        call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "hang"}}
        hanging = served.client.begin(call)
        await served.tools.started.wait()
        assert (await served.client.begin({**call, "id": 8}).complete()).status == 503
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
        assert (await served.client.post(cancel)).status == 202
        await hanging.complete()

    run(scenario, max_in_flight=1)
