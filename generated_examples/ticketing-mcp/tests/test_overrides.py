"""Tests of overrides: errors with status 200, and mails that the user has confirmed."""

import asyncio
import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from mcpgen.runtime.package import ServerPackage
from mcpgen.testing import Client, MockUpstream, Reply

from ticketing_mcp.handlers.errors import ADVICE, METHODS

UPSTREAM = Path(__file__).parent / "generated" / "upstream.json"
BOT = {"TICKETING_BOT_TOKEN": "pdb-bot-of-the-mock"}
USER = {"TICKETING_USER_TOKEN": "pdu-user-of-the-mock"}
ACCEPT = {"action": "accept", "content": {}}


def call(
    tool: str,
    arguments: dict[str, Any],
    answer: Any = None,
    user: Any = ACCEPT,
    settings: dict[str, str] = BOT,
) -> tuple[dict[str, Any], MockUpstream, list[str]]:
    """Call a tool in memory; return its result, the mock API, and what the user was asked."""
    upstream = MockUpstream(json.loads(UPSTREAM.read_bytes()))
    asked: list[str] = []
    if answer is not None:
        upstream.reply_with(Reply.from_json({"body": answer}))

    def reply(question: Any) -> Any:
        asked.append(question["message"])
        return user

    async def run() -> dict[str, Any]:
        package = ServerPackage.load("ticketing_mcp")
        answers = {"elicitation/create": reply}
        async with Client.in_memory(
            package, settings, send=upstream.send, answers=answers
        ) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(run()), upstream, asked


def text_of(result: dict[str, Any]) -> str:
    return str(result["content"][0]["text"])


@pytest.mark.parametrize("code", [*ADVICE, "something_new"])
def test_a_response_that_is_not_ok_is_an_error(code: str) -> None:
    result, upstream, _ = call("get_ticket", {"ticket": "T4711"}, {"ok": False, "error": code})
    assert result["isError"] is True
    assert f"`{code}`: {ADVICE.get(code, 'nothing was done')}" in text_of(result)
    assert len(upstream.requests) == 1


@pytest.mark.parametrize("answer", [{"ok": False}, {"ok": False, "error": ""}])
def test_an_error_without_a_code_is_one(answer: dict[str, Any]) -> None:
    result, _, _ = call("list_queues", {}, answer)
    assert result["isError"] is True
    assert "`unknown_error`" in text_of(result)


def test_errors_of_every_method_are_noticed() -> None:
    operations = json.loads(UPSTREAM.read_bytes())["operations"]
    served = {f"{operation['method']} {operation['path']}" for operation in operations}
    assert served == {f"POST /{method}" for method in METHODS}


def comment(user: Any = ACCEPT, **arguments: str) -> tuple[Any, list[Any], list[str]]:
    given = {"ticket": "T4711", "text": "Which paper?", **arguments}
    result, upstream, asked = call("add_comment", given, user=user)
    return result, [json.loads(it.body) for it in upstream.requests], asked


@pytest.mark.parametrize("given", [{}, {"visibility": "internal"}])
def test_a_comment_is_internal_and_needs_no_question(given: dict[str, str]) -> None:
    result, [sent], asked = comment(**given)
    assert not result.get("isError"), result
    assert sent["visibility"] == "internal"
    assert not asked


def test_the_user_sees_a_public_comment_first() -> None:
    result, [sent], [question] = comment(visibility="public")
    assert not result.get("isError"), result
    assert sent["visibility"] == "public"
    assert "T4711" in question
    assert "Which paper?" in question


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_public_comment_without_consent_is_not_sent(action: str) -> None:
    result, sent, [_] = comment(visibility="public", user={"action": action})
    assert result["isError"] is True
    assert not sent


def test_a_form_has_the_arguments_as_fields() -> None:
    arguments = {"ticket": "T4711", "resolution": "solved", "message": "It was 5 % & more."}
    _, upstream, asked = call("close_ticket", arguments)
    [request] = upstream.requests
    assert {name: value for name, [value] in parse_qs(request.body.decode()).items()} == arguments
    assert len(asked) == 1


def authorization(tool: str, arguments: dict[str, Any], settings: dict[str, str]) -> list[str]:
    _, upstream, _ = call(tool, arguments, settings=settings)
    headers = [{name.lower(): it for name, it in sent.headers} for sent in upstream.requests]
    return [it["authorization"] for it in headers]


def test_searches_are_made_as_the_user_and_the_rest_as_the_bot() -> None:
    both, query = {**BOT, **USER}, {"query": "printer jam"}
    assert authorization("list_queues", {}, both) == ["Bearer pdb-bot-of-the-mock"]
    assert authorization("list_queues", {}, USER) == ["Bearer pdu-user-of-the-mock"]
    assert authorization("search_tickets", query, both) == ["Bearer pdu-user-of-the-mock"]
    assert authorization("search_tickets", query, BOT) == []


def test_changes_are_never_silent() -> None:
    _, upstream, _ = call("change_ticket", {"ticket": "T4711", "priority": "high"})
    sent = json.loads(upstream.requests[0].body)
    assert sent == {"ticket": "T4711", "priority": "high", "silent": False}
