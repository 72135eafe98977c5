"""Tests of calls in code that ask the user: code cannot skip the question, and resumes after it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from mcpgen.runtime.code import run_code
from mcpgen.runtime.content import JsonObject
from mcpgen.testing.client.client import LEGACY, MODERN, Client, RpcError
from tests.code_mode.conftest import Scene, answer_of, text_of

ASKS = "elicitation/create"
CODE = """
before = get_pet(pet_id=1)["name"]
print("before", before)
delete_pet(pet_id=2)
after = get_pet(pet_id=3)["name"]
[before, after]
"""


def agree(_: JsonObject) -> JsonObject:
    return {"action": "accept", "content": {}}


def decline(_: JsonObject) -> JsonObject:
    return {"action": "decline"}


def calls(answer: dict[str, Any]) -> list[tuple[str, str]]:
    return [(it["name"], it["status"]) for it in answer["calls"]]


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_a_run_goes_on_after_the_user_agreed_and_repeats_nothing(
    scene: Scene, revision: str
) -> None:
    asked: list[str] = []

    def answer(params: JsonObject) -> JsonObject:
        asked.append(params["message"])
        return agree(params)

    result = answer_of(scene.run(CODE, revision=revision, answers={ASKS: answer}))

    assert result["result"] == ["pet 1", "pet 3"]
    assert result["output"] == "before pet 1\n"
    assert calls(result) == [("get_pet", "ok"), ("delete_pet", "ok"), ("get_pet", "ok")]
    assert scene.shop.requests == ["GET /pets/1", "DELETE /pets/2", "GET /pets/3"]
    assert asked == ['Take this pet out of the shop for good?\n\ndelete_pet {"pet_id":2}']


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_a_user_who_declines_ends_the_run(scene: Scene, revision: str) -> None:
    code = (
        "while True:\n    try:\n        delete_pet(pet_id=2)\n    except BaseException:\n        0"
    )
    asked: list[JsonObject] = []

    def answer(params: JsonObject) -> JsonObject:
        asked.append(params)
        return decline(params)

    result = scene.run(code, revision=revision, answers={ASKS: answer})

    assert result["isError"] is True
    told = json.loads(text_of(result))
    assert told["error"].startswith("The code was stopped at delete_pet: The user was asked and")
    assert calls(told) == [("delete_pet", "refused")]
    assert len(asked) == 1
    assert scene.shop.requests == []


def test_a_client_that_cannot_ask_gets_the_error_of_a_direct_call(scene: Scene) -> None:
    with pytest.raises(RpcError) as direct:
        scene.talk(lambda it: it.call_tool("delete_pet", {"pet_id": 2}), MODERN)
    with pytest.raises(RpcError) as nested:
        scene.run("delete_pet(pet_id=2)", revision=MODERN)

    assert nested.value.code == direct.value.code
    assert nested.value.data == direct.value.data
    assert scene.shop.requests == []


def test_a_client_that_cannot_ask_learns_what_was_done_before(scene: Scene) -> None:
    result = scene.run("get_pet(pet_id=1)\ndelete_pet(pet_id=2)", revision=MODERN)

    told = json.loads(text_of(result))
    assert result["isError"] is True
    assert "asks the user before it sends anything" in told["error"]
    assert calls(told) == [("get_pet", "ok"), ("delete_pet", "refused")]
    assert scene.shop.requests == ["GET /pets/1"]


Attack = Callable[[JsonObject, JsonObject], JsonObject]
"""Function that makes the second round from the params and the result of the first one."""


def second_round(params: JsonObject, first: JsonObject) -> JsonObject:
    responses = {key: {"action": "accept", "content": {}} for key in first["inputRequests"]}
    return {**params, "inputResponses": responses, "requestState": first["requestState"]}


def other_code(params: JsonObject, first: JsonObject) -> JsonObject:
    again = second_round(params, first)
    return {**again, "arguments": {"code": "delete_pet(pet_id=5)"}}


def other_tool(params: JsonObject, first: JsonObject) -> JsonObject:
    again = second_round(params, first)
    return {**again, "name": "delete_pet", "arguments": {"pet_id": 5}}


def changed_state(params: JsonObject, first: JsonObject) -> JsonObject:
    again = second_round(params, first)
    state = again["requestState"]
    middle = len(state) // 2
    other = "A" if state[middle] != "A" else "B"
    return {**again, "requestState": state[:middle] + other + state[middle + 1 :]}


def cut_state(params: JsonObject, first: JsonObject) -> JsonObject:
    again = second_round(params, first)
    return {**again, "requestState": again["requestState"][:-8]}


def invented_state(params: JsonObject, first: JsonObject) -> JsonObject:
    return {**second_round(params, first), "requestState": "AWZvcmdlZA"}


@pytest.mark.parametrize(
    "attack", [other_code, other_tool, changed_state, cut_state, invented_state]
)
def test_the_state_of_a_run_belongs_to_its_call(scene: Scene, attack: Attack) -> None:
    params: JsonObject = {"name": "run_code", "arguments": {"code": "delete_pet(pet_id=2)"}}

    async def story(client: Client) -> None:
        first = await client.request("tools/call", params)
        with pytest.raises(RpcError, match="invalid or expired `requestState`"):
            await client.request("tools/call", attack(params, first))

    scene.talk(story, MODERN, {ASKS: agree})

    assert scene.shop.requests == []


def test_a_state_is_accepted_once(scene: Scene) -> None:
    params: JsonObject = {"name": "run_code", "arguments": {"code": "delete_pet(pet_id=2)"}}

    async def story(client: Client) -> None:
        again = second_round(params, await client.request("tools/call", params))
        answer_of(await client.request("tools/call", again))
        with pytest.raises(RpcError, match="invalid or expired `requestState`"):
            await client.request("tools/call", again)

    scene.talk(story, MODERN, {ASKS: agree})

    assert scene.shop.requests == ["DELETE /pets/2"]


def test_an_answer_holds_for_one_call_only(scene: Scene) -> None:
    """Answers sent in advance, to questions that were never shown, are ignored."""
    code = "delete_pet(pet_id=2)\ndelete_pet(pet_id=3)"
    params: JsonObject = {"name": "run_code", "arguments": {"code": code}}

    async def story(client: Client) -> JsonObject:
        first = await client.request("tools/call", params)
        assert [*first["inputRequests"]] == ["call-1/elicitation-1"]
        return await client.request("tools/call", second_round(params, first))

    second = scene.talk(story, MODERN, {ASKS: agree})

    assert [*second["inputRequests"]] == ["call-2/elicitation-1"]
    message = second["inputRequests"]["call-2/elicitation-1"]["params"]["message"]
    assert message.endswith('delete_pet {"pet_id":3}')
    assert scene.shop.requests == ["DELETE /pets/2"]


def test_the_question_shows_the_arguments_that_are_sent(scene: Scene) -> None:
    """Code is not executed again after the question, so it cannot pick other arguments."""
    code = "import random, time\nn = random.choice([2, 3, 4])\ndelete_pet(pet_id=n)\nn"
    shown: list[int] = []

    def answer(params: JsonObject) -> JsonObject:
        shown.append(json.loads(params["message"].partition("delete_pet ")[2])["pet_id"])
        return agree(params)

    result = answer_of(scene.run(code, revision=MODERN, answers={ASKS: answer}))

    assert shown == [result["result"]]
    assert scene.shop.requests == [f"DELETE /pets/{shown[0]}"]


def test_a_function_in_disguise_asks_as_well(scene: Scene) -> None:
    for code in (
        "eval('delete_pet(pet_id=2)')",
        "exec('delete_pet(pet_id=2)')",
        "f = delete_pet\nf(pet_id=2)",
        "{'harmless': delete_pet}['harmless'](pet_id=2)",
        "import functools\nfunctools.partial(delete_pet, pet_id=2)()",
    ):
        result = scene.run(code, revision=MODERN, answers={ASKS: decline})
        assert "The code was stopped at delete_pet" in text_of(result)
    assert scene.shop.requests == []


def test_a_function_in_a_variable_survives_the_question(scene: Scene) -> None:
    code = "f = get_pet\ndelete_pet(pet_id=2)\nf(pet_id=3)['name']"
    result = answer_of(scene.run(code, revision=MODERN, answers={ASKS: agree}))

    assert result["result"] == "pet 3"


def test_a_run_with_too_much_data_does_not_wait(scene: Scene) -> None:
    code = (
        "import random\n"
        "data = [random.random() for _ in range(150000)]\n"
        "delete_pet(pet_id=2)\n"
        "len(data)"
    )
    result = scene.run(code, revision=MODERN, answers={ASKS: agree})

    assert result["isError"] is True
    assert "it holds too much data to wait" in json.loads(text_of(result))["error"]
    assert scene.shop.requests == []


def test_a_run_may_ask_several_times(scene: Scene) -> None:
    code = "for n in (1, 2, 3):\n    delete_pet(pet_id=n)\n'done'"
    result = answer_of(scene.run(code, revision=MODERN, answers={ASKS: agree}))

    assert result["result"] == "done"
    assert scene.shop.requests == [f"DELETE /pets/{n}" for n in (1, 2, 3)]


def test_a_url_ends_a_legacy_run_that_has_called_tools(scene: Scene) -> None:
    """The client would repeat the whole run, and with it the calls that were already made."""
    scene.capabilities = {"elicitation": {"url": {}}}
    result = scene.run("get_pet(pet_id=1)\nget_user(username='ada')", revision=LEGACY)

    told = json.loads(text_of(result))
    assert "The user must visit https://shop.example/connect" in told["error"]
    assert calls(told) == [("get_pet", "ok"), ("get_user", "refused")]
    with pytest.raises(RpcError) as first:
        scene.run("get_user(username='ada')", revision=LEGACY)
    assert first.value.code == -32042


def test_a_run_does_not_go_on_in_another_version_of_the_sandbox(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    params: JsonObject = {"name": "run_code", "arguments": {"code": "delete_pet(pet_id=2)"}}

    async def story(client: Client) -> JsonObject:
        first = await client.request("tools/call", params)
        monkeypatch.setattr(run_code, "_find_version", lambda: "0")
        return await client.request("tools/call", second_round(params, first))

    told = json.loads(text_of(scene.talk(story, MODERN, {ASKS: agree})))

    assert told["error"] == "The code cannot go on: the server was updated meanwhile."
    assert scene.shop.requests == []
