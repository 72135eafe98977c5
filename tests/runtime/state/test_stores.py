"""Tests of the behavior that all backends of the store share."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from typing import Any

import pytest

from mcpgen.runtime.state.store import Store, StoreUnavailableError

SECONDS = 60.0  # longer than any test
SOON = 0.05
PATIENCE_SECONDS = 30.0

OpenStore = Callable[[], Store]
RunWith = Callable[[Callable[..., Coroutine[Any, Any, None]]], None]


@pytest.fixture
def run_with(open_another: OpenStore) -> RunWith:
    """Return a function that runs a scenario with a connection to the store per parameter."""

    def run(scenario: Callable[..., Coroutine[Any, Any, None]]) -> None:
        async def scene() -> None:
            stores = [open_another() for _ in range(scenario.__code__.co_argcount)]
            try:
                await asyncio.wait_for(scenario(*stores), PATIENCE_SECONDS)
            finally:
                for store in stores:
                    await store.aclose()

        asyncio.run(scene())

    return run


async def wait_until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Wait until a condition is true; `PATIENCE_SECONDS` bounds the whole test."""
    while not await condition():  # noqa: ASYNC110  (of another process, or of time)
        await asyncio.sleep(0.005)


async def append(store: Store, value: bytes, **bounds: Any) -> int:
    given: dict[str, Any] = {"ttl_seconds": SECONDS, "max_entries": 100, "max_bytes": 10_000}
    return await store.append("log:1:a", value, **given | bounds)


class Subscriber:
    """Collector of what a subscription yields, ready once a first message has arrived."""

    def __init__(self, store: Store, *channels: str) -> None:
        self.received: list[tuple[str, bytes]] = []
        self._store = store
        self._messages = store.subscribe(channels)
        self._channel = channels[0]

    async def _read(self) -> None:
        async for channel, message in self._messages:
            self.received.append((channel, message))

    async def __aenter__(self) -> Subscriber:
        self.task = asyncio.create_task(self._read())
        while not self.received:
            with contextlib.suppress(StoreUnavailableError):
                await self._store.publish(self._channel, b"hello")
            await asyncio.sleep(0.005)
        await self._store.publish(self._channel, b"begin")
        await self.wait_for(self._channel, b"begin")
        self.received.clear()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
        await self._messages.aclose()

    async def wait_for(self, channel: str, message: bytes) -> None:
        async def has_arrived() -> bool:
            return (channel, message) in self.received

        await wait_until(has_arrived)


# -- values --------------------------------------------------------------------------------------


def test_a_value_is_read_by_another_replica(run_with: RunWith) -> None:
    async def scenario(one: Store, other: Store) -> None:
        value = bytes(range(256)) * 10
        await one.put("session:1:ä €", value, SECONDS)
        assert await other.get("session:1:ä €") == value
        assert await other.get("session:1:other") is None
        await other.put("session:1:ä €", b"", SECONDS)
        assert await one.get("session:1:ä €") == b""

    run_with(scenario)


def test_a_value_expires(run_with: RunWith) -> None:
    async def scenario(store: Store) -> None:
        await store.put("a", b"1", SOON)
        await store.put("b", b"1", SECONDS)

        async def is_gone() -> bool:
            return await store.get("a") is None

        await wait_until(is_gone)
        assert await store.get("b") == b"1"
        assert await store.take("a") is None
        assert not await store.replace("a", b"1", b"2", SECONDS)
        assert not await store.delete_if("a", b"1")
        assert await store.add("a", b"3", SECONDS)
        assert await store.get("a") == b"3"

    run_with(scenario)


def test_each_put_sets_the_time_to_live(run_with: RunWith) -> None:
    async def scenario(store: Store) -> None:
        for key, ttl_seconds in (("a", SOON), ("b", SECONDS), ("c", SOON)):
            await store.put(key, b"1", ttl_seconds)
        await store.put("a", b"1", SECONDS)
        await store.put("b", b"2", SOON)

        async def are_gone() -> bool:
            return await store.get("b") is None and await store.get("c") is None

        await wait_until(are_gone)
        assert await store.get("a") == b"1"
        assert await store.replace("a", b"1", b"2", SOON)

        async def is_gone() -> bool:
            return await store.get("a") is None

        await wait_until(is_gone)

    run_with(scenario)


def test_add_stores_only_the_first_value(run_with: RunWith) -> None:
    async def scenario(one: Store, other: Store) -> None:
        assert await one.add("lock", b"one", SECONDS)
        assert not await other.add("lock", b"other", SECONDS)
        assert await other.get("lock") == b"one"

    run_with(scenario)


def test_replace_needs_the_present_value(run_with: RunWith) -> None:
    async def scenario(one: Store, other: Store) -> None:
        assert not await one.replace("a", b"", b"new", SECONDS)
        await one.put("a", b"1", SECONDS)
        assert await other.replace("a", b"1", b"2", SECONDS)
        assert not await one.replace("a", b"1", b"3", SECONDS)
        assert await one.get("a") == b"2"

    run_with(scenario)


def test_only_one_caller_takes_a_value(run_with: RunWith) -> None:
    async def scenario(one: Store, other: Store) -> None:
        await one.put("once", b"1", SECONDS)
        taken = await asyncio.gather(*(it.take("once") for it in (one, other) * 10))
        assert sorted(it for it in taken if it is not None) == [b"1"]
        assert await one.get("once") is None

    run_with(scenario)


def test_only_the_holder_releases_a_lock(run_with: RunWith) -> None:
    async def scenario(one: Store, other: Store) -> None:
        await one.add("lock", b"one", SECONDS)
        assert not await other.delete_if("lock", b"other")
        assert await one.delete_if("lock", b"one")
        assert not await one.delete_if("lock", b"one")
        assert await other.add("lock", b"other", SECONDS)

    run_with(scenario)


def test_delete_removes_values_logs_and_counters(run_with: RunWith) -> None:
    async def scenario(one: Store, other: Store) -> None:
        await one.put("a", b"1", SECONDS)
        await one.put("b", b"1", SECONDS)
        await one.count("a", SECONDS)
        await append(one, b"x")
        await other.delete("a", "unknown", "log:1:a")
        await other.delete()
        assert await one.get("a") is None
        assert await one.get("b") == b"1"
        assert await one.count("a", SECONDS) == 1
        assert await one.read_log("log:1:a", 0) is None
        assert await append(one, b"x") == 1

    run_with(scenario)


def test_values_counters_and_logs_of_a_key_are_independent(run_with: RunWith) -> None:
    async def scenario(store: Store) -> None:
        await store.put("log:1:a", b"value", SECONDS)
        assert await store.count("log:1:a", SECONDS, 5) == 5
        assert await append(store, b"entry") == 1
        assert await store.get("log:1:a") == b"value"
        assert await store.take("log:1:a") == b"value"
        assert await store.count("log:1:a", SECONDS) == 6
        assert await store.read_log("log:1:a", 0) == [(1, b"entry")]

    run_with(scenario)


# -- counters ------------------------------------------------------------------------------------


def test_replicas_share_a_counter(run_with: RunWith) -> None:
    async def scenario(one: Store, other: Store) -> None:
        sums = await asyncio.gather(*(it.count("calls", SECONDS) for it in (one, other) * 20))
        assert sorted(sums) == list(range(1, 41))
        assert await one.count("calls", SECONDS, 10) == 50
        assert await one.count("calls", SECONDS, 0) == 50

    run_with(scenario)


def test_a_counter_expires_after_its_first_use(run_with: RunWith) -> None:
    async def scenario(store: Store) -> None:
        await store.count("calls", 0.2, 1_000_000)

        async def has_restarted() -> bool:
            return await store.count("calls", 0.2) < 1_000_000  # each call extends nothing

        await wait_until(has_restarted)

    run_with(scenario)


# -- logs ----------------------------------------------------------------------------------------


def test_entries_of_a_log_are_numbered_across_replicas(run_with: RunWith) -> None:
    async def scenario(one: Store, other: Store) -> None:
        assert await one.read_log("log:1:a", 0) is None
        assert await append(one, b"1") == 1
        assert await append(other, b"2") == 2
        numbers = await asyncio.gather(*(append(it, b"more") for it in (one, other) * 10))
        assert sorted(numbers) == list(range(3, 23))
        log = await one.read_log("log:1:a", 0)
        assert log is not None
        assert [number for number, _ in log] == list(range(1, 23))
        assert await other.read_log("log:1:a", 20) == [(21, b"more"), (22, b"more")]
        assert await other.read_log("log:1:a", 22) == []
        assert await other.read_log("log:1:a", 1000) == []

    run_with(scenario)


def test_a_log_drops_its_oldest_entries_above_a_bound(run_with: RunWith) -> None:
    async def scenario(store: Store) -> None:
        for number in range(1, 6):
            assert await append(store, b"%d" % number, max_entries=3) == number
        assert await store.read_log("log:1:a", 0) == [(3, b"3"), (4, b"4"), (5, b"5")]
        assert await append(store, b"x" * 8, max_bytes=10) == 6
        assert await store.read_log("log:1:a", 0) == [(4, b"4"), (5, b"5"), (6, b"x" * 8)]
        assert await append(store, b"y" * 1000, max_bytes=10) == 7  # the newest one stays
        assert await store.read_log("log:1:a", 0) == [(7, b"y" * 1000)]
        assert await append(store, b"z", max_bytes=10) == 8
        assert await store.read_log("log:1:a", 0) == [(8, b"z")]

    run_with(scenario)


def test_a_log_expires_after_its_last_entry(run_with: RunWith) -> None:
    async def scenario(store: Store) -> None:
        await append(store, b"1", ttl_seconds=SOON)
        await append(store, b"2", ttl_seconds=SECONDS)
        await store.put("end", b"", SOON)

        async def has_ended() -> bool:
            return await store.get("end") is None

        await wait_until(has_ended)
        assert await store.read_log("log:1:a", 0) == [(1, b"1"), (2, b"2")]
        await append(store, b"3", ttl_seconds=SOON)

        async def is_gone() -> bool:
            return await store.read_log("log:1:a", 0) is None

        await wait_until(is_gone)
        assert await append(store, b"new") == 1

    run_with(scenario)


def test_a_log_of_thousands_of_entries_is_read_whole(run_with: RunWith) -> None:
    async def scenario(store: Store) -> None:
        for number in range(25):
            appended = (append(store, b"e", max_entries=2300) for _ in range(100))
            await asyncio.gather(*appended)
            assert number >= 0
        log = await store.read_log("log:1:a", 0)
        assert log is not None
        assert [number for number, _ in log] == list(range(201, 2501))

    run_with(scenario)


# -- channels ------------------------------------------------------------------------------------


def test_subscribers_in_every_replica_receive_messages_in_order(run_with: RunWith) -> None:
    async def scenario(one: Store, other: Store) -> None:
        async with Subscriber(one, "all", "one") as first, Subscriber(other, "all") as second:
            first.received.clear()
            for number in range(20):
                await other.publish("all", b"%d" % number)
            await other.publish("nobody", b"x")
            await other.publish("one", bytes(range(256)))
            await first.wait_for("one", bytes(range(256)))
            await second.wait_for("all", b"19")
            sent = [("all", b"%d" % number) for number in range(20)]
            expected = [*sent, ("one", bytes(range(256)))]
            greetings = (b"hello", b"begin")
            assert [it for it in first.received if it[1] not in greetings] == expected
            assert [it for it in second.received if it[1] not in greetings] == sent

    run_with(scenario)


def test_closing_the_store_ends_subscriptions(run_with: RunWith) -> None:
    async def scenario(store: Store) -> None:
        async with Subscriber(store, "all") as subscriber:
            await store.aclose()
            with pytest.raises(StoreUnavailableError):
                await subscriber.task

    run_with(scenario)


def test_a_slow_subscriber_loses_its_subscription_and_never_a_message(
    run_with: RunWith, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcpgen.runtime.state.channels.MAX_MESSAGES", 10)

    async def scenario(store: Store) -> None:
        messages: AsyncGenerator[tuple[str, bytes], None] = store.subscribe(["all"])
        first = asyncio.create_task(anext(messages))
        while not first.done():
            await store.publish("all", b"first")
            await asyncio.sleep(0.005)
        for _ in range(1000):
            await store.publish("all", b"more")
        await store.publish("all", b"last")
        received = [(await first)[1]]

        async def read_all() -> None:
            async for _, message in messages:
                received.append(message)
                if message == b"last":
                    return

        reading = asyncio.create_task(read_all())
        await asyncio.wait([reading])
        failure = reading.exception()
        if failure is None:  # they waited in another process
            assert received.count(b"more") == 1000
        else:
            assert isinstance(failure, StoreUnavailableError)
            assert "too slow" in str(failure)
        await messages.aclose()

    run_with(scenario)


# -- the whole store -----------------------------------------------------------------------------


def test_an_open_store_is_ready(run_with: RunWith) -> None:
    async def scenario(store: Store) -> None:
        await store.check()

    run_with(scenario)


def test_a_closed_store_can_be_closed_again(run_with: RunWith) -> None:
    async def scenario(store: Store) -> None:
        await store.aclose()
        await store.aclose()
        with pytest.raises(StoreUnavailableError):
            await store.check()

    run_with(scenario)
