"""Backing off from an API that is busy or broken."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from mcpgen.runtime.upstream.errors import UpstreamStatusError
from mcpgen.runtime.upstream.http import HttpResponse
from mcpgen.runtime.upstream.load import CircuitBreaker, ConcurrencyLimit, OverloadedError
from mcpgen.runtime.upstream.rules import RequestRules


class Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> CircuitBreaker:
    return CircuitBreaker(clock, lambda: 0.5)


def is_open(breaker: CircuitBreaker) -> bool:
    try:
        breaker.check()
    except OverloadedError:
        return True
    return False


def outcomes(breaker: CircuitBreaker, failed: Iterator[bool] | list[bool]) -> None:
    for outcome in failed:
        breaker.record(failed=outcome)


def test_circuit_opens_when_most_of_twenty_failed(breaker: CircuitBreaker) -> None:
    outcomes(breaker, [True] * 19)
    assert not is_open(breaker)
    outcomes(breaker, [True])
    assert is_open(breaker)


def test_half_failing_is_not_most(breaker: CircuitBreaker) -> None:
    outcomes(breaker, [False, True] * 50)
    assert not is_open(breaker)


def test_old_failures_are_forgotten(breaker: CircuitBreaker, clock: Clock) -> None:
    outcomes(breaker, [True] * 19)
    clock.seconds = 10.5
    outcomes(breaker, [True])
    assert not is_open(breaker)


def test_one_probe_decides(breaker: CircuitBreaker, clock: Clock) -> None:
    outcomes(breaker, [True] * 20)
    clock.seconds = 5.1
    assert [is_open(breaker), is_open(breaker)] == [False, True]
    outcomes(breaker, [True])
    clock.seconds = 9.9
    assert is_open(breaker)
    clock.seconds = 10.2
    assert not is_open(breaker)
    outcomes(breaker, [False])
    assert not is_open(breaker)
    outcomes(breaker, [True] * 10)
    assert not is_open(breaker)


def test_refusal_says_when_to_come_back(breaker: CircuitBreaker) -> None:
    outcomes(breaker, [True] * 20)
    with pytest.raises(OverloadedError, match="Try again in 5 seconds"):
        breaker.check()


def test_requests_beyond_the_queue_are_refused_at_once(run) -> None:
    async def crowd() -> list[str]:
        limit = ConcurrencyLimit(concurrent=2, waiting=3)
        gate = asyncio.Event()

        async def one() -> str:
            try:
                async with limit:
                    await gate.wait()
                    return "served"
            except OverloadedError:
                return "refused"

        tasks = [asyncio.create_task(one()) for _ in range(7)]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        gate.set()
        return await asyncio.gather(*tasks)

    assert sorted(run(crowd())) == ["refused"] * 2 + ["served"] * 5


def test_cancelled_waiter_leaves_its_place(run) -> None:
    async def leave() -> None:
        limit = ConcurrencyLimit(concurrent=1, waiting=1)
        async with limit:
            waiter = asyncio.create_task(hold(limit))
            await asyncio.sleep(0)
            waiter.cancel()
            await asyncio.gather(waiter, return_exceptions=True)
            replacement = asyncio.create_task(hold(limit))
            await asyncio.sleep(0)
            assert not replacement.done()
        await replacement

    async def hold(limit: ConcurrencyLimit) -> None:
        async with limit:
            pass

    run(leave())


def test_broken_api_is_not_asked_again_for_a_while(
    make_client, upstream, surroundings, run
) -> None:
    upstream.outcomes = (HttpResponse(500),)
    client = make_client()
    rules = RequestRules.from_json({"method": "POST", "path": "/pets"})

    async def many() -> None:
        for _ in range(20):
            with pytest.raises(UpstreamStatusError):
                await client.bind("t", rules).request("POST", "/pets", returns=dict)
        with pytest.raises(OverloadedError, match=r"^`POST /pets` was not sent"):
            await client.bind("t", rules).request("POST", "/pets", returns=dict)

    run(many())
    assert len(upstream.requests) == 20


def test_refusals_by_the_api_do_not_open_the_circuit(make_client, upstream, run) -> None:
    upstream.outcomes = (HttpResponse(422),)
    client = make_client()
    rules = RequestRules.from_json({"method": "POST", "path": "/pets"})

    async def many() -> None:
        for _ in range(30):
            with pytest.raises(UpstreamStatusError):
                await client.bind("t", rules).request("POST", "/pets", returns=dict)

    run(many())
    assert len(upstream.requests) == 30
