"""Tests that a late event loop is reported with its current work, and an idle one is not."""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from typing import Any

import pytest

from mcpgen.runtime.process import watchdog
from mcpgen.runtime.process.watchdog import Watchdog

LATE_SECONDS = 0.3  # above what a busy machine takes to wake a thread, mostly


def block_in_python() -> None:
    time.sleep(1.5)


def block_in_c() -> None:
    """Hold the interpreter lock, as decoders do."""
    ended = time.monotonic() + 1.5
    while time.monotonic() < ended:
        sum(range(10_000_000))


class _Call:
    method = "tools/call"
    params = {"name": "get_pet"}  # noqa: RUF012


def run_watched(*work: Any, **options: Any) -> list[str]:
    reports: list[str] = []

    async def scenario() -> None:
        with Watchdog(late_seconds=LATE_SECONDS, report=reports.append, **options):
            await asyncio.sleep(0.2)
            for each in work:
                each()
                await asyncio.sleep(0.5)

    asyncio.run(scenario())
    return reports


@pytest.mark.parametrize("block", [block_in_python, block_in_c])
def test_a_delay_is_reported_with_its_location(block: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(watchdog, "PACKAGE_FOLDER", __file__.rpartition("/")[0])
    (report,) = run_watched(block)
    assert report.startswith("the event loop was late by ")
    assert int(report.split()[6]) >= 900
    assert f"in {block.__name__} (" in report
    assert "test_watchdog.py:" in report


def test_a_delay_is_reported_with_its_call(monkeypatch: Any) -> None:
    monkeypatch.setattr(watchdog, "PACKAGE_FOLDER", __file__.rpartition("/")[0])

    def _run(request: _Call) -> None:
        block_in_python()

    (report,) = run_watched(lambda: _run(_Call()))
    assert report.endswith(", for tools/call get_pet")


def test_further_delays_are_counted_and_the_longest_is_reported_later() -> None:
    offset = 0.0

    def pass_time() -> None:
        nonlocal offset
        offset = watchdog.REPORT_SECONDS

    first, second = run_watched(
        block_in_python,
        lambda: time.sleep(0.6),
        block_in_python,
        pass_time,
        now=lambda: time.monotonic() + offset,
    )
    assert "more since" not in first
    assert int(second.split()[6]) >= 900
    assert second.endswith("; 1 more since the last report")


def test_an_idle_loop_and_short_work_are_not_reported() -> None:
    assert run_watched(lambda: hashlib.sha256(bytes(1000)).digest()) == []


@pytest.mark.parametrize(
    ("text", "seconds"), [("", 0.1), ("250", 0.25), ("0", 0.0), ("-1", 0.0), ("soon", 0.1)]
)
def test_the_threshold_is_read_from_the_environment(
    text: str, seconds: float, monkeypatch: Any
) -> None:
    monkeypatch.setenv(watchdog.SETTING, text)
    assert watchdog._read_late_seconds() == seconds


def test_a_threshold_of_zero_disables_the_watchdog() -> None:
    reports: list[str] = []

    async def scenario() -> None:
        with Watchdog(late_seconds=0, report=reports.append):
            block_in_python()
            await asyncio.sleep(0.2)

    asyncio.run(scenario())
    assert reports == []


class _ClearedLate(threading.Event):
    """An event that the watchdog clears only after its end was announced."""

    entered = False

    def clear(self) -> None:
        self.entered = True
        self.wait(10)
        super().clear()


def test_stopping_during_a_check_is_not_reported_as_a_delay() -> None:
    reports: list[str] = []
    responded = _ClearedLate()

    async def scenario() -> None:
        with Watchdog(late_seconds=LATE_SECONDS, report=reports.append) as watched:
            watched._has_responded = responded
            due = time.monotonic() + 10
            while not responded.entered and time.monotonic() < due:
                pass  # a busy loop is checked
        assert watched._thread is not None
        assert not watched._thread.is_alive()

    asyncio.run(scenario())
    assert responded.entered
    assert not reports
