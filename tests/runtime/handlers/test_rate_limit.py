"""Tests of `<PREFIX>RATE_LIMIT`: calls per caller, in one process or with a shared store."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcpgen.contract.setting_kinds import Rate
from mcpgen.runtime.content import ToolResult
from mcpgen.runtime.errors import ProtocolError
from mcpgen.runtime.handlers import rate_limit
from mcpgen.runtime.handlers.rate_limit import RateLimiter
from mcpgen.runtime.startup.rate_limit import read_rate_limiter
from mcpgen.runtime.state.store import StoreUnavailableError
from tests.support.http_server import Served, run


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0  # 40 s after the beginning of a minute

    def __call__(self) -> float:
        return self.now


class FakeRequest:
    def __init__(self, caller: str, method: str = "tools/call") -> None:
        self.caller = caller
        self.method = method


class CountingStore:
    """A store whose counters two rate limiters share."""

    def __init__(self) -> None:
        self.counters: dict[str, int] = {}
        self.is_available = True

    async def count(self, key: str, window_seconds: float, amount: int = 1) -> int:
        if not self.is_available:
            raise StoreUnavailableError
        assert window_seconds == 60
        self.counters[key] = self.counters.get(key, 0) + amount
        return self.counters[key]


def ask(limiter: RateLimiter, caller: str, method: str = "tools/call") -> ToolResult | None:
    request: Any = FakeRequest(caller, method)
    return asyncio.run(limiter.find_refusal(request))


def test_each_caller_has_an_allowance_for_each_period() -> None:
    clock = Clock()
    limiter = RateLimiter(Rate(2, 60), clock=clock)
    assert [ask(limiter, "a") for _ in range(2)] == [None, None]
    refused = ask(limiter, "a")
    assert refused is not None
    assert refused.is_error
    assert refused.content[0].text == (
        "This call was not made: this server allows 2 calls per minute."
        " Wait 20 seconds before the next one."
    )
    assert refused.meta == {"mcpgen/retryAfterMs": 20_000}
    assert ask(limiter, "b") is None
    clock.now += 20
    assert ask(limiter, "a") is None


@pytest.mark.parametrize("method", ["resources/read", "prompts/get", "completion/complete"])
def test_other_requests_above_the_limit_are_protocol_errors(method: str) -> None:
    limiter = RateLimiter(Rate(1, 86_400), clock=Clock())
    assert ask(limiter, "", method) is None
    with pytest.raises(ProtocolError, match="1 call per day") as refused:
        ask(limiter, "", method)
    assert refused.value.data == {"mcpgen/retryAfterMs": 36_800_000}


def test_the_number_of_callers_in_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limit, "MAX_CALLERS", 3)
    limiter = RateLimiter(Rate(1, 60), clock=Clock())
    assert [ask(limiter, f"{number}") for number in range(5)] == [None] * 5
    assert len(limiter._calls) == 3
    assert ask(limiter, "4") is not None


def test_replicas_with_a_shared_store_count_together_under_keys_without_names() -> None:
    store: Any = CountingStore()
    first, second = (RateLimiter(Rate(1, 60), store=store, clock=Clock()) for _ in range(2))
    assert ask(first, "principal canary") is None
    assert ask(second, "principal canary") is not None
    assert ask(second, "principal other") is None
    assert "canary" not in "".join(store.counters)


def test_each_replica_counts_alone_while_the_store_is_unavailable() -> None:
    store: Any = CountingStore()
    store.is_available = False
    limiter = RateLimiter(Rate(1, 60), store=store, clock=Clock())
    assert ask(limiter, "a") is None
    assert ask(limiter, "a") is not None


def test_without_the_setting_nothing_is_counted() -> None:
    contract = {"name": "shop", "env_prefix": "SHOP_"}
    assert read_rate_limiter(contract, {}) is None
    assert read_rate_limiter(contract, {"SHOP_RATE_LIMIT": ""}) is None
    assert read_rate_limiter(contract, {"SHOP_RATE_LIMIT": "60/minute"}) is not None


def test_a_call_above_the_limit_is_answered_with_a_result_for_the_model() -> None:
    async def scenario(served: Served) -> None:
        served.dispatcher.rate_limiter = RateLimiter(Rate(1, 60), clock=Clock())
        first = await served.client.post_modern("tools/call", {"name": "echo"})
        assert not first.json["result"].get("isError")
        second = await served.client.post_modern("tools/call", {"name": "echo"})
        assert second.status == 200
        assert second.json["result"]["isError"] is True
        assert "allows 1 call per minute" in second.json["result"]["content"][0]["text"]

    run(scenario)
