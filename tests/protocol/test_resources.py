"""Tests of resources/read, subscribe, unsubscribe, and matching of resource templates."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.runtime.content import ResourceContents, ResourceResult
from mcpgen.runtime.errors import ResourceNotFoundError
from mcpgen.runtime.protocol.messages import Change
from mcpgen.runtime.protocol.methods import MAX_SUBSCRIPTIONS
from tests.support.protocol_client import ALL, LEGACY, MODERN, Peer, definition


def read(revision: str, *contents: ResourceContents) -> dict[str, Any]:
    peer = Peer(revision)
    peer.call("resources/read", uri="test://note/1").succeed(ResourceResult(contents))
    (frame,) = peer.frames()
    return dict(frame["result"])


@pytest.mark.requirement("L088", "L094", "N106")
@pytest.mark.parametrize("revision", ALL)
def test_contents_are_text_or_base64(revision: str) -> None:
    result = read(
        revision,
        ResourceContents("test://note/1", "text/plain", text="words"),
        ResourceContents("test://note/1", "image/png", blob=b"\x00\xff"),
    )
    assert result["contents"] == [
        {"uri": "test://note/1", "mimeType": "text/plain", "text": "words"},
        {"uri": "test://note/1", "mimeType": "image/png", "blob": "AP8="},
    ]


@pytest.mark.requirement("N084")
def test_resource_contents_are_cached_only_privately() -> None:
    result = read(MODERN, ResourceContents("test://note/1", text="words"))
    assert (result["ttlMs"], result["cacheScope"]) == (0, "private")


@pytest.mark.requirement("L091", "N009", "N102", "N103")
@pytest.mark.parametrize("revision", ALL)
def test_a_missing_resource_has_the_code_of_the_revision(revision: str) -> None:
    peer = Peer(revision)
    call = peer.call("resources/read", uri="test://none", stream="post")
    call.fail(ResourceNotFoundError("test://none"))
    (outgoing,) = peer.outgoing()
    (frame,) = peer._decoded(outgoing)
    assert frame["error"]["code"] == (-32602 if revision == MODERN else -32002)
    assert frame["error"]["data"] == {"uri": "test://none"}
    assert outgoing.http_status == (400 if revision == MODERN else 200)


@pytest.mark.requirement("L092", "L095", "N105", "N106")
@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize(
    "uri",
    [None, 7, "", "note", "/etc/passwd", "://x", "1a://x", "te st://x", "test://a b", "test://\n"],
    ids=repr,
)
def test_an_invalid_uri_is_rejected(revision: str, uri: object) -> None:
    assert Peer(revision).error("resources/read", uri=uri)["code"] == -32602


@pytest.mark.requirement("N101", "L089")
@pytest.mark.parametrize("revision", LEGACY)
def test_a_subscriber_receives_updates_until_it_unsubscribes(revision: str) -> None:
    peer = Peer(revision)
    assert peer.result("resources/subscribe", uri="test://note/1") == {}
    peer.protocol.announce(Change("resource", "test://note/1"))
    peer.protocol.announce(Change("resource", "test://note/2"))
    (frame,) = peer.frames()
    assert frame["method"] == "notifications/resources/updated"
    assert frame["params"] == {"uri": "test://note/1"}
    assert peer.result("resources/unsubscribe", uri="test://note/1") == {}
    peer.protocol.announce(Change("resource", "test://note/1"))
    assert peer.frames() == []


@pytest.mark.parametrize("revision", LEGACY)
def test_a_resource_of_a_template_can_be_subscribed(revision: str) -> None:
    assert Peer(revision).result("resources/subscribe", uri="test://page/7") == {}


def test_subscriptions_per_session_are_limited() -> None:
    peer = Peer(LEGACY[-1])
    for number in range(MAX_SUBSCRIPTIONS):
        peer.result("resources/subscribe", uri=f"test://page/{number}")
    assert peer.error("resources/subscribe", uri="test://page/more")["code"] == -32600
    assert peer.result("resources/subscribe", uri="test://page/1") == {}  # it has this one
    peer.result("resources/unsubscribe", uri="test://page/1")
    assert peer.result("resources/subscribe", uri="test://page/more") == {}


@pytest.mark.requirement("L091")
@pytest.mark.parametrize("revision", LEGACY)
def test_subscribing_to_an_unknown_resource_is_an_error(revision: str) -> None:
    error = Peer(revision).error("resources/subscribe", uri="test://nowhere")
    assert error["code"] == -32002
    assert error["data"] == {"uri": "test://nowhere"}


@pytest.mark.parametrize("revision", LEGACY)
@pytest.mark.parametrize("method", ["resources/subscribe", "resources/unsubscribe"])
def test_subscribe_without_the_capability_is_an_unknown_method(revision: str, method: str) -> None:
    peer = Peer(revision, definition(has_subscriptions=False))
    assert peer.error(method, uri="test://note/1")["code"] == -32601


@pytest.mark.requirement("L074", "L089", "L097")
@pytest.mark.parametrize("revision", LEGACY)
@pytest.mark.parametrize("kind", ["tools", "prompts", "resources"])
def test_a_legacy_client_is_notified_of_changed_lists(revision: str, kind: str) -> None:
    peer = Peer(revision)
    peer.protocol.announce(Change(kind))
    (outgoing,) = peer.outgoing()
    assert outgoing.stream is None
    assert outgoing.data == b'{"jsonrpc":"2.0","method":"notifications/%s/list_changed"}' % (
        kind.encode()
    )


@pytest.mark.requirement("L021", "L022", "L023")
@pytest.mark.parametrize("revision", LEGACY)
def test_changes_are_not_sent_before_the_handshake_or_without_the_capability(revision: str) -> None:
    peer = Peer(revision, is_initialized=False)
    peer.protocol.announce(Change("tools"))
    assert peer.frames() == []
    peer.notify("notifications/initialized")
    peer.protocol.announce(Change("tools"))
    assert len(peer.frames()) == 1
    silent = Peer(revision, definition(changing_lists=frozenset({"prompts"})))
    silent.protocol.announce(Change("tools"))
    assert silent.frames() == []
