"""Tests of `run_code`: tool calls in code, the ledger, limits and messages."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from mcpgen.contract.code_mode import CodeBounds
from mcpgen.runtime.auth.access import Access
from mcpgen.runtime.code import run_code
from mcpgen.runtime.transports.memory import MemoryConnection
from mcpgen.testing.client.client import MODERN, Client
from tests.code_mode.conftest import Scene, answer_of, list_workers, text_of

LOOP = """
names = []
for pet in list_pets()["items"]:
    names.append(get_pet(pet_id=pet["id"])["name"])
print("looked at", len(names))
{"names": names, "first": names[0]}
"""


def test_the_list_has_the_search_tools_and_run_code(scene: Scene) -> None:
    listed = scene.talk(lambda client: client.list_tools())

    assert [it["name"] for it in listed] == [
        "call_tool", "describe_tool", "run_code", "search_tools",
    ]  # fmt: skip
    assert len(json.dumps(listed, separators=(",", ":"))) / 4 < 1_000
    hints = next(it["annotations"] for it in listed if it["name"] == "run_code")
    assert (hints["readOnlyHint"], hints["destructiveHint"]) == (False, True)
    assert hints["openWorldHint"] is True


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-11-25", MODERN])
def test_code_calls_tools_in_a_loop(scene: Scene, revision: str) -> None:
    answer = answer_of(scene.run(LOOP, revision=revision))

    assert answer["result"] == {"names": [f"pet {n}" for n in range(1, 6)], "first": "pet 1"}
    assert answer["output"] == "looked at 5\n"
    assert [(it["name"], it["status"], it.get("times", 1)) for it in answer["calls"]] == [
        ("list_pets", "ok", 1),
        ("get_pet", "ok", 5),
    ]
    assert all(it["ms"] >= 0 for it in answer["calls"])
    assert scene.shop.requests == ["GET /pets", *(f"GET /pets/{n}" for n in range(1, 6))]


def test_types_are_checked_before_the_first_request(scene: Scene) -> None:
    result = scene.run('list_pets()\nget_pet(pet_id="one")\nget_pett(pet_id=1)')

    assert result["isError"] is True
    lines = text_of(result).splitlines()
    assert lines[0] == "Nothing was run, because the types are wrong (LINE:COLUMN):"
    assert lines[1].startswith("2:9: Argument to function `get_pet` is incorrect")
    assert "It is `def get_pet(*, pet_id: int) -> Pet`" in lines[1]
    assert lines[2] == (
        "3:1: Name `get_pett` used when not defined. Did you mean `get_pet` or `delete_pet` or "
        "`create_pet`?"
    )
    assert scene.shop.requests == []


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import socket", "1:8: Cannot resolve imported module `socket`. Only json, re,"),
        ("map(str, [1])", "1:1: Name `map` used when not defined. It is not available: write a"),
        ("get_pet(pet_id=1)['nmae']", '1:19: Unknown key "nmae" for TypedDict `Pet`'),
        ("list_pets()['items'][0]['bornOn'].upper()", "The value may be None: check that first."),
        ("create_pet(name='Rex', species='dog', price={})", "Missing required key"),
        ("def f(", "1:7: unexpected EOF"),
        ("x = y", "Read the functions with `describe_tool` first."),
    ],
)
def test_messages_name_the_place_and_the_remedy(scene: Scene, code: str, message: str) -> None:
    result = scene.run(code)

    assert result["isError"] is True
    assert message in text_of(result)


def test_a_failed_call_is_an_exception_that_code_can_catch(scene: Scene) -> None:
    answer = answer_of(
        scene.run(
            "found = []\n"
            "for n in (1, 99, 2):\n"
            "    try:\n"
            "        found.append(get_pet(pet_id=n)['name'])\n"
            "    except RuntimeError as error:\n"
            "        found.append(str(error))\n"
            "found"
        )
    )

    assert answer["result"][0::2] == ["pet 1", "pet 2"]
    assert "`GET /pets/99`" in answer["result"][1]
    assert "404" in answer["result"][1]
    assert [it["status"] for it in answer["calls"]] == ["ok", "error", "ok"]


def test_an_uncaught_failure_ends_the_run_with_its_place_and_the_ledger(scene: Scene) -> None:
    result = scene.run("get_pet(pet_id=1)\nget_pet(pet_id=99)\nget_pet(pet_id=2)")

    assert result["isError"] is True
    answer = json.loads(text_of(result))
    assert answer["error"].startswith("2:1: RuntimeError: get_pet failed: ")
    assert [it["status"] for it in answer["calls"]] == ["ok", "error"]


def test_invalid_values_are_refused_as_in_a_direct_call(scene: Scene) -> None:
    result = scene.run("get_pet(pet_id=-1)")

    assert "`/pet_id` must be at least 1, not -1" in text_of(result)
    assert json.loads(text_of(result))["calls"][0]["status"] == "refused"
    assert scene.shop.requests == []


def test_the_result_is_bounded_and_says_what_is_cut(scene: Scene) -> None:
    scene.settings["CODESHOP_MAX_RESULT_TOKENS"] = "1000"
    result = scene.run("[{'n': n, 'text': 'x' * 50} for n in range(500)]")

    assert len(text_of(result)) < 4_300
    assert result["_meta"]["mcpgen/truncated"] is True
    assert "Cut: `/result` shows" in result["content"][1]["text"]
    assert "do not repeat those calls" in result["content"][1]["text"]


def test_printed_text_is_bounded(scene: Scene) -> None:
    answer = answer_of(scene.run("for n in range(200):\n    print('y' * 1000)"))

    assert 9_000 < len(answer["output"]) < 11_000


def test_values_without_json_become_text(scene: Scene) -> None:
    code = (
        "import datetime\n"
        "class Point:\n    def __init__(self):\n        self.x = 1\n"
        "[{1}, (2,), b'3', float('nan'), datetime.date(2026, 1, 2), Point(), 2**100, {4: 5}]"
    )

    assert answer_of(scene.run(code))["result"] == [
        [1], [2], "b'3'", "nan", "2026-01-02", {"x": 1}, "an integer of 101 bits", {"4": 5},
    ]  # fmt: skip


def test_the_number_of_calls_is_bounded(scene: Scene) -> None:
    result = scene.run(
        "while True:\n    try:\n        get_pet(pet_id=1)\n    except BaseException:\n        pass"
    )

    answer = json.loads(text_of(result))
    assert answer["error"] == "The code was stopped: it made 12 calls, the most of one run."
    assert [it["times"] for it in answer["calls"]] == [12]
    assert len(scene.shop.requests) == 12


def test_runs_at_a_time_are_bounded(scene: Scene) -> None:
    async def story(client: Client) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        gate, waiting = scene.shop.close_gate()
        runs = [
            asyncio.create_task(client.call_tool("run_code", {"code": "get_pet(pet_id=1)"}))
            for _ in range(2)
        ]
        await waiting.acquire()
        await waiting.acquire()
        refused = await client.call_tool("run_code", {"code": "1"})
        gate.set()
        return await asyncio.gather(*runs), refused

    done, refused = scene.talk(story)

    assert "this server already runs 2 snippets, the most at a time" in text_of(refused)
    assert all(answer_of(it)["result"]["id"] == 1 for it in done)


def test_a_greedy_caller_leaves_runs_to_others(scene: Scene) -> None:
    async def story(client: Client) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        gate, waiting = scene.shop.close_gate()
        connection = client.connection
        assert isinstance(connection, MemoryConnection)

        async def begin(caller: str) -> asyncio.Task[dict[str, Any]]:
            connection.access = Access(caller)
            run = client.call_tool("run_code", {"code": "get_pet(pet_id=1)['id']"})
            task = asyncio.create_task(run)
            await waiting.acquire()
            return task

        held = await begin("ada")
        refused = await client.call_tool("run_code", {"code": "1"})
        runs = [held, await begin("bob")]
        gate.set()
        return await asyncio.gather(*runs), refused

    done, refused = scene.talk(story)

    assert [answer_of(it)["result"] for it in done] == [1, 1]
    assert text_of(refused) == (
        "Nothing was run: you already run 1 snippet, the most at a time."
        " Try again when one has ended, or in 60 seconds."
    )
    assert refused["_meta"]["mcpgen/retryAfterMs"] == 60_000


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        (CodeBounds(), 2),
        (CodeBounds(max_runs=1), 1),
        (CodeBounds(max_runs=7), 3),
        (CodeBounds(max_runs=7, max_runs_per_caller=5), 5),
    ],
)
def test_a_caller_has_half_of_the_runs_unless_it_is_stated(
    bounds: CodeBounds, expected: int
) -> None:
    assert bounds.runs_per_caller == expected


def test_the_rate_limit_counts_each_call(scene: Scene) -> None:
    scene.settings["CODESHOP_RATE_LIMIT"] = "3/hour"
    result = scene.run("[get_pet(pet_id=n) for n in (1, 2, 3, 4)]")

    assert result["isError"] is True
    answer = json.loads(text_of(result))
    assert "this server allows 3 calls per hour" in answer["error"]
    # The run itself is the first call.
    assert scene.shop.requests == ["GET /pets/1", "GET /pets/2"]


def test_describe_shows_functions_and_their_types(scene: Scene) -> None:
    shown = text_of(
        scene.talk(lambda it: it.call_tool("describe_tool", {"name": "get_pet, create_pet"}))
    )

    assert "def get_pet(*, pet_id: int) -> Pet:" in shown
    assert "class Pet(TypedDict, total=False):" in shown
    assert "def create_pet(*, name: str, species: Literal[" in shown
    assert "], born_on: str = ..., price: CreatePetPrice = ..." in shown
    assert "class CreatePetPrice(TypedDict):\n    amount: float\n    currency: str" in shown
    assert "def list_pets" not in shown


def test_describe_suggests_names(scene: Scene) -> None:
    result = scene.talk(lambda it: it.call_tool("describe_tool", {"name": "get_pets"}))

    assert result["isError"] is True
    assert "Unknown function or type `get_pets`. Did you mean `get_pet`" in text_of(result)


def test_describe_can_show_json_schemas(scene: Scene) -> None:
    arguments = {"name": "get_pet", "output_schema": True}
    shown = json.loads(text_of(scene.talk(lambda it: it.call_tool("describe_tool", arguments))))

    assert shown["inputSchema"]["required"] == ["pet_id"]


def test_a_cancelled_run_stops_at_once(scene: Scene) -> None:
    async def story(client: Client) -> None:
        gate, waiting = scene.shop.close_gate()
        call = asyncio.create_task(
            client.call_tool("run_code", {"code": "get_pet(pet_id=1)\nget_pet(pet_id=2)"})
        )
        await waiting.acquire()
        await client.notify("notifications/cancelled", {"requestId": 2})
        gate.set()
        assert answer_of(await client.call_tool("run_code", {"code": "1 + 1"}))["result"] == 2
        call.cancel()

    scene.talk(story)

    assert scene.shop.requests == ["GET /pets/1"]
    assert list_workers() == set()


def test_the_time_of_a_run_is_bounded(scene: Scene) -> None:
    scene.package.contract["code"]["max_seconds"] = 1e-6
    result = scene.run("get_pet(pet_id=1)")

    assert "it took the 1e-06 seconds of one run" in json.loads(text_of(result))["error"]
    assert scene.shop.requests == []


LENGTH = """
def read(pet):
    return len(pet["batch"])
read(get_pet(pet_id=1))
"""


def test_code_gets_results_that_a_model_would_get_in_part(scene: Scene) -> None:
    scene.settings["CODESHOP_MAX_RESULT_TOKENS"] = "1000"
    scene.shop.told = "x" * 20_000

    assert answer_of(scene.run(LENGTH))["result"] == 20_000


def test_a_result_that_is_cut_for_code_is_marked(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_code, "MAX_VALUE_BYTES", 2_000)
    scene.shop.told = "x" * 20_000
    answer = answer_of(scene.run(LENGTH))

    assert answer["result"] < 2_000
    assert answer["calls"][0]["cut"] is True
