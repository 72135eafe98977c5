"""Tests that long responses are processed in turn, as memory allows."""

from __future__ import annotations

import asyncio
import threading

from mcpgen.runtime.process.memory_budget import DecodingBudget, run_in_worker


def test_work_is_done_in_another_thread() -> None:
    async def scenario() -> None:
        assert await run_in_worker(threading.get_ident) != threading.get_ident()

    asyncio.run(scenario())


def test_waiting_requests_for_the_budget_are_served_in_order() -> None:
    async def scenario() -> None:
        budget, order = DecodingBudget(10), list[str]()

        async def take(owner: str, size: int) -> None:
            await budget.take(owner, size)
            order.append(owner)

        await take("a", 6)
        waiting = [asyncio.create_task(take(owner, size)) for owner, size in (("b", 99), ("c", 1))]
        await asyncio.sleep(0)
        assert order == ["a"]
        await take("a", 100)  # its own: it would wait for itself
        budget.release("a")
        await asyncio.sleep(0)
        assert order == ["a", "a", "b"]
        budget.release("b")
        await asyncio.gather(*waiting)
        assert order == ["a", "a", "b", "c"]

    asyncio.run(scenario())


def test_a_cancelled_waiter_yields_its_turn_to_the_next() -> None:
    async def scenario() -> None:
        budget = DecodingBudget(10)
        await budget.take("a", 9)
        second = asyncio.create_task(budget.take("b", 5))
        third = asyncio.create_task(budget.take("c", 1))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        await asyncio.wait_for(third, 10)
        for owner in "abc":
            budget.release(owner)
        await asyncio.wait_for(budget.take("d", 10), 10)

    asyncio.run(scenario())
