"""Tests of concurrent calls in code: they overlap, are bounded, and keep their own results."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from mcpgen.runtime.code import run_code
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.process.memory_budget import MemoryBudget
from mcpgen.runtime.tools.registry import ToolRegistry
from mcpgen.runtime.upstream.http.messages import HttpRequest, HttpResponse
from mcpgen.testing.client.client import LEGACY, MODERN, Client
from tests.code_mode.conftest import Scene, answer_of, text_of

ASKS = "elicitation/create"
THREE = """
import asyncio
pets = await asyncio.gather(*[start(get_pet, pet_id=n) for n in (1, 2, 3)])
[pet["name"] for pet in pets]
"""
DELETE_TWO = """
import asyncio
async def delete(n: int) -> str:
    await start(delete_pet, pet_id=n)
    return f"deleted {n}"
await asyncio.gather(start(get_pet, pet_id=1), delete(2), delete(3), start(get_pet, pet_id=4))
"""


def calls(answer: dict[str, Any]) -> list[tuple[str, str, int]]:
    return [(it["name"], it["status"], it.get("times", 1)) for it in answer["calls"]]


def test_calls_that_are_started_are_made_together(scene: Scene) -> None:
    async def story(client: Client) -> dict[str, Any]:
        gate, waiting = scene.shop.close_gate()
        run = asyncio.create_task(client.call_tool("run_code", {"code": THREE}))
        for _ in range(3):
            await waiting.acquire()
        gate.set()
        return await run

    answer = answer_of(scene.talk(story))

    assert answer["result"] == ["pet 1", "pet 2", "pet 3"]
    assert calls(answer) == [("get_pet", "ok", 3)]


def test_the_number_of_calls_at_once_is_bounded(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_code, "MAX_TOGETHER", 2)
    under_way = most = 0
    send = scene.shop.send

    async def count(request: HttpRequest) -> HttpResponse:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        for _ in range(5):
            await asyncio.sleep(0)
        under_way -= 1
        return await send(request)

    monkeypatch.setattr(scene.shop, "send", count)

    assert answer_of(scene.run(THREE))["result"] == ["pet 1", "pet 2", "pet 3"]
    assert most == 2


def test_the_ledger_and_the_results_have_the_order_of_the_code(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first response arrives after the last one; `list_pets` is started before `read`."""
    send, last = scene.shop.send, asyncio.Event()

    async def hold(request: HttpRequest) -> HttpResponse:
        answer = await send(request)
        if request.url.endswith("/pets/1"):
            await last.wait()
        if request.url.endswith("/pets/99"):
            last.set()
        return answer

    monkeypatch.setattr(scene.shop, "send", hold)
    code = (
        "import asyncio\n"
        "async def read(n: int) -> str:\n"
        "    try:\n"
        "        return (await start(get_pet, pet_id=n))['name']\n"
        "    except RuntimeError as error:\n"
        "        return 'failed'\n"
        "await asyncio.gather(read(1), start(list_pets), read(99))"
    )
    answer = answer_of(scene.run(code))

    assert [answer["result"][0], answer["result"][2]] == ["pet 1", "failed"]
    assert calls(answer) == [("list_pets", "ok", 1), ("get_pet", "ok", 1), ("get_pet", "error", 1)]


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_calls_that_ask_follow_one_by_one_and_nothing_is_repeated(
    scene: Scene, revision: str
) -> None:
    asked: list[str] = []

    def agree(params: JsonObject) -> JsonObject:
        asked.append(params["message"].partition("\n\n")[2])
        return {"action": "accept", "content": {}}

    answer = answer_of(scene.run(DELETE_TWO, revision=revision, answers={ASKS: agree}))

    assert answer["result"][1:3] == ["deleted 2", "deleted 3"]
    assert answer["result"][3]["name"] == "pet 4"
    assert asked == ['delete_pet {"pet_id":2}', 'delete_pet {"pet_id":3}']
    assert sorted(scene.shop.requests[:2]) == ["GET /pets/1", "GET /pets/4"]
    assert scene.shop.requests[2:] == ["DELETE /pets/2", "DELETE /pets/3"]
    assert calls(answer) == [("get_pet", "ok", 2), ("delete_pet", "ok", 2)]


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_a_user_who_declines_one_call_ends_the_run(scene: Scene, revision: str) -> None:
    result = scene.run(
        DELETE_TWO, revision=revision, answers={ASKS: lambda _: {"action": "decline"}}
    )

    told = json.loads(text_of(result))
    assert told["error"].startswith("The code was stopped at delete_pet: The user was asked and")
    assert calls(told) == [("get_pet", "ok", 2), ("delete_pet", "refused", 1)]
    assert sorted(scene.shop.requests) == ["GET /pets/1", "GET /pets/4"]


def test_a_call_that_asks_unexpectedly_ends_the_run(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ToolRegistry, "may_ask", lambda *_: False)
    answers = {ASKS: lambda _: {"action": "accept", "content": {}}}
    result = scene.run(DELETE_TWO, revision=MODERN, answers=answers)

    told = json.loads(text_of(result))
    assert "stopped at delete_pet, which asks the user: call it without `start`" in told["error"]
    assert ("delete_pet", "refused", 1) in calls(told)
    assert not [it for it in scene.shop.requests if it.startswith("DELETE")]


def test_calls_beyond_the_bound_are_not_begun(scene: Scene) -> None:
    result = scene.run(THREE.replace("(1, 2, 3)", "range(13)"))

    told = json.loads(text_of(result))
    assert told["error"] == (
        "The code was stopped: it made 0 calls and started 12 more, the most of one run."
    )
    assert told["calls"] == []
    assert scene.shop.requests == []


def test_started_calls_count_like_others(scene: Scene) -> None:
    result = scene.run(f"{THREE}\nfor n in range(20):\n    get_pet(pet_id=1)")

    told = json.loads(text_of(result))
    assert told["error"] == "The code was stopped: it made 12 calls, the most of one run."
    assert calls(told) == [("get_pet", "ok", 12)]
    assert len(scene.shop.requests) == 12


def test_the_rate_limit_counts_each_started_call(scene: Scene) -> None:
    scene.settings["CODESHOP_RATE_LIMIT"] = "3/hour"
    result = scene.run(THREE)

    assert result["isError"] is True
    assert "this server allows 3 calls per hour" in json.loads(text_of(result))["error"]
    assert len(scene.shop.requests) == 2  # the run itself is the first call


def test_the_time_of_a_run_bounds_started_calls(scene: Scene) -> None:
    scene.package.contract["code"]["max_seconds"] = 1e-6
    result = scene.run(THREE)

    assert "it took the 1e-06 seconds of one run" in json.loads(text_of(result))["error"]
    assert scene.shop.requests == []


def test_a_call_without_an_await_is_not_made(scene: Scene) -> None:
    answer = answer_of(scene.run("start(get_pet, pet_id=1)\n5"))

    assert answer == {"result": 5, "calls": []}
    assert scene.shop.requests == []


def test_a_run_that_holds_memory_makes_its_calls_one_by_one(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A started call that waited for memory reserved by its own run would never proceed."""
    monkeypatch.setattr(MemoryBudget, "is_reserved", True)
    monkeypatch.setattr(run_code._Run, "_make_together", None)

    answer = answer_of(scene.run(THREE))

    assert scene.shop.requests == ["GET /pets/1", "GET /pets/2", "GET /pets/3"]
    assert calls(answer) == [("get_pet", "ok", 3)]


@pytest.mark.parametrize(
    "call",
    [
        "eval('delete_pet(pet_id=P())')",
        "await asyncio.gather(start(delete_pet, pet_id=2), eval('start(delete_pet, pet_id=P())'))",
    ],
)
def test_arguments_without_json_are_refused(scene: Scene, call: str) -> None:
    """Such arguments could not be stored while the user is asked about another call."""
    code = f"import asyncio\nclass P:\n    pass\n{call}"
    answers = {ASKS: lambda _: {"action": "accept", "content": {}}}
    result = scene.run(code, revision=MODERN, answers=answers)

    assert result["isError"] is True
    assert "delete_pet was not called: an argument is no JSON value." in text_of(result)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("await start(get_pet, pet_id='x')", "1:22: Argument to function `start` is incorrect"),
        ("await start(get_inventory)", "Name `get_inventory` used when not defined"),
        ("eval('start(\"get_inventory\")')", "takes a function and its keyword arguments"),
        ("eval('start([1])')", "takes a function and its keyword arguments"),
        ("eval('start(get_pet, 1)')", "takes a function and its keyword arguments"),
        ("eval('start()')", "takes a function and its keyword arguments"),
        ("eval('start(start, pet_id=1)')", "takes a function and its keyword arguments"),
        ("await start(get_pet, pet_id=-1)", "`/pet_id` must be at least 1, not -1"),
    ],
)
def test_what_cannot_be_started_is_refused(scene: Scene, code: str, message: str) -> None:
    result = scene.run(code)

    assert result["isError"] is True
    assert message in text_of(result)
    assert scene.shop.requests == []
