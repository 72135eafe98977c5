"""Tests of subscriptions/listen (2026-07-28)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcpgen.runtime.protocol.messages import Change
from mcpgen.runtime.protocol.methods import MAX_LISTENS
from tests.support.protocol_client import MODERN, SUBSCRIPTION, Peer, definition

EVERYTHING = {
    "toolsListChanged": True,
    "promptsListChanged": True,
    "resourcesListChanged": True,
    "resourceSubscriptions": ["test://note/1"],
}
CHANGES = [Change("tools"), Change("prompts"), Change("resources")]


def listen(peer: Peer, id: Any, stream: Any = None, **notifications: Any) -> dict[str, Any]:
    """Open a subscription and return the acknowledged notifications."""
    message = peer.request("subscriptions/listen", id=id, notifications=notifications)
    assert peer.send(message, stream) == []
    (outgoing,) = peer.outgoing()
    assert (outgoing.stream, outgoing.is_last) == (stream, False)
    (frame,) = peer._decoded(outgoing)
    assert frame["method"] == "notifications/subscriptions/acknowledged"
    assert frame["params"]["_meta"] == {SUBSCRIPTION: id}
    return dict(frame["params"]["notifications"])


@pytest.mark.requirement("N069", "N071")
@pytest.mark.parametrize("id", [0, 7, "", "listen"], ids=repr)
def test_the_first_message_acknowledges_the_listen_request(id: Any) -> None:
    assert listen(Peer(MODERN), id, **EVERYTHING) == EVERYTHING


@pytest.mark.requirement("N069", "N070")
def test_unsupported_notifications_are_dropped_from_the_filter() -> None:
    tools_only = definition(changing_lists=frozenset({"tools"}), has_subscriptions=False)
    assert listen(Peer(MODERN, tools_only), 1, **EVERYTHING) == {"toolsListChanged": True}
    assert listen(Peer(MODERN), 2, toolsListChanged=False) == {}


@pytest.mark.requirement("N070", "N071", "N079", "N090", "N101", "N109")
def test_a_listener_receives_only_the_notifications_of_its_filter() -> None:
    peer = Peer(MODERN)
    listen(peer, "tools", "a", toolsListChanged=True)
    listen(peer, 2, "b", resourceSubscriptions=["test://note/1"], promptsListChanged=True)
    for change in [*CHANGES, Change("resource", "test://note/1"), Change("resource", "test://x")]:
        peer.protocol.announce(change)
    told = [(each.stream, peer._decoded(each)[0]) for each in peer.outgoing()]
    assert [(stream, frame["method"]) for stream, frame in told] == [
        ("a", "notifications/tools/list_changed"),
        ("b", "notifications/prompts/list_changed"),
        ("b", "notifications/resources/updated"),
    ]
    assert [frame["params"]["_meta"][SUBSCRIPTION] for _, frame in told] == ["tools", 2, 2]
    assert told[2][1]["params"]["uri"] == "test://note/1"


def test_a_client_without_a_listen_request_receives_no_notifications() -> None:
    peer = Peer(MODERN)
    for change in CHANGES:
        peer.protocol.announce(change)
    assert peer.frames() == []


@pytest.mark.requirement("N070")
@pytest.mark.parametrize(
    "notifications",
    [
        None,
        [],
        "tools",
        {"toolsListChanged": 1},
        {"resourceSubscriptions": "test://x"},
        {"resourceSubscriptions": [7]},
    ],
    ids=json.dumps,
)
def test_a_malformed_filter_is_rejected(notifications: Any) -> None:
    error = Peer(MODERN).error("subscriptions/listen", notifications=notifications)
    assert error["code"] == -32602


@pytest.mark.requirement("N046", "N069")
def test_listen_is_an_unknown_method_if_nothing_can_change() -> None:
    still = definition(changing_lists=frozenset(), has_subscriptions=False)
    error = Peer(MODERN, still).error("subscriptions/listen", notifications={})
    assert error["code"] == -32601


@pytest.mark.requirement("N072", "N073")
def test_closing_a_pipe_ends_a_listen_with_a_cancellation_and_a_result() -> None:
    peer = Peer(MODERN)
    listen(peer, "sub", toolsListChanged=True)
    assert peer.protocol.close("shutting down") == []
    cancelled, result = peer.frames()
    assert cancelled["method"] == "notifications/cancelled"
    assert cancelled["params"]["requestId"] == "sub"
    assert cancelled["params"]["_meta"] == {SUBSCRIPTION: "sub"}
    assert result["id"] == "sub"
    assert result["result"]["resultType"] == "complete"
    assert result["result"]["_meta"][SUBSCRIPTION] == "sub"


@pytest.mark.requirement("N072", "N073")
def test_closing_over_http_ends_a_listen_with_only_its_result() -> None:
    peer = Peer(MODERN)
    listen(peer, 1, "post", toolsListChanged=True)
    assert peer.protocol.is_waiting("post")
    assert len(peer.protocol.subscriptions) == 1
    peer.protocol.close("shutting down")
    (outgoing,) = peer.outgoing()
    assert (outgoing.stream, outgoing.is_last) == ("post", True)
    assert peer._decoded(outgoing)[0]["id"] == 1
    assert len(peer.protocol.subscriptions) == 0


@pytest.mark.requirement("N032", "N074")
def test_a_cancelled_listen_receives_no_more_messages() -> None:
    peer = Peer(MODERN)
    listen(peer, 1, toolsListChanged=True)
    assert peer.cancel(1) == []
    peer.protocol.announce(Change("tools"))
    assert peer.protocol.close("bye") == []
    assert peer.frames() == []


@pytest.mark.requirement("N043", "N062")
def test_a_closed_stream_removes_its_listen() -> None:
    peer = Peer(MODERN)
    listen(peer, 1, "post", toolsListChanged=True)
    listen(peer, 2, "other", toolsListChanged=True)
    assert peer.protocol.disconnect("post") == []
    peer.protocol.announce(Change("tools"))
    assert [outgoing.stream for outgoing in peer.outgoing()] == ["other"]


def test_a_listen_is_not_counted_as_a_call_in_flight() -> None:
    peer = Peer(MODERN)
    listen(peer, 1, toolsListChanged=True)
    assert len(peer.protocol.in_flight) == 0
    assert peer.error("tools/call", id=1, name="tool_0")["code"] == -32600


def test_listens_per_connection_are_limited() -> None:
    peer = Peer(MODERN)
    for number in range(MAX_LISTENS):
        listen(peer, number)
    error = peer.error("subscriptions/listen", notifications={}, id="one more")
    assert error["code"] == -32600
    peer.cancel(0)
    listen(peer, "one more")
