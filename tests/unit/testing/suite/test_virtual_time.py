"""Tests of an event loop that skips waiting times and preserves their order."""

from __future__ import annotations

import asyncio
import time

from mcpgen.testing.suite.virtual_time import VirtualTimeLoop


def test_sleeps_end_immediately_and_in_order() -> None:
    seen: list[tuple[str, float]] = []

    async def wait(name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        seen.append((name, asyncio.get_running_loop().time()))

    async def story() -> None:
        await asyncio.gather(wait("later", 7200.0), wait("sooner", 3600.0))

    started = time.monotonic()
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(story())

    assert seen == [("sooner", 3600.0), ("later", 7200.0)]
    assert time.monotonic() - started < 3600


def test_a_timeout_ends_an_endless_wait() -> None:
    async def story() -> float:
        try:
            async with asyncio.timeout(60):
                await asyncio.Event().wait()
        except TimeoutError:
            return asyncio.get_running_loop().time()
        raise AssertionError("nothing ended it")

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        assert runner.run(story()) == 60


def test_executor_work_takes_no_virtual_time() -> None:
    async def scenario() -> tuple[str, float]:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(1):
            done = await loop.run_in_executor(None, "{}-{}".format, "a", "b")
        return done, loop.time()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        assert runner.run(scenario()) == ("a-b", 0.0)
