"""Tests of overrides: answers without the names of participants, and conditions that can hold."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from mcpgen.runtime.package import ServerPackage
from mcpgen.testing import Client, MockUpstream
from mcpgen.testing.mock.replies import Reply

from surveys_mcp.handlers.privacy import mask

UPSTREAM = Path(__file__).parent / "generated" / "upstream.json"
SETTINGS = {"SURVEYS_API_KEY": "key-of-the-mock"}


def call(
    tool: str, arguments: dict[str, Any], replies: dict[str, dict[str, Any]] | None = None
) -> tuple[dict[str, Any], MockUpstream]:
    """Call a tool in memory, with a user who accepts; return the result, and the mock API."""
    upstream = MockUpstream(json.loads(UPSTREAM.read_bytes()))
    for operation, reply in (replies or {}).items():
        upstream.reply_with(Reply.from_json(reply), operation)

    async def run() -> dict[str, Any]:
        package = ServerPackage.load("surveys_mcp")
        async with Client.in_memory(
            package,
            SETTINGS,
            send=upstream.send,
            answers={"elicitation/create": lambda asked: {"action": "accept", "content": {}}},
        ) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(run()), upstream


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Ask tom.berg+x@mail.example.com, please.", "Ask t***@mail.example.com, please."),
        ("Call +46 70 123 45 67 or 030/1234567!", "Call *** or ***!"),
        ("Room 0815, 2028-03-02, 12345678 people, 5@night", None),
    ],
)
def test_addresses_and_phone_numbers_are_masked_and_nothing_else(
    text: str, masked: str | None
) -> None:
    assert mask(text) == (text if masked is None else masked)


def test_nothing_of_a_response_says_who_answered() -> None:
    for tool, arguments in (
        ("list_responses", {"survey_id": "su_12"}),
        ("get_response", {"survey_id": "su_12", "response_id": "re_7"}),
    ):
        result, _ = call(tool, arguments)
        text = json.dumps(result)
        assert "t***@example.com" in text
        assert "tom.berg" not in text
        assert "192.0.2.7" not in text


def test_answers_of_every_kind_are_masked() -> None:
    answers = {"q_1": 4, "q_2": None, "q_3": ["a@b.example"], "q_4": {"row": "a@b.example"}}
    body = {"id": "re_8", "answers": answers}
    result, _ = call(
        "get_response",
        {"survey_id": "su_12", "response_id": "re_8"},
        {"GET /surveys/{survey_id}/responses/{response_id}": {"status": 200, "body": body}},
    )
    assert result["structuredContent"]["answers"] == {
        "q_1": 4,
        "q_2": None,
        "q_3": ["a***@b.example"],
        "q_4": {"row": "a***@b.example"},
    }


def test_an_export_is_awaited_and_its_file_is_masked() -> None:
    result, upstream = call("export_responses", {"survey_id": "su_12"})
    assert not result.get("isError")
    found = result["structuredContent"]
    assert found["state"] == "ready"
    assert found["csv"].splitlines() == [
        "response,email,q_1,q_2",
        "re_7,t***@example.com,2,Too cold",
    ]
    assert [request.operation for request in upstream.requests][:1] == [
        "POST /surveys/{survey_id}/exports"
    ]
    assert json.loads(upstream.requests[0].body) == {"format": "csv"}


def test_a_failed_export_has_no_file() -> None:
    failed = {"body": {"id": "ex_3", "state": "failed"}}
    replies = {
        "POST /surveys/{survey_id}/exports": {"status": 202, **failed},
        "GET /exports/{export_id}": {"status": 200, **failed},
    }
    result, upstream = call("export_responses", {"survey_id": "su_12"}, replies)
    assert result["structuredContent"]["state"] == "failed"
    assert "GET /exports/{export_id}/file" not in {it.operation for it in upstream.requests}


def condition(
    shown_if: dict[str, Any], question: str = "q_2"
) -> tuple[dict[str, Any], MockUpstream]:
    arguments = {"survey_id": "su_12", "question_id": question, "shown_if": shown_if}
    return call("set_condition", arguments)


@pytest.mark.parametrize(
    "shown_if",
    [
        {"question": "q_1", "is": "below", "value": 3},
        {
            "any": [
                {"question": "q_1", "is": "answered"},
                {"not": {"question": "q_1", "is": "equal", "value": 1}},
            ]
        },
    ],
)
def test_a_condition_on_earlier_questions_is_sent(shown_if: dict[str, Any]) -> None:
    result, upstream = condition(shown_if)
    assert not result.get("isError")
    assert json.loads(upstream.requests[-1].body) == {"shown_if": shown_if}


@pytest.mark.parametrize(
    ("shown_if", "question", "why"),
    [
        ({"question": "q_2", "is": "answered"}, "q_2", "q_2 does not come before"),
        ({"all": [{"not": {"question": "q_9", "is": "answered"}}]}, "q_2", "q_9 does not come"),
        ({"any": [{"question": "q_1", "is": "equal"}]}, "q_2", "needs a value"),
        ({"question": "q_1", "is": "answered"}, "q_7", "has no question q_7"),
    ],
)
def test_a_condition_that_can_never_hold_is_refused(
    shown_if: dict[str, Any], question: str, why: str
) -> None:
    result, upstream = condition(shown_if, question)
    assert result["isError"] is True
    assert why in result["content"][0]["text"]
    assert [request.method for request in upstream.requests] == ["GET"]


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "scale", "text": {"en": "How?"}, "low": 1, "high": 5, "low_label": "bad"},
        {"kind": "choice", "text": {"en": "How?"}},
        {"kind": "text", "text": {"english": "How?"}},
        {"kind": "stars", "text": {"en": "How?"}},
    ],
)
def test_an_invalid_question_is_refused_before_it_is_sent(body: dict[str, Any]) -> None:
    result, upstream = call("add_question", {"survey_id": "su_12", "body": body})
    assert result["isError"] is True
    assert not upstream.requests


def test_a_mail_with_a_subject_needs_a_text() -> None:
    arguments = {"survey_id": "su_12", "emails": ["tom@example.com"], "subject": "Lunch"}
    result, upstream = call("invite_people", arguments)
    assert result["isError"] is True
    assert not upstream.requests
    assert not call("invite_people", {**arguments, "text": "Tell us."})[0].get("isError")
