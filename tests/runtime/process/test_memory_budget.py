"""Tests of the memory budget for large responses: who waits, in what order, and releases."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from mcpgen.runtime.process.memory_budget import COPIES, MemoryBudget, calling_client

BOUND_SECONDS = 10.0
SIZE = 100  # of a body; a budget of `room(n)` holds n of them


def room(count: int) -> MemoryBudget:
    return MemoryBudget(COPIES * SIZE * count)


class Calls:
    """Tasks that reserve memory and keep it until a test releases them."""

    def __init__(self, budget: MemoryBudget) -> None:
        self._budget = budget
        self.granted: list[str] = []
        self._let_go: dict[str, asyncio.Event] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def start(self, name: str, client: str = "") -> None:
        self._let_go[name] = asyncio.Event()
        self._tasks[name] = asyncio.create_task(self._run(name, client))

    async def _run(self, name: str, client: str) -> None:
        calling_client.set(client)
        await self._budget.reserve(SIZE)
        self.granted.append(name)
        await self._let_go[name].wait()

    async def finish(self, *names: str) -> None:
        for name in names:
            self._let_go[name].set()
            await self._tasks[name]
        await settle()

    async def cancel(self, name: str) -> None:
        self._tasks[name].cancel()
        with pytest.raises(asyncio.CancelledError):
            await self._tasks[name]
        await settle()


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(scenario(), BOUND_SECONDS)

    asyncio.run(bounded())


def test_a_call_waits_until_memory_is_available() -> None:
    async def scenario() -> None:
        budget = room(2)
        calls = Calls(budget)
        for name in "abc":
            calls.start(name)
        await settle()
        assert calls.granted == ["a", "b"]
        assert budget.is_short
        await calls.finish("a")
        assert calls.granted == ["a", "b", "c"]
        assert not budget.is_short
        await calls.finish("b", "c")
        assert budget._taken_bytes == 0

    run(scenario)


def test_clients_take_turns() -> None:
    async def scenario() -> None:
        calls = Calls(room(1))
        for name in ("a1", "a2", "a3", "b1", "b2", "c1"):
            calls.start(name, client=name[0])
            await settle()
        for name in ("a1", "a2", "b1", "c1", "a3", "b2"):
            assert calls.granted[-1] == name
            await calls.finish(name)

    run(scenario)


def test_a_cancelled_call_yields_its_turn() -> None:
    async def scenario() -> None:
        budget = room(1)
        calls = Calls(budget)
        for name in "abc":
            calls.start(name)
        await settle()
        await calls.cancel("b")
        await calls.finish("a")
        assert calls.granted == ["a", "c"]
        await calls.finish("c")
        assert budget._taken_bytes == 0
        assert not budget.is_short

    run(scenario)


def test_a_call_cancelled_on_its_turn_releases_the_memory() -> None:
    async def scenario() -> None:
        budget = room(1)
        calls = Calls(budget)
        calls.start("a")
        calls.start("b")
        await settle()
        budget.change_buffered(-COPIES * SIZE)  # grants b, which has not run yet
        budget.change_buffered(COPIES * SIZE)
        await calls.cancel("b")
        await calls.finish("a")
        assert calls.granted == ["a"]
        assert budget._taken_bytes == 0

    run(scenario)


def test_a_task_that_already_reserved_memory_does_not_wait() -> None:
    async def scenario() -> None:
        budget = room(1)

        async def reserve_twice() -> None:
            await budget.reserve(SIZE)
            await budget.reserve(SIZE)

        await asyncio.create_task(reserve_twice())
        await settle()
        assert budget._taken_bytes == 0

    run(scenario)


def test_a_response_larger_than_the_budget_is_read_exclusively() -> None:
    async def scenario() -> None:
        budget = MemoryBudget(SIZE)
        calls = Calls(budget)
        calls.start("a")
        calls.start("b")
        await settle()
        assert calls.granted == ["a"]
        await calls.finish("a")
        await calls.finish("b")

    run(scenario)


def test_unread_responses_delay_new_calls() -> None:
    async def scenario() -> None:
        budget = room(2)
        calls = Calls(budget)
        budget.change_buffered(COPIES * SIZE + 1)
        calls.start("a")
        await settle()
        assert calls.granted == []
        budget.change_buffered(-1)
        await settle()
        assert calls.granted == ["a"]
        await calls.finish("a")

    run(scenario)
