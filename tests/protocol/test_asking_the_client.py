"""Tests of questions to the client: requests on legacy, `InputRequiredResult` on 2026-07-28."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.runtime.content import ToolResult
from mcpgen.runtime.errors import ClientCannotError
from mcpgen.runtime.protocol.events import ClientAnswer
from mcpgen.runtime.protocol.messages import Change
from mcpgen.runtime.protocol.routing_headers import RoutingHeaders
from mcpgen.runtime.protocol.session import MAX_OPEN_ELICITATIONS, LegacySession
from mcpgen.runtime.protocol.versions import REVISION_2025_11_25
from tests.support.protocol_client import ALL, LEGACY, MODERN, Peer

FORM = {"message": "Your name?", "requestedSchema": {"type": "object", "properties": {}}}
URL = {"mode": "url", "message": "Pay.", "url": "https://pay.example/1", "elicitationId": "e1"}
SAMPLE = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "Hello"}}],
    "maxTokens": 10,
}
EVERYTHING = {
    "elicitation": {"form": {}, "url": {}},
    "roots": {"listChanged": True},
    "sampling": {"tools": {}},
}


@pytest.mark.requirement("L005", "L113")
@pytest.mark.parametrize("revision", LEGACY)
def test_a_request_to_the_client_is_sent_on_the_stream_of_its_call(revision: str) -> None:
    peer = Peer(revision, capabilities=EVERYTHING)
    call = peer.call(stream="post")
    request_id = call.ask_client("roots/list", {})
    (outgoing,) = peer.outgoing()
    (frame,) = peer._decoded(outgoing)
    assert frame == {"jsonrpc": "2.0", "id": request_id, "method": "roots/list"}
    assert (outgoing.stream, outgoing.is_last) == ("post", False)
    roots: list[object] = []
    answer = {"jsonrpc": "2.0", "id": request_id, "result": {"roots": roots}}
    (event,) = peer.send(answer)
    assert isinstance(event, ClientAnswer)
    assert (event.request_id, event.result) == (request_id, {"roots": []})
    assert peer.send(answer) == []
    assert peer.frames() == []


@pytest.mark.requirement("L005")
@pytest.mark.parametrize("revision", LEGACY)
def test_ids_of_requests_to_the_client_are_never_used_twice(revision: str) -> None:
    peer = Peer(revision, capabilities=EVERYTHING)
    call = peer.call()
    ids = [call.ask_client("sampling/createMessage", SAMPLE) for _ in range(20)]
    assert len(set(ids)) == 20
    assert all(isinstance(each, int | str) for each in ids)
    peer.frames()


@pytest.mark.requirement("L024", "L025")
@pytest.mark.parametrize("revision", LEGACY)
def test_an_abandoned_request_is_cancelled_and_its_late_response_ignored(revision: str) -> None:
    peer = Peer(revision, capabilities=EVERYTHING)
    request_id = peer.call(stream="post").ask_client("roots/list", {})
    peer.frames()
    peer.protocol.cancel_client_request(request_id, "no answer came")
    (outgoing,) = peer.outgoing()
    (frame,) = peer._decoded(outgoing)
    assert frame["method"] == "notifications/cancelled"
    assert frame["params"] == {"requestId": request_id, "reason": "no answer came"}
    assert outgoing.stream == "post"
    assert peer.send({"jsonrpc": "2.0", "id": request_id, "result": {}}) == []
    peer.protocol.cancel_client_request(request_id, "again")
    assert peer.frames() == []


@pytest.mark.parametrize("revision", LEGACY)
@pytest.mark.parametrize(
    "answer",
    [{"error": {"code": -1, "message": "no"}}, {"error": "no"}, {"result": 7}, {"error": None}],
    ids=repr,
)
def test_a_client_response_without_a_result_object_is_an_error(revision: str, answer: Any) -> None:
    peer = Peer(revision, capabilities=EVERYTHING)
    request_id = peer.call().ask_client("roots/list", {})
    peer.frames()
    (event,) = peer.send({"jsonrpc": "2.0", "id": request_id, **answer})
    assert isinstance(event, ClientAnswer)
    assert event.result is None


@pytest.mark.requirement("N007")
@pytest.mark.parametrize("revision", ALL)
def test_a_response_without_a_request_is_ignored_on_a_pipe(revision: str) -> None:
    peer = Peer(revision)
    for answered in (1, "x", None):
        assert peer.send({"jsonrpc": "2.0", "id": answered, "result": {}}) == []
    assert peer.frames() == []


@pytest.mark.requirement("N001", "N007")
def test_a_response_posted_to_a_modern_server_is_rejected() -> None:
    peer = Peer(MODERN)
    headers = RoutingHeaders([(b"mcp-protocol-version", MODERN.encode())])
    message = {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert peer.protocol.receive(message, stream="post", headers=headers) == []
    (outgoing,) = peer.outgoing()
    assert b'"code":-32600' in outgoing.data
    assert outgoing.http_status == 400


@pytest.mark.requirement("L021")
@pytest.mark.parametrize("revision", LEGACY)
def test_no_request_is_sent_to_a_client_before_it_is_initialized(revision: str) -> None:
    peer = Peer(revision, capabilities=EVERYTHING, is_initialized=False)
    with pytest.raises(ClientCannotError, match="initialized"):
        peer.call().ask_client("roots/list", {})
    assert peer.frames() == []


CANNOT: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("roots/list", {}, {}),
    ("roots/list", {}, {"sampling": {}, "elicitation": {}}),
    ("sampling/createMessage", SAMPLE, {"roots": {}}),
    ("sampling/createMessage", {**SAMPLE, "tools": []}, {"sampling": {}}),
    ("elicitation/create", FORM, {}),
    ("elicitation/create", FORM, {"elicitation": {"url": {}}}),
    ("elicitation/create", URL, {"elicitation": {}}),
    ("elicitation/create", URL, {"elicitation": {"form": {}}}),
    ("elicitation/create", FORM, {"elicitation": None}),
]


@pytest.mark.requirement(
    "L022", "L023", "L113", "L116", "L123", "N016", "N061", "N118", "N123", "N125"
)
@pytest.mark.parametrize(("method", "params", "declared"), CANNOT)
@pytest.mark.parametrize("revision", ALL)
def test_a_request_that_needs_an_undeclared_capability_is_not_sent(
    revision: str, method: str, params: dict[str, Any], declared: dict[str, Any]
) -> None:
    peer = Peer(revision, capabilities=declared)
    call = peer.call()
    requests = {"key": {"method": method, "params": params}}
    with pytest.raises(ClientCannotError) as caught:
        call.require_input(requests) if revision == MODERN else call.ask_client(method, params)
    assert caught.value.required
    assert peer.frames() == []
    assert call.is_open


@pytest.mark.requirement("L120", "L123", "N118")
@pytest.mark.parametrize("revision", ALL)
def test_elicitation_requires_2025_06_18_and_url_mode_2025_11_25(revision: str) -> None:
    peer = Peer(revision, capabilities=EVERYTHING)
    for params, since in ((FORM, "2025-06-18"), (URL, "2025-11-25")):
        call = peer.call()
        if revision < since:
            with pytest.raises(ClientCannotError):
                call.ask_client("elicitation/create", params)
        elif revision == MODERN:
            call.require_input({"key": {"method": "elicitation/create", "params": params}})
        else:
            call.ask_client("elicitation/create", params)
    peer.frames()


@pytest.mark.requirement("L126")
@pytest.mark.parametrize("method", ["tools/call", "prompts/get", "resources/read"])
def test_a_required_url_is_reported_by_error_32042(method: str) -> None:
    peer = Peer("2025-11-25", capabilities=EVERYTHING)
    params: dict[str, dict[str, Any]] = {
        "tools/call": {"name": "tool_0"},
        "prompts/get": {"name": "review", "arguments": {"code": "x"}},
        "resources/read": {"uri": "test://note/1"},
    }
    peer.call(method, **params[method]).require_url(URL)
    (frame,) = peer.frames()
    assert frame["error"] == {
        "code": -32042,
        "message": URL["message"],
        "data": {"elicitations": [URL]},
    }


@pytest.mark.requirement("L126", "L123", "N009")
@pytest.mark.parametrize("revision", ALL)
def test_a_url_is_not_required_of_a_client_without_url_mode(revision: str) -> None:
    peer = Peer(revision, capabilities={"elicitation": {"form": {}}})
    call = peer.call()
    with pytest.raises(ValueError if revision == MODERN else ClientCannotError):
        call.require_url(URL)
    assert call.is_open
    assert peer.frames() == []


@pytest.mark.requirement("L125")
@pytest.mark.parametrize("is_needed_first", [True, False])
def test_elicitation_complete_is_sent_once_and_only_to_its_client(
    is_needed_first: bool,
) -> None:
    peer, other = (Peer("2025-11-25", capabilities=EVERYTHING) for _ in range(2))
    call = peer.call()
    if is_needed_first:
        call.require_url(URL)
    else:
        call.ask_client("elicitation/create", URL)
    peer.frames()
    for _ in range(2):
        for each in (peer, other):
            each.protocol.announce(Change("elicitation", "another"))
            each.protocol.announce(Change("elicitation", URL["elicitationId"]))
    (frame,) = peer.frames()
    assert frame["method"] == "notifications/elicitation/complete"
    assert frame["params"] == {"elicitationId": URL["elicitationId"]}
    assert other.frames() == []


@pytest.mark.requirement("L125")
def test_the_urls_that_a_client_was_sent_to_are_bounded() -> None:
    session = LegacySession(REVISION_2025_11_25)
    for number in range(MAX_OPEN_ELICITATIONS + 1):
        session.expect_elicitation(f"e-{number}")
    assert len(session.elicitation_ids) == MAX_OPEN_ELICITATIONS
    assert session.finish_elicitation(f"e-{MAX_OPEN_ELICITATIONS}")
    assert not session.finish_elicitation("e-0")


@pytest.mark.requirement("N016")
@pytest.mark.parametrize("method", ["tools/call", "prompts/get", "resources/read"])
@pytest.mark.parametrize("revision", ALL)
def test_a_missing_client_capability_is_reported_to_the_client(revision: str, method: str) -> None:
    peer = Peer(revision)
    params: dict[str, dict[str, Any]] = {
        "tools/call": {"name": "tool_0"},
        "prompts/get": {"name": "review", "arguments": {"code": "x"}},
        "resources/read": {"uri": "test://note/1"},
    }
    call = peer.call(method, stream="post", **params[method])
    call.fail(ClientCannotError("no sampling here", {"sampling": {}}))
    (outgoing,) = peer.outgoing()
    (frame,) = peer._decoded(outgoing)
    if revision == MODERN:
        assert frame["error"]["code"] == -32021
        assert frame["error"]["data"] == {"requiredCapabilities": {"sampling": {}}}
        assert outgoing.http_status == 400
    elif method == "tools/call":
        assert frame["result"]["isError"] is True
        assert frame["result"]["content"][0]["text"] == "no sampling here"
    else:
        assert frame["error"]["code"] == -32600


@pytest.mark.requirement("N058", "N059", "N060", "N084", "N117")
@pytest.mark.parametrize("method", ["tools/call", "prompts/get", "resources/read"])
def test_required_input_is_returned_as_an_input_required_result(method: str) -> None:
    peer = Peer(MODERN, capabilities=EVERYTHING)
    params: dict[str, dict[str, Any]] = {
        "tools/call": {"name": "tool_0"},
        "prompts/get": {"name": "review", "arguments": {"code": "x"}},
        "resources/read": {"uri": "test://note/1"},
    }
    requests = {
        "name": {"method": "elicitation/create", "params": {"mode": "form", **FORM}},
        "roots": {"method": "roots/list", "params": {}},
        "words": {"method": "sampling/createMessage", "params": SAMPLE},
    }
    peer.call(method, **params[method]).require_input(requests, "sealed")
    (frame,) = peer.frames()
    result = frame["result"]
    assert result["resultType"] == "input_required"
    assert result["inputRequests"] == requests
    assert result["requestState"] == "sealed"
    assert "ttlMs" not in result
    assert "cacheScope" not in result


@pytest.mark.requirement("N059")
def test_input_required_needs_a_request_or_a_state() -> None:
    peer = Peer(MODERN)
    peer.call().require_input({}, "later")
    (frame,) = peer.frames()
    assert "inputRequests" not in frame["result"]
    with pytest.raises(ValueError, match="requests or a state"):
        peer.call().require_input({})


@pytest.mark.requirement("N062", "N067")
def test_a_resumed_request_has_the_input_responses_and_the_state() -> None:
    peer = Peer(MODERN)
    answers = {"name": {"action": "accept", "content": {}}, "unknown": {}}
    call = peer.call(inputResponses=answers, requestState="sealed")
    assert call.input_responses == answers
    assert call.request_state == "sealed"
    call.succeed(ToolResult(()))
    assert len(peer.frames()) == 1


@pytest.mark.requirement("N066")
@pytest.mark.parametrize(
    "params",
    [
        {"inputResponses": []},
        {"inputResponses": "x"},
        {"inputResponses": {"k": 1}},
        {"inputResponses": {"k": None}},
        {"requestState": 7},
        {"requestState": {}},
    ],
    ids=repr,
)
def test_a_malformed_resumed_request_is_rejected(params: dict[str, Any]) -> None:
    assert Peer(MODERN).error("tools/call", name="tool_0", **params)["code"] == -32602


@pytest.mark.requirement("N058")
@pytest.mark.parametrize("method", ["tools/list", "server/discover", "resources/list"])
def test_other_methods_ignore_input_responses(method: str) -> None:
    result = Peer(MODERN).result(method, inputResponses=7, requestState=[])
    assert result["resultType"] == "complete"


def test_require_input_is_rejected_for_a_legacy_client() -> None:
    call = Peer("2025-11-25", capabilities=EVERYTHING).call()
    with pytest.raises(ValueError, match="modern client"):
        call.require_input({"k": {"method": "roots/list", "params": {}}})
