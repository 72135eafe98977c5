"""Tests of a server that lists three tools (search, describe, call) instead of 129."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from mcpgen.contract.toolset_names import EVERYTHING
from mcpgen.runtime.package import ServerPackage
from mcpgen.testing import MockUpstream
from mcpgen.testing.client.client import Client, RpcError
from tests.bigapi.conftest import Connect

TOOL_COUNT = 129


def told(connect: Connect, talk: Callable[[Client, MockUpstream], Awaitable[Any]]) -> Any:
    """Run a conversation with the server, and return its result."""

    async def story() -> Any:
        async with connect() as (client, upstream):
            return await talk(client, upstream)

    return asyncio.run(story())


def text(result: dict[str, Any]) -> str:
    (content,) = result["content"]
    return str(content["text"])


def test_three_tools_are_listed_within_the_budget(connect: Connect) -> None:
    listed = told(connect, lambda client, _: client.list_tools())

    assert [tool["name"] for tool in listed] == ["call_tool", "describe_tool", "search_tools"]
    assert len(json.dumps(listed)) // 4 < 1_000
    hints = {tool["name"]: tool["annotations"] for tool in listed}
    assert hints["search_tools"]["readOnlyHint"] is True
    assert hints["describe_tool"]["readOnlyHint"] is True
    # The most dangerous hints of the tools that it can call.
    assert hints["call_tool"]["readOnlyHint"] is False
    assert hints["call_tool"]["destructiveHint"] is True
    assert hints["call_tool"]["idempotentHint"] is False
    assert hints["call_tool"]["openWorldHint"] is True


def searched(connect: Connect, **arguments: Any) -> dict[str, Any]:
    result = told(connect, lambda client, _: client.call_tool("search_tools", arguments))
    assert not result.get("isError"), text(result)
    answer: dict[str, Any] = json.loads(text(result))
    return answer


def test_search_returns_the_best_matches_first(connect: Connect) -> None:
    answer = searched(connect, query="make a deal of a lead", limit=2)

    assert answer["tools"][0] == {
        "name": "convert_lead",
        "summary": "Make a deal of a lead",
        "operation": "POST /leads/{lead_id}/convert",
    }
    assert len(answer["tools"]) == 2
    assert answer.keys() == {"tools"}


def test_search_stays_within_a_tag(connect: Connect) -> None:
    everywhere = {
        tool["operation"].split("/")[1] for tool in searched(connect, query="list")["tools"]
    }
    answer = searched(connect, query="list", tag="webhooks", limit=20)

    assert len(everywhere) > 1
    assert {tool["operation"].split("/")[1] for tool in answer["tools"]} == {"webhooks"}


def test_search_with_an_unknown_tag_lists_the_known_tags(connect: Connect) -> None:
    result = told(
        connect, lambda client, _: client.call_tool("search_tools", {"query": "x", "tag": "nope"})
    )
    assert result["isError"] is True
    assert "webhooks" in text(result)


def test_search_without_a_match_names_tags(connect: Connect) -> None:
    answer = searched(connect, query="zzzz")
    assert answer["tools"] == []
    assert answer["hint"].startswith("No tool matches. ")
    assert answer["hint"].count("`") == 2 * 5


def test_a_weak_answer_names_the_tags_of_its_tools(connect: Connect) -> None:
    answer = searched(connect, query="frobnicate quuxify zzzz webhook")
    assert answer["hint"].startswith("No tool has all of this. ")
    assert "of the tags: `webhooks`" in answer["hint"]


def test_search_stays_within_an_effect(connect: Connect) -> None:
    found = {
        effect: {
            tool["operation"]
            for tool in searched(connect, query="webhook lead", effect=effect, limit=20)["tools"]
        }
        for effect in ("read", "change", "remove")
    }
    assert all(found.values())
    assert len(set().union(*found.values())) == sum(map(len, found.values()))
    methods = {effect: {it.split()[0] for it in keys} for effect, keys in found.items()}
    assert {"DELETE", "GET"}.isdisjoint(methods["change"])
    assert "DELETE" not in methods["read"]
    assert "GET" not in methods["remove"]


def test_a_filter_that_excludes_all_names_what_it_excluded(connect: Connect) -> None:
    answer = searched(connect, query="convert a lead", effect="remove", tag="bots")
    assert answer["tools"] == []
    assert answer["hint"].startswith("No tool of this `tag` and `effect` matches. Others do: `")
    assert "`convert_lead`" in answer["hint"]


def described(connect: Connect, **arguments: Any) -> dict[str, Any]:
    result = told(connect, lambda client, _: client.call_tool("describe_tool", arguments))
    answer: dict[str, Any] = json.loads(text(result))
    return answer


def test_describe_tool_returns_the_entry_of_the_full_list(
    connect: Connect, package: ServerPackage
) -> None:
    sketched = described(connect, name="convert_lead")
    whole = described(connect, name="convert_lead", output_schema=True)
    package.list_toolsets([EVERYTHING])
    listed = {tool["name"]: tool for tool in told(connect, lambda client, _: client.list_tools())}

    assert len(listed) == TOOL_COUNT
    assert whole == listed["convert_lead"]
    sketch = sketched.pop("result")
    assert sketched == {key: it for key, it in whole.items() if key != "outputSchema"}
    assert sketch.startswith("{closes_on: string, company_id: string, ")


@pytest.mark.parametrize("is_searched", [True, False], ids=["through call_tool", "by its name"])
def test_call_tool_calls_a_tool_that_is_not_listed(connect: Connect, *, is_searched: bool) -> None:
    async def talk(client: Client, upstream: MockUpstream) -> tuple[dict[str, Any], MockUpstream]:
        called, arguments = "get_bot", {"bot_id": "bot_123456"}
        if is_searched:
            called, arguments = "call_tool", {"name": called, "arguments": arguments}
        return await client.call_tool(called, arguments), upstream

    result, upstream = told(connect, talk)
    assert not result.get("isError"), text(result)
    (sent,) = upstream.requests
    assert sent.operation == "GET /bots/{bot_id}"
    assert not sent.problems
    assert result["structuredContent"] == json.loads(text(result))


def refused(connect: Connect, name: str, arguments: dict[str, Any]) -> str:
    """Return the error text of a call that is rejected before a request to the API."""

    async def talk(client: Client, upstream: MockUpstream) -> str:
        result = await client.call_tool("call_tool", {"name": name, "arguments": arguments})
        assert result["isError"] is True
        assert upstream.requests == []
        return text(result)

    return str(told(connect, talk))


def test_arguments_of_a_called_tool_are_validated(connect: Connect) -> None:
    told_model = refused(connect, "get_bot", {"bot_idd": "b1"})
    assert told_model.startswith("arguments of `get_bot`: ")
    assert "did you mean `/bot_id`" in told_model


def test_call_tool_with_an_unknown_name_suggests_a_similar_one(connect: Connect) -> None:
    assert refused(connect, "get_bott", {}).startswith(
        "Unknown tool `get_bott`. Did you mean `get_bot`"
    )


def test_call_tool_cannot_call_itself(connect: Connect) -> None:
    assert refused(connect, "call_tool", {"name": "list_bots"}).startswith("Unknown tool")


def test_a_direct_call_of_an_unknown_tool_is_a_protocol_error(connect: Connect) -> None:
    with pytest.raises(RpcError, match="-32602"):
        told(connect, lambda client, _: client.call_tool("get_bott", {}))
