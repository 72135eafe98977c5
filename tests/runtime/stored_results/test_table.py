"""Tests of the table of stored results: bounds, expiry, and several processes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from mcpgen.runtime.errors import StoreUnavailableError
from mcpgen.runtime.state.memory_store import MemoryStore
from mcpgen.runtime.state.open_store import open_store
from mcpgen.runtime.state.store import Store
from mcpgen.runtime.stored_results.table import (
    MAX_OF_CLIENT,
    MAX_RESULTS,
    ResultTable,
    StoredResult,
)

KIB = 1024
Run = Callable[[Coroutine[Any, Any, None]], None]


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def open_table(
    store: Store | None = None, clock: Clock | None = None, **more: Any
) -> tuple[ResultTable, Clock]:
    clock = clock or Clock()
    options = {"max_bytes": 64 * KIB, "ttl_seconds": 600.0, **more}
    return ResultTable(store or MemoryStore(clock=clock), clock=clock, **options), clock


async def add(table: ResultTable, handle: str, client: str = "one", size: int = KIB) -> None:
    record = StoredResult(f"caller of {client}", "list", "json", "text/plain", table.expires_at)
    await table.add(handle, client, record, b"x\n" * (size // 2))


async def count(table: ResultTable, *handles: str) -> int:
    return sum([await table.find(handle) is not None for handle in handles])


def run(coroutine: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(60):
            await coroutine

    asyncio.run(bounded())


def test_a_result_is_found_with_its_content_until_it_expires() -> None:
    async def scenario() -> None:
        table, clock = open_table()
        await add(table, "a")
        found = await table.find("a")
        assert found is not None
        assert (found[0].caller, found[1]) == ("caller of one", b"x\n" * 512)
        clock.now += 599
        assert await table.find("a") is not None
        clock.now += 1
        assert await table.find("a") is None
        assert await table.find("b") is None

    run(scenario())


def test_expired_results_make_room_before_others() -> None:
    async def scenario() -> None:
        table, clock = open_table()
        for number in range(16):  # all that one client may have
            await add(table, f"old {number}")
        clock.now += 600
        await add(table, "new")
        clock.now += 60
        assert await table.find("new") is not None
        assert len(table._store._entries) == 2  # type: ignore[attr-defined]  # with the index

    run(scenario())


def test_a_client_replaces_its_own_results_and_no_others() -> None:
    async def scenario() -> None:
        table, _ = open_table()
        await add(table, "of another", "two")
        handles = [f"mine {number}" for number in range(200)]
        for handle in handles:
            await add(table, handle)
        assert await count(table, *handles) == 16  # of 1 KiB: a quarter of 64 KiB
        assert await count(table, *handles[-16:]) == 16
        assert await table.find("of another") is not None

    run(scenario())


def test_a_client_has_a_bounded_number_of_small_results() -> None:
    async def scenario() -> None:
        table, _ = open_table()
        handles = [str(number) for number in range(MAX_OF_CLIENT + 10)]
        for handle in handles:
            await add(table, handle, size=2)
        assert await count(table, *handles) == MAX_OF_CLIENT
        assert await table.find("9") is None

    run(scenario())


def test_the_client_with_the_most_bytes_gives_way_in_the_whole_table() -> None:
    async def scenario() -> None:
        table, _ = open_table()
        await add(table, "small", "modest", 2 * KIB)
        greedy = [f"{client} {number}" for number in range(50) for client in "abcdefgh"]
        for handle in greedy:
            await add(table, handle, handle[0])
        assert await table.find("small") is not None
        stored = await count(table, *greedy)
        assert stored == 62  # 64 KiB, less the 2 KiB of the modest client

    run(scenario())


def test_the_number_of_results_is_bounded() -> None:
    async def scenario() -> None:
        table, _ = open_table()
        for number in range(MAX_RESULTS + 50):
            await add(table, str(number), f"client {number}", 2)
        stored = await count(table, *map(str, range(MAX_RESULTS + 50)))
        assert stored == MAX_RESULTS

    run(scenario())


def test_memory_is_flat_under_a_flood() -> None:
    async def scenario() -> None:
        store = MemoryStore(max_bytes=1024 * KIB)
        table, _ = open_table(store)
        sizes = []
        for number in range(2_000):
            await add(table, str(number), f"client {number % 37}", 4 * KIB)
            sizes.append(store._size)
        assert max(sizes) < 80 * KIB  # the contents, 64 KiB at most, and the index
        assert len(store._entries) <= 17

    run(scenario())


def test_processes_that_share_a_store_share_results_and_bounds() -> None:
    async def scenario() -> None:
        store, clock = MemoryStore(), Clock()
        tables = [open_table(store, clock)[0] for _ in range(4)]
        handles = [str(number) for number in range(40)]
        await asyncio.gather(
            *(add(tables[number % 4], handle) for number, handle in enumerate(handles))
        )
        assert await count(tables[0], *handles) == 16
        assert await tables[3].find(handles[-1]) is not None

    run(scenario())


class ContendedStore(MemoryStore):
    """A store in which another process always changes the index first."""

    async def replace(self, key: str, old: bytes, new: bytes, ttl_seconds: float) -> bool:
        return False

    async def add(self, key: str, value: bytes, ttl_seconds: float) -> bool:
        return False


def test_endless_contention_ends_with_an_error() -> None:
    async def scenario() -> None:
        table, _ = open_table(ContendedStore())
        with pytest.raises(StoreUnavailableError):
            await add(table, "a")
        assert await table.find("a") is None

    run(scenario())


def test_processes_share_results_in_a_file(tmp_path: Path) -> None:
    async def scenario() -> None:
        url = f"sqlite:///{tmp_path / 'state.db'}"
        stores = [open_store(url, server="shop") for _ in range(2)]
        one, two = (open_table(store, max_bytes=64 * 1024 * KIB)[0] for store in stores)
        try:
            await add(one, "long", size=5 * 1024 * KIB)
            found = await two.find("long")
            assert found is not None
            assert found[1] == b"x\n" * (5 * 512 * KIB)
            await asyncio.gather(
                *(add(table, f"{each}", size=2) for each, table in enumerate((one, two) * 10))
            )
            assert await count(two, "long", *map(str, range(20))) == 21
        finally:
            for store in stores:
                await store.aclose()

    run(scenario())
