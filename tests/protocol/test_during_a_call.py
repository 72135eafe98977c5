"""Tests of progress, logging, cancellation and disconnection during a call."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.runtime.content import Text, ToolResult
from mcpgen.runtime.protocol.jsonrpc import LOG_LEVELS
from tests.support.protocol_client import ALL, LEGACY, MODERN, Peer, definition

LOG_LEVEL = "io.modelcontextprotocol/logLevel"


@pytest.mark.requirement("L034", "L035", "L038", "N077", "N078")
@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize("token", [0, "", "token", 12], ids=repr)
def test_progress_uses_the_token_and_the_stream_of_its_call(revision: str, token: Any) -> None:
    peer = Peer(revision)
    call = peer.call(_meta={"progressToken": token}, stream="post")
    call.report_progress(0.5, 2, "half")
    (outgoing,) = peer.outgoing()
    (frame,) = peer._decoded(outgoing)
    expected = {"progressToken": token, "progress": 0.5, "total": 2}
    if revision >= "2025-03-26":
        expected["message"] = "half"
    assert frame["params"] == expected
    assert type(frame["params"]["progressToken"]) is type(token)
    assert (outgoing.stream, outgoing.is_last) == ("post", False)


@pytest.mark.requirement("L034", "N077")
@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize("meta", [{}, {"progressToken": None}, {"progressToken": [1]}], ids=repr)
def test_progress_is_not_sent_without_a_token(revision: str, meta: dict[str, Any]) -> None:
    peer = Peer(revision)
    peer.call(_meta=meta).report_progress(1)
    assert peer.frames() == []


@pytest.mark.requirement("L035", "N077")
@pytest.mark.parametrize("revision", ALL)
def test_progress_that_does_not_grow_is_not_sent(revision: str) -> None:
    peer = Peer(revision)
    call = peer.call(_meta={"progressToken": 1})
    for progress in (0, 0, 1, 0.5, 1, 3, float("nan"), float("inf"), 2, 4):
        call.report_progress(progress, float("nan"))
    assert [frame["params"]["progress"] for frame in peer.frames()] == [0, 1, 3, 4]


@pytest.mark.requirement("L036", "N077")
@pytest.mark.parametrize("revision", ALL)
def test_progress_is_not_sent_after_the_result(revision: str) -> None:
    peer = Peer(revision)
    call = peer.call(_meta={"progressToken": 1})
    call.succeed(ToolResult(()))
    call.report_progress(1)
    assert len(peer.frames()) == 1


@pytest.mark.requirement("L108")
@pytest.mark.parametrize("revision", LEGACY)
def test_set_level_filters_the_log_messages_of_a_session(revision: str) -> None:
    peer = Peer(revision)
    call = peer.call(stream="post")
    for level in LOG_LEVELS:
        assert peer.result("logging/setLevel", level=level) == {}
        for logged in LOG_LEVELS:
            call.log(logged, {"n": 1}, "test")
        sent = [frame["params"]["level"] for frame in peer.frames()]
        assert sent == list(LOG_LEVELS[LOG_LEVELS.index(level) :])


@pytest.mark.parametrize("revision", LEGACY)
def test_a_session_without_a_log_level_receives_info_and_above(revision: str) -> None:
    peer = Peer(revision)
    call = peer.call(stream="post")
    call.log("debug", "no")
    call.log("info", "yes")
    (outgoing,) = peer.outgoing()
    (frame,) = peer._decoded(outgoing)
    assert frame["params"] == {"level": "info", "data": "yes"}
    assert outgoing.stream == "post"


@pytest.mark.requirement("L109", "N081")
@pytest.mark.parametrize("level", [None, "loud", 3, "INFO", ["info"]], ids=repr)
def test_an_unknown_log_level_is_rejected(level: object) -> None:
    for revision in LEGACY:
        assert Peer(revision).error("logging/setLevel", level=level)["code"] == -32602
    assert Peer(MODERN).error("tools/list", _meta={LOG_LEVEL: level})["code"] == -32602


@pytest.mark.requirement("N079")
def test_a_modern_call_receives_logs_only_at_its_requested_level() -> None:
    peer = Peer(MODERN)
    silent, asking = peer.call(), peer.call(_meta={LOG_LEVEL: "error"}, stream="post")
    for call in (silent, asking):
        call.log("warning", "w")
        call.log("error", "e", "disk")
    (outgoing,) = peer.outgoing()
    (frame,) = peer._decoded(outgoing)
    assert frame["params"] == {"level": "error", "data": "e", "logger": "disk"}
    assert outgoing.stream == "post"


@pytest.mark.requirement("L108", "N080")
@pytest.mark.parametrize("revision", ALL)
def test_a_server_without_the_logging_capability_sends_no_logs(revision: str) -> None:
    peer = Peer(revision, definition(has_logging=False))
    peer.call(_meta={LOG_LEVEL: "debug"}).log("emergency", "fire")
    assert peer.frames() == []
    if revision != MODERN:
        assert peer.error("logging/setLevel", level="info")["code"] == -32601


def test_an_invalid_log_level_in_a_handler_raises_value_error() -> None:
    with pytest.raises(ValueError, match="loud"):
        Peer(MODERN).call().log("loud", "x")


@pytest.mark.requirement("L029", "L030", "N032", "N074", "N075")
@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize("id", [1, "one"], ids=repr)
def test_a_cancelled_call_is_reported_and_never_answered(revision: str, id: Any) -> None:
    peer = Peer(revision)
    call = peer.call(id=id, _meta={"progressToken": 1})
    (cancelled,) = peer.cancel(id)
    assert cancelled.request is call
    assert cancelled.reason == "test"
    call.report_progress(1)
    call.succeed(ToolResult(()))
    assert peer.frames() == []
    assert len(peer.protocol.in_flight) == 0


@pytest.mark.requirement("L028", "L030", "L031", "N074", "N075")
@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize(
    "params", [{}, {"requestId": 99}, {"requestId": None}, {"requestId": [1]}], ids=repr
)
def test_a_cancellation_of_an_unknown_request_is_ignored(
    revision: str, params: dict[str, Any]
) -> None:
    peer = Peer(revision)
    call = peer.call(id=1)
    assert peer.notify("notifications/cancelled", **params) == []
    call.succeed(ToolResult(()))
    assert len(peer.frames()) == 1
    assert peer.cancel(1) == []
    assert peer.frames() == []


@pytest.mark.parametrize("revision", LEGACY)
def test_a_cancelled_post_is_closed_without_a_message(revision: str) -> None:
    peer = Peer(revision)
    peer.call(id=1, stream="post")
    peer.cancel(1)
    (outgoing,) = peer.outgoing()
    assert (outgoing.data, outgoing.stream, outgoing.is_last) == (b"", "post", True)
    assert not peer.protocol.is_waiting("post")


@pytest.mark.requirement("L055", "N043")
@pytest.mark.parametrize("revision", ALL)
def test_a_closed_stream_cancels_its_call_only_in_the_modern_revision(revision: str) -> None:
    peer = Peer(revision)
    call, other = peer.call(stream="post"), peer.call(stream="other")
    events = peer.protocol.disconnect("post")
    assert [event.request for event in events] == ([call] if revision == MODERN else [])  # type: ignore[union-attr]
    call.succeed(ToolResult(()))
    other.succeed(ToolResult(()))
    streams = [outgoing.stream for outgoing in peer.outgoing()]
    assert streams == (["other"] if revision == MODERN else ["post", "other"])


@pytest.mark.parametrize("revision", ALL)
def test_closing_the_protocol_answers_all_calls_in_flight(revision: str) -> None:
    peer = Peer(revision)
    calls = [peer.call(stream=number) for number in range(3)]
    events = peer.protocol.close("the server is shutting down")
    assert [event.request for event in events] == calls  # type: ignore[union-attr]
    outgoing = peer.outgoing()
    assert [(each.stream, each.is_last) for each in outgoing] == [(0, True), (1, True), (2, True)]
    for each in outgoing:
        assert b'"message":"the server is shutting down"' in each.data
    calls[0].succeed(ToolResult(()))
    assert peer.frames() == []


@pytest.mark.requirement("L059", "N040")
@pytest.mark.parametrize("revision", ALL)
def test_each_response_is_sent_on_the_stream_of_its_request(revision: str) -> None:
    peer = Peer(revision)
    calls = [peer.call(stream=f"post-{number}") for number in range(4)]
    for call in reversed(calls):
        assert peer.protocol.is_waiting(call.stream)
        call.succeed(ToolResult(()))
        assert not peer.protocol.is_waiting(call.stream)
    streams = [outgoing.stream for outgoing in peer.outgoing()]
    assert streams == ["post-3", "post-2", "post-1", "post-0"]


@pytest.mark.requirement("L064")
@pytest.mark.parametrize("revision", ALL)
def test_releasing_a_connection_has_an_effect_only_in_2025_11_25(revision: str) -> None:
    peer = Peer(revision)
    call = peer.call(stream="post")
    call.release_connection()
    released = [(b"", "post", False)] if revision == "2025-11-25" else []
    sent = peer.protocol.messages_to_send()
    assert [(each.data, each.stream, each.is_last) for each in sent] == released
    call.succeed(ToolResult((Text("done"),)))
    assert peer.outgoing()[-1].is_last
    call.release_connection()
    assert peer.protocol.messages_to_send() == []


def test_releasing_the_connection_of_a_pipe_has_no_effect() -> None:
    peer = Peer("2025-11-25")
    peer.call().release_connection()
    assert peer.protocol.messages_to_send() == []
