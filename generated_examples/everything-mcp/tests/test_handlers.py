"""Tests of the handlers, in memory, with clients of legacy and modern revisions."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.testing import LEGACY, MODERN, Client

Answers = Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]]
PACKAGE = ServerPackage.load("everything_mcp")


def tell(
    revision: str, story: Callable[[Client], Awaitable[None]], answers: Answers | None = None
) -> None:
    """Let a client live through a story; `answers` is what its user and its model say."""

    async def run() -> None:
        client = Client.in_memory(PACKAGE, {}, revision=revision, answers=answers)
        async with client:
            await story(client)

    asyncio.run(run())


def accept(**content: Any) -> Answers:
    return {"elicitation/create": lambda asked: {"action": "accept", "content": content}}


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_a_question_is_answered_in_either_era(revision: str) -> None:
    async def story(client: Client) -> None:
        result = await client.call_tool("test_input_required_result_elicitation")
        assert result["content"][0]["text"] == "Hello, Ada!"

    tell(revision, story, accept(name="Ada"))


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_a_user_may_decline(revision: str) -> None:
    async def story(client: Client) -> None:
        result = await client.call_tool("test_streaming_elicitation")
        assert result["content"][0]["text"] == "Hello, stranger!"

    tell(revision, story, {"elicitation/create": lambda asked: {"action": "decline"}})


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_what_was_remembered_is_there_after_the_answer(revision: str) -> None:
    async def story(client: Client) -> None:
        result = await client.call_tool("test_input_required_result_request_state")
        assert result["content"][0]["text"] == "state-ok: order 4711 was confirmed"

    tell(revision, story, accept(ok=True))


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_a_client_without_a_user_lends_its_model(revision: str) -> None:
    async def story(client: Client) -> None:
        result = await client.call_tool("test_input_required_result_capabilities")
        assert result["content"][0]["text"] == "Grace"

    said = {"role": "assistant", "content": {"type": "text", "text": "Grace"}, "model": "m"}
    tell(revision, story, {"sampling/createMessage": lambda asked: said})


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_a_model_looks_things_up_until_it_has_an_answer(revision: str) -> None:
    cities = ["Lyon", "Atlantis"]

    def answer(asked: dict[str, Any]) -> dict[str, Any]:
        assert [tool["name"] for tool in asked["tools"]] == ["look_up"]
        told = asked["messages"][-1]["content"]
        if asked["messages"][-1]["role"] == "user" and isinstance(told, list):
            assert [block.get("isError", False) for block in told] == [False, True]
            said: Any = told[0]["content"][0]
        else:
            use = {"type": "tool_use", "name": "look_up"}
            said = [{**use, "id": city, "input": {"city": city}} for city in cities]
        return {"role": "assistant", "content": said, "model": "m"}

    async def story(client: Client) -> None:
        result = await client.call_tool("test_sampling_with_tools", {"question": "How many?"})
        assert result["content"][0]["text"] == "522,000 people live in Lyon."

    tell(revision, story, {"sampling/createMessage": answer})


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_a_model_that_never_has_an_answer_is_asked_five_times(revision: str) -> None:
    use = {"type": "tool_use", "id": "1", "name": "look_up", "input": {}}
    asked: list[dict[str, Any]] = []

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        asked.append(request)
        return {"role": "assistant", "content": use, "model": "m"}

    async def story(client: Client) -> None:
        result = await client.call_tool("test_sampling_with_tools", {"question": "How many?"})
        assert result["isError"] is True
        assert len(asked) == 5

    tell(revision, story, {"sampling/createMessage": answer})


def test_progress_comes_before_the_result() -> None:
    async def story(client: Client) -> None:
        params = {"name": "test_tool_with_progress", "_meta": {"progressToken": "p"}}
        await client.request("tools/call", params)
        told = [it["params"] for it in client.received if it.get("method", "").endswith("progress")]
        assert [it["progress"] for it in told] == [0, 50, 100]

    tell(LEGACY, story)


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_a_return_type_becomes_an_output_schema(revision: str) -> None:
    async def story(client: Client) -> None:
        tools = {tool["name"]: tool for tool in await client.list_tools()}
        schema = tools["test_structured_content"]["outputSchema"]
        assert sorted(schema["required"]) == ["celsius", "city", "conditions"]
        result = await client.call_tool("test_structured_content", {"city": "Rome"})
        assert result["structuredContent"]["city"] == "Rome"

    tell(revision, story)


def test_arguments_that_break_the_types_never_reach_the_function() -> None:
    async def story(client: Client) -> None:
        result = await client.call_tool("test_typed_arguments", {"count": 11})
        assert result["isError"] is True
        assert "count" in result["content"][0]["text"]

    tell(LEGACY, story)


def test_a_template_finds_its_resource_and_says_where_there_is_none() -> None:
    async def story(client: Client) -> None:
        found = await client.request("resources/read", {"uri": "test://template/7/data"})
        assert '"Data for ID: 7"' in found["contents"][0]["text"]
        with pytest.raises(Exception, match="no resource is at"):
            await client.request("resources/read", {"uri": f"test://template/{'7' * 21}/data"})

    tell(LEGACY, story)


def test_a_completion_knows_the_argument_chosen_before() -> None:
    async def story(client: Client) -> None:
        params = {
            "ref": {"type": "ref/prompt", "name": "test_prompt_with_arguments"},
            "argument": {"name": "arg2", "value": ""},
            "context": {"arguments": {"arg1": "paris"}},
        }
        completed = await client.request("completion/complete", params)
        assert completed["completion"]["values"] == ["paris too"]

    tell(LEGACY, story)


def test_whoever_watches_a_resource_hears_of_its_change() -> None:
    async def story(client: Client) -> None:
        await client.request("resources/subscribe", {"uri": "test://watched-resource"})
        await client.call_tool("test_trigger_resource_update")
        methods = [message.get("method") for message in client.received]
        assert "notifications/resources/updated" in methods

    tell(LEGACY, story)
