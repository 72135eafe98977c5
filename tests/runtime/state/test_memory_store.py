"""Tests of the bounds of the store in memory."""

from __future__ import annotations

import asyncio

import pytest

from mcpgen.runtime.state.memory_store import MemoryStore
from mcpgen.runtime.state.store import StoreUnavailableError


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_full_store_refuses_keys_until_others_expire() -> None:
    async def scenario() -> None:
        clock = Clock()
        store = MemoryStore(clock=clock, max_keys=2)
        await store.put("a", b"", 10)
        await store.count("b", 20)
        with pytest.raises(StoreUnavailableError, match="2 keys"):
            await store.add("c", b"", 10)
        await store.put("a", b"again", 10)
        clock.now += 10
        assert await store.add("c", b"", 10)
        assert await store.count("b", 20) == 2

    asyncio.run(scenario())


def test_a_store_refuses_bytes_above_its_bound() -> None:
    async def scenario() -> None:
        store = MemoryStore(clock=Clock(), max_bytes=10_000)
        await store.put("a", b"x" * 5000, 10)
        with pytest.raises(StoreUnavailableError, match="10,000 bytes"):
            await store.put("b", b"x" * 5000, 10)
        with pytest.raises(StoreUnavailableError, match="10,000 bytes"):
            await store.append("l", b"x" * 5000, ttl_seconds=10, max_entries=9, max_bytes=99_999)
        await store.put("a", b"", 10)
        await store.put("b", b"x" * 5000, 10)
        await store.delete("a", "b")
        assert await store.append("l", b"x" * 9000, ttl_seconds=9, max_entries=9, max_bytes=9) == 1

    asyncio.run(scenario())


def test_expired_and_replaced_keys_leave_nothing_behind() -> None:
    async def scenario() -> None:
        clock = Clock()
        store = MemoryStore(clock=clock)
        for number in range(5000):
            clock.now += 1
            await store.put("same", b"", 1_000_000)
            await store.put(f"key:{number}", b"", 10)
            await store.count(f"key:{number}", 10)
            log = f"log:{number}"
            await store.append(log, b"x", ttl_seconds=10, max_entries=9, max_bytes=9)
        assert len(store._entries) <= 50
        assert len(store._ends) <= 1200
        clock.now += 10_000_000
        await store.put("last", b"", 10)
        assert list(store._entries) == [("value", "last")]
        await store.delete("last")
        assert store._size == 0

    asyncio.run(scenario())
