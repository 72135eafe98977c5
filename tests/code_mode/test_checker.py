"""Tests of the type checker: its process is reused between runs, runs no code, and is bounded."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from mcpgen.contract.code_mode import CodeBounds
from mcpgen.runtime.code import checker as checking
from mcpgen.runtime.code.checker import TypeChecker
from mcpgen.runtime.code.sandbox import CheckFailedError, CodeFailedError
from mcpgen.testing.client.client import Client
from tests.code_mode.conftest import Scene, answer_of, list_workers, text_of
from tests.support.running_process import ATTEMPTS, PAUSE_SECONDS

STUBS = "from typing import TypedDict\n\n\ndef get_pet(*, pet_id: int) -> int:\n    ...\n"
BOUNDS = CodeBounds(max_compute_seconds=1)
LONG = "a = {}\n" + "a = [a, a]\n" * 3_000
"""Code whose types take many seconds to check."""

needs_processes = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="needs the processes of Linux"
)


def check_all(story: Callable[[TypeChecker], Awaitable[Any]]) -> Any:
    async def whole() -> Any:
        checker = TypeChecker(BOUNDS)
        try:
            async with asyncio.timeout(60):
                return await story(checker)
        finally:
            await checker.aclose()

    return asyncio.run(whole())


async def report_of(checker: TypeChecker, code: str, stubs: str = STUBS) -> str:
    try:
        await checker.check(code, stubs)
    except CheckFailedError as error:
        return str(error)
    return ""


async def wait_for_workers(number: int) -> set[str]:
    for _ in range(ATTEMPTS):
        if len(workers := list_workers()) == number:
            return workers
        await asyncio.sleep(PAUSE_SECONDS)
    raise AssertionError(f"{list_workers()} run, not {number}")


@needs_processes
def test_all_runs_share_one_process_for_types(scene: Scene) -> None:
    async def story(client: Client) -> list[set[str]]:
        seen = []
        for n in (1, 2):
            code = {"code": f"get_pet(pet_id={n})['name']"}
            assert answer_of(await client.call_tool("run_code", code))["result"] == f"pet {n}"
            seen.append(list_workers())
        return seen

    first, second = scene.talk(story)

    assert len(first) == 1
    assert first == second
    assert list_workers() == set()


def test_places_are_those_of_the_snippet() -> None:
    async def story(checker: TypeChecker) -> list[str]:
        return [
            await report_of(checker, code)
            for code in (
                "get_pet(pet_id='x')",
                "\n\n  # a comment\nget_pet()",
                "get_pet(pet_id=1)\ndef f(",
                "\ufeffx",
                "1",
            )
        ]

    wrong, missing, syntax, marked, right = check_all(story)

    assert wrong.startswith("code.py:1:9: error[invalid-argument-type]")
    assert missing.startswith("code.py:4:1: error[missing-argument]")
    assert syntax.startswith("code.py:2:7: error[invalid-syntax]")
    assert "get_pet" not in syntax  # known, although the syntax is wrong
    assert marked.startswith("code.py:1:1: error[unresolved-reference]")
    assert right == ""


@pytest.mark.parametrize("code", ["while True: pass", "get_pet(pet_id=1)"])
def test_code_is_not_run_by_the_check(code: str) -> None:
    """If the check ran the code, a loop would hit the time limit and a call would block."""
    assert check_all(lambda checker: report_of(checker, code)) == ""


def test_snippets_know_nothing_of_each_other() -> None:
    async def story(checker: TypeChecker) -> list[str]:
        await checker.check("secret = 1\ndef get_pet(*, name: str) -> str:\n    return name", STUBS)
        return [
            await report_of(checker, "secret"),
            await report_of(checker, "get_pet(pet_id=1) + 1"),
            await report_of(checker, "get_pet(pet_id=1)", "from typing import Any\n"),
        ]

    secret, changed, other_stubs = check_all(story)

    assert "Name `secret` used when not defined" in secret
    assert changed == ""
    assert "Name `get_pet` used when not defined" in other_stubs


@pytest.mark.parametrize(
    "report",
    [
        "",
        "code.py:2:1: error[unsupported-operator] Operator `+` is not supported",
        (
            "code.py:1:6: error[unresolved-import] Cannot resolve imported module `functions_0`\n"
            "code.py:1:28: error[unsupported-operator] Operator `+` is not supported"
        ),
    ],
)
def test_a_report_without_the_problem_of_the_first_line_is_no_proof(report: str) -> None:
    with pytest.raises(CodeFailedError, match="cannot be checked"):
        checking._read_report(report)


@needs_processes
def test_a_long_check_delays_no_other_and_ends_when_it_is_cancelled() -> None:
    async def story(checker: TypeChecker) -> None:
        await checker.check("1", STUBS)
        long = asyncio.create_task(checker.check(LONG, STUBS))
        await asyncio.sleep(0)
        await checker.check("2", STUBS)
        assert not long.done()
        assert len(list_workers()) == 2
        long.cancel()
        await asyncio.wait([long])
        await wait_for_workers(1)

    check_all(story)
    assert list_workers() == set()


@needs_processes
def test_a_session_is_replaced_after_many_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "_MAX_CHECKS", 4)

    async def story(checker: TypeChecker) -> None:
        await checker.check("1", STUBS)
        (first,) = list_workers()
        for n in range(4):
            await checker.check(str(n), STUBS)
        assert first not in await wait_for_workers(1)

    check_all(story)


@needs_processes
def test_an_idle_process_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "IDLE_SECONDS", 0.0)

    async def story(checker: TypeChecker) -> None:
        await checker.check("1", STUBS)
        await wait_for_workers(0)
        await checker.check("1", STUBS)

    check_all(story)


@needs_processes
def test_describing_functions_prepares_the_check(scene: Scene) -> None:
    async def story(client: Client) -> None:
        await client.call_tool("describe_tool", {"name": "get_pet"})
        prepared = await wait_for_workers(1)
        result = await client.call_tool("run_code", {"code": "get_pet(pet_id=1)['id']"})
        assert answer_of(result)["result"] == 1
        assert list_workers() == prepared

    scene.talk(story)


def test_a_check_takes_less_than_the_start_of_a_session() -> None:
    """The sum of twenty checks, each of new code."""

    async def story(checker: TypeChecker) -> tuple[float, float]:
        begun = time.perf_counter()
        await checker.check("0", STUBS)
        first = time.perf_counter() - begun
        begun = time.perf_counter()
        for n in range(20):
            await checker.check(f"get_pet(pet_id={n})", STUBS)
        return first, (time.perf_counter() - begun) / 20

    first, later = check_all(story)

    assert later < first


def test_messages_of_a_run_name_the_sandbox_that_was_stopped(scene: Scene) -> None:
    """A check that exceeds the compute time of a run is stopped; the server keeps running."""

    async def story(client: Client) -> tuple[dict[str, Any], dict[str, Any]]:
        long = await client.call_tool("run_code", {"code": LONG})
        return long, await client.call_tool("run_code", {"code": "1 + 1"})

    long, short = scene.talk(story)

    assert "The sandbox took too long, and was stopped." in text_of(long)
    assert answer_of(short)["result"] == 2
    assert scene.shop.requests == []
