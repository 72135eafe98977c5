"""Tests of backing off from an API that is busy or broken."""

from __future__ import annotations

import asyncio

import pytest
from msgspec import convert

from mcpgen.runtime.upstream.errors import OverloadedError, UpstreamStatusError
from mcpgen.runtime.upstream.http.messages import HttpResponse
from mcpgen.runtime.upstream.request.rules import RequestRules
from mcpgen.runtime.upstream.resilience import MAX_CALLERS, CircuitBreaker, ConcurrencyLimit


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


def is_open(breaker: CircuitBreaker, caller: str = "") -> bool:
    try:
        breaker.check(caller)
    except OverloadedError:
        return True
    return False


def outcomes(breaker: CircuitBreaker, failed: list[bool], caller: str = "") -> None:
    for outcome in failed:
        breaker.record(breaker.admit(caller), failed=outcome)


def test_the_circuit_opens_when_most_of_twenty_requests_fail(breaker: CircuitBreaker) -> None:
    outcomes(breaker, [True] * 19)
    assert not is_open(breaker)
    outcomes(breaker, [True])
    assert is_open(breaker)


def test_the_circuit_stays_closed_when_half_of_the_requests_fail(breaker: CircuitBreaker) -> None:
    outcomes(breaker, [False, True] * 50)
    assert not is_open(breaker)


def test_old_failures_are_not_counted(breaker: CircuitBreaker, clock: Clock) -> None:
    outcomes(breaker, [True] * 19)
    clock.seconds = 10.5
    outcomes(breaker, [True])
    assert not is_open(breaker)


def test_a_half_open_circuit_admits_one_probe(breaker: CircuitBreaker, clock: Clock) -> None:
    outcomes(breaker, [True] * 20)
    clock.seconds = 5.1
    probe = breaker.admit()
    assert is_open(breaker)
    with pytest.raises(OverloadedError):
        breaker.admit()
    breaker.record(probe, failed=True)
    clock.seconds = 9.9
    assert is_open(breaker)
    clock.seconds = 10.2
    probe = breaker.admit()
    assert is_open(breaker)
    breaker.record(probe, failed=False)
    outcomes(breaker, [True] * 10)
    assert not is_open(breaker)


def test_a_probe_without_an_outcome_admits_the_next_probe(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    outcomes(breaker, [True] * 20)
    clock.seconds = 5.1
    breaker.record(breaker.admit(), failed=None)
    breaker.record(breaker.admit(), failed=False)
    assert not is_open(breaker)


def test_the_outcome_of_an_earlier_request_does_not_change_an_open_circuit(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    late = [breaker.admit() for _ in range(30)]
    outcomes(breaker, [True] * 20)
    breaker.record(late.pop(), failed=False)
    assert is_open(breaker)
    clock.seconds = 5.1
    for request in late:
        breaker.record(request, failed=True)
    assert not is_open(breaker)
    outcomes(breaker, [False])
    assert not is_open(breaker)


def test_a_served_caller_is_not_rejected_for_failures_of_others(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    outcomes(breaker, [False] * 10, "served")
    outcomes(breaker, [True] * 11, "failing")
    assert is_open(breaker, "failing")
    assert not is_open(breaker, "served")
    assert not is_open(breaker, "new")
    outcomes(breaker, [True], "new")
    assert is_open(breaker, "new")
    outcomes(breaker, [False], "served")
    assert is_open(breaker, "failing")
    clock.seconds = 5.1
    outcomes(breaker, [False], "failing")
    assert not is_open(breaker, "new")


def test_open_circuit_remembers_a_bounded_number_of_callers(breaker: CircuitBreaker) -> None:
    outcomes(breaker, [True] * 20)
    for number in range(MAX_CALLERS + 1):
        outcomes(breaker, [True], f"caller {number}")
    assert is_open(breaker, "caller 0")
    assert not is_open(breaker, f"caller {MAX_CALLERS}")


def test_the_rejection_states_when_to_retry(breaker: CircuitBreaker) -> None:
    outcomes(breaker, [True] * 20)
    with pytest.raises(OverloadedError, match="Try again in 5 seconds"):
        breaker.check()


class Crowd:
    """Requests of several callers to one limit; each ends when the test releases it."""

    def __init__(self, limit: ConcurrencyLimit) -> None:
        self.limit = limit
        self.under_way: list[str] = []
        self.refused: list[str] = []
        self.tasks: list[asyncio.Task[None]] = []
        self._gates: dict[str, asyncio.Event] = {}

    async def arrive(self, *names: str) -> None:
        """Send one request per name; "a3" is a request of the caller "a"."""
        for name in names:
            self._gates[name] = asyncio.Event()
            self.tasks.append(asyncio.create_task(self._request(name), name=name))
        await asyncio.sleep(0)

    async def finish(self, name: str) -> None:
        self._gates[name].set()
        for _ in range(3):
            await asyncio.sleep(0)

    async def cancel(self, name: str) -> None:
        next(task for task in self.tasks if task.get_name() == name).cancel()
        for _ in range(3):
            await asyncio.sleep(0)

    async def _request(self, name: str) -> None:
        caller = name.rstrip("0123456789")
        try:
            await self.limit.acquire(caller)
        except OverloadedError:
            self.refused.append(name)
            return
        self.under_way.append(name)
        try:
            await self._gates[name].wait()
        finally:
            self.under_way.remove(name)
            self.limit.release(caller)

    async def leave(self) -> None:
        for gate in self._gates.values():
            gate.set()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        assert self.limit.is_idle
        assert not self.under_way


def numbered(caller: str, count: int) -> list[str]:
    return [f"{caller}{number}" for number in range(count)]


def test_requests_above_the_queue_limit_are_rejected_immediately(run) -> None:
    async def scene() -> None:
        crowd = Crowd(ConcurrencyLimit(concurrent=2, waiting=3))
        await crowd.arrive(*numbered("", 7))
        assert crowd.under_way == ["0", "1"]
        assert crowd.refused == ["5", "6"]
        await crowd.leave()

    run(scene())


def test_callers_take_turns(run) -> None:
    async def scene() -> None:
        crowd = Crowd(ConcurrencyLimit(concurrent=1, waiting=10))
        await crowd.arrive("a0", "a1", "a2", "a3", "b0", "b1", "c0")
        order = []
        while crowd.under_way:
            order += crowd.under_way
            await crowd.finish(crowd.under_way[0])
        assert order == ["a0", "a1", "b0", "c0", "a2", "b1", "a3"]
        await crowd.leave()

    run(scene())


def test_a_caller_cannot_use_all_slots(run) -> None:
    async def scene() -> None:
        crowd = Crowd(ConcurrencyLimit(concurrent=100, waiting=200))
        await crowd.arrive(*numbered("a", 150))
        assert len(crowd.under_way) == 80
        await crowd.arrive("b0")
        assert "b0" in crowd.under_way
        await crowd.leave()

    run(scene())


def test_a_single_client_can_use_all_slots(run) -> None:
    async def scene() -> None:
        crowd = Crowd(ConcurrencyLimit(concurrent=100, waiting=200))
        await crowd.arrive(*numbered("", 150))
        assert len(crowd.under_way) == 100
        await crowd.leave()

    run(scene())


def test_requests_of_the_caller_that_fills_the_queue_are_rejected_first(run) -> None:
    async def scene() -> None:
        crowd = Crowd(ConcurrencyLimit(concurrent=1, waiting=4))
        await crowd.arrive(*numbered("a", 5))
        await crowd.arrive("b0", "b1")
        assert not crowd.refused  # the futures are settled, and their tasks run next
        await asyncio.sleep(0)
        assert crowd.refused == ["a4", "a3"]
        await crowd.arrive("b2", "a5")
        assert crowd.refused == ["a4", "a3", "b2", "a5"]
        await crowd.leave()

    run(scene())


def test_cancelled_requests_free_their_slots(run) -> None:
    async def scene() -> None:
        crowd = Crowd(ConcurrencyLimit(concurrent=1, waiting=2))
        await crowd.arrive("a0", "a1", "b0")
        await crowd.cancel("a1")
        await crowd.arrive("c0")
        assert not crowd.refused
        await crowd.cancel("a0")
        assert crowd.under_way == ["b0"]
        await crowd.leave()

    run(scene())


def test_a_slot_assigned_to_a_cancelled_request_goes_to_the_next(run) -> None:
    async def scene() -> None:
        limit = ConcurrencyLimit(concurrent=1, waiting=2)
        await limit.acquire("a")
        waiting = [asyncio.create_task(limit.acquire(caller)) for caller in ("b", "c")]
        await asyncio.sleep(0)
        limit.release("a")  # the slot of b, which is cancelled before it learns of it
        waiting[0].cancel()
        await asyncio.wait(waiting)
        assert waiting[0].cancelled()
        assert waiting[1].exception() is None
        limit.release("c")
        assert limit.is_idle

    run(scene())


def test_a_failing_api_is_not_called_while_the_circuit_is_open(
    make_client, upstream, environment, run
) -> None:
    upstream.outcomes = (HttpResponse(500),)
    client = make_client()
    rules = convert({"method": "POST", "path": "/pets"}, RequestRules)

    async def many() -> None:
        for _ in range(20):
            with pytest.raises(UpstreamStatusError):
                await client.bind("t", rules).request("POST", "/pets", returns=dict)
        with pytest.raises(OverloadedError, match=r"^`POST /pets` was not sent"):
            await client.bind("t", rules).request("POST", "/pets", returns=dict)

    run(many())
    assert len(upstream.requests) == 20


def test_client_errors_do_not_open_the_circuit(make_client, upstream, run) -> None:
    upstream.outcomes = (HttpResponse(422),)
    client = make_client()
    rules = convert({"method": "POST", "path": "/pets"}, RequestRules)

    async def many() -> None:
        for _ in range(30):
            with pytest.raises(UpstreamStatusError):
                await client.bind("t", rules).request("POST", "/pets", returns=dict)

    run(many())
    assert len(upstream.requests) == 30
