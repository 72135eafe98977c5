"""Tests of prompts/get and completion/complete."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcpgen.runtime.content import (
    Audio,
    Completion,
    EmbeddedResource,
    Image,
    PromptMessage,
    PromptResult,
    Text,
)
from tests.support.protocol_client import ALL, MODERN, Peer, definition


@pytest.mark.requirement("L096", "L098", "L099", "L100", "N110")
@pytest.mark.parametrize("revision", ALL)
def test_a_prompt_returns_messages_with_every_content_type(revision: str) -> None:
    peer = Peer(revision)
    call = peer.call("prompts/get", name="review", arguments={"code": "x = 1"})
    call.succeed(
        PromptResult(
            (
                PromptMessage("user", Text("Review this.")),
                PromptMessage("assistant", Image(b"png", "image/png")),
                PromptMessage("user", Audio(b"wav", "audio/wav")),
                PromptMessage("user", EmbeddedResource("test://x", "text/plain", text="x = 1")),
            ),
            "Reviews code.",
        )
    )
    (frame,) = peer.frames()
    kinds = [message["content"]["type"] for message in frame["result"]["messages"]]
    assert kinds == ["text", "image", "text" if revision == ALL[0] else "audio", "resource"]
    assert frame["result"]["description"] == "Reviews code."
    assert "ttlMs" not in frame["result"]


@pytest.mark.requirement("L101", "L102", "N111", "N112")
@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"name": 1},
        {"name": "nope"},
        {"name": "review"},
        {"name": "review", "arguments": {}},
        {"name": "review", "arguments": {"tone": "kind"}},
        {"name": "review", "arguments": {"code": "x", "other": "y"}},
        {"name": "review", "arguments": {"code": 7}},
        {"name": "review", "arguments": ["x"]},
    ],
    ids=json.dumps,
)
def test_an_invalid_prompt_name_or_arguments_are_rejected(
    revision: str, params: dict[str, Any]
) -> None:
    assert Peer(revision).error("prompts/get", **params)["code"] == -32602


def complete(revision: str, result: Completion, **params: Any) -> dict[str, Any]:
    peer = Peer(revision)
    reference = {"type": "ref/prompt", "name": "review"}
    call = peer.call(
        "completion/complete", ref=reference, argument={"name": "code", "value": "x"}, **params
    )
    call.succeed(result)
    (frame,) = peer.frames()
    return dict(frame["result"]["completion"])


@pytest.mark.requirement("L104", "L105", "L107", "N114", "N116")
@pytest.mark.parametrize("revision", ALL)
def test_a_completion_returns_at_most_100_values_and_the_total(revision: str) -> None:
    many = complete(revision, Completion(tuple(str(number) for number in range(250))))
    assert many["values"] == [str(number) for number in range(100)]
    assert (many["total"], many["hasMore"]) == (250, True)
    few = complete(revision, Completion(("a", "b")), context={"arguments": {"tone": "kind"}})
    assert few == {"values": ["a", "b"], "total": 2, "hasMore": False}


def test_a_completion_total_can_exceed_the_returned_values() -> None:
    assert complete(MODERN, Completion(("a",), total=9))["hasMore"] is True


@pytest.mark.requirement("L105", "L107", "N115", "N116")
@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"ref": {"type": "ref/prompt", "name": "review"}},
        {"ref": {"type": "ref/prompt", "name": "nope"}, "argument": {"name": "a", "value": ""}},
        {"ref": {"type": "ref/prompt"}, "argument": {"name": "a", "value": ""}},
        {"ref": {"type": "ref/resource", "uri": "no://x"}, "argument": {"name": "a", "value": ""}},
        {"ref": {"type": "ref/tool", "name": "x"}, "argument": {"name": "a", "value": ""}},
        {"ref": {"type": "ref/prompt", "name": "review"}, "argument": {"name": "a"}},
        {"ref": {"type": "ref/prompt", "name": "review"}, "argument": {"name": 1, "value": ""}},
        {"ref": "review", "argument": {"name": "a", "value": ""}},
    ],
    ids=json.dumps,
)
def test_an_invalid_completion_reference_or_argument_is_rejected(
    revision: str, params: dict[str, Any]
) -> None:
    assert Peer(revision).error("completion/complete", **params)["code"] == -32602


@pytest.mark.parametrize("revision", ALL)
def test_a_template_can_be_completed(revision: str) -> None:
    reference = {"type": "ref/resource", "uri": "test://page/{id}"}
    argument = {"name": "id", "value": ""}
    call = Peer(revision).call("completion/complete", ref=reference, argument=argument)
    assert call.method == "completion/complete"


@pytest.mark.requirement("L105", "N115")
@pytest.mark.parametrize("revision", ALL)
def test_completion_without_the_capability_is_an_unknown_method(revision: str) -> None:
    peer = Peer(revision, definition(has_completions=False))
    assert peer.error("completion/complete")["code"] == -32601


@pytest.mark.requirement("L101", "L105", "N111", "N115")
@pytest.mark.parametrize("method", ["prompts/get", "completion/complete"])
@pytest.mark.parametrize("revision", ALL)
def test_a_handler_that_fails_is_an_internal_error(revision: str, method: str) -> None:
    peer = Peer(revision)
    if method == "prompts/get":
        call = peer.call(method, name="review", arguments={"code": "x"})
    else:
        reference = {"type": "ref/prompt", "name": "review"}
        call = peer.call(method, ref=reference, argument={"name": "code", "value": ""})
    call.fail(KeyError("x"))
    assert peer.frames()[0]["error"]["code"] == -32603
