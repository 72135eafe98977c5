"""Tests of the legacy handshake, modern discovery, and both on one connection."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.runtime.content import Text, ToolResult
from mcpgen.runtime.protocol.server import ServerProtocol
from mcpgen.runtime.protocol.versions import REVISIONS
from tests.support.protocol_client import (
    ALL,
    CAPABILITIES,
    LEGACY,
    MODERN,
    VERSION,
    Peer,
    definition,
)

MODERN_ONLY = tuple(row for row in REVISIONS if row.is_modern)
LEGACY_ONLY = tuple(row for row in REVISIONS if not row.is_modern)


def initialize(version: object, **params: Any) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": "init",
        "method": "initialize",
        "params": {
            "protocolVersion": version,
            "capabilities": {"roots": {}},
            "clientInfo": {"name": "test", "version": "0"},
            **params,
        },
    }


def fresh_pipe(revision: str = "2025-11-25", **changes: Any) -> Peer:
    """Return a connection on which no message was sent."""
    peer = Peer(revision, definition(**changes))
    peer.protocol.session = None
    return peer


@pytest.mark.requirement("L016", "L017", "L018", "L022", "L023", "L104", "L108")
@pytest.mark.parametrize("revision", LEGACY)
def test_initialize_returns_the_requested_version(revision: str) -> None:
    peer = fresh_pipe(revision)
    assert peer.send(initialize(revision)) == []
    assert peer.protocol.session is not None
    (frame,) = peer.frames()
    result = frame["result"]
    assert result["protocolVersion"] == revision
    assert result["serverInfo"]["name"] == "test-server"
    assert result["serverInfo"]["version"] == "1.2.3"
    assert result["instructions"] == "Call tools."
    capabilities = result["capabilities"]
    assert capabilities["tools"] == {"listChanged": True}
    assert capabilities["resources"] == {"listChanged": True, "subscribe": True}
    assert capabilities["logging"] == {}
    assert ("completions" in capabilities) == (revision >= "2025-03-26")
    assert "extensions" not in capabilities
    assert "tasks" not in capabilities


@pytest.mark.requirement("L019", "L020", "L025")
@pytest.mark.parametrize("asked", ["2026-07-28", "2023-01-01", "2099-12-31", "latest", ""])
def test_initialize_answers_an_unknown_version_with_the_newest_legacy_one(asked: str) -> None:
    peer = fresh_pipe()
    peer.send(initialize(asked))
    (frame,) = peer.frames()
    assert frame["result"]["protocolVersion"] == "2025-11-25"


@pytest.mark.requirement("L019")
def test_a_disabled_version_is_not_negotiated() -> None:
    rows = tuple(row for row in REVISIONS if row.name != "2025-03-26")
    peer = fresh_pipe(revisions=rows)
    peer.send(initialize("2025-03-26"))
    (frame,) = peer.frames()
    assert frame["result"]["protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize("version", [None, 20250618, ["2025-06-18"]], ids=repr)
def test_initialize_without_a_version_is_rejected(version: object) -> None:
    peer = fresh_pipe()
    peer.send(initialize(version))
    (frame,) = peer.frames()
    assert frame["error"]["code"] == -32602
    assert peer.protocol.session is None


@pytest.mark.requirement("L017", "L108")
@pytest.mark.parametrize("revision", ALL)
def test_only_served_features_are_declared(revision: str) -> None:
    bare = definition(
        prompts=None,
        resources=None,
        resource_templates=None,
        has_completions=False,
        has_logging=False,
        has_subscriptions=False,
        changing_lists=frozenset(),
        extensions={},
        instructions="",
    )
    if revision == MODERN:
        result = Peer(revision, bare).result("server/discover")
    else:
        peer = Peer(revision, bare)
        peer.send(initialize(revision))
        result = peer.frames()[0]["result"]
    assert result["capabilities"] == {"tools": {}}
    assert "instructions" not in result


@pytest.mark.requirement("L016")
@pytest.mark.parametrize("method", ["tools/list", "tools/call", "logging/setLevel", "no/such"])
def test_a_request_before_the_handshake_is_rejected(method: str) -> None:
    peer = fresh_pipe(revisions=LEGACY_ONLY)
    assert peer.error(method)["code"] == -32600
    # A modern request that forgot its `_meta` looks the same, and must get -32602.
    assert fresh_pipe().error(method)["code"] == -32602


@pytest.mark.requirement("L026")
@pytest.mark.parametrize("revision", LEGACY)
def test_ping_is_answered_with_an_empty_result(revision: str) -> None:
    assert Peer(revision).result("ping") == {}


@pytest.mark.requirement("L026")
def test_ping_is_answered_before_the_handshake() -> None:
    assert fresh_pipe().result("ping") == {}


def test_a_second_initialize_starts_a_new_session_on_the_pipe() -> None:
    peer = fresh_pipe()
    peer.send(initialize("2024-11-05"))
    first = peer.protocol.session
    assert first is not None
    first.next_request_id = 7
    peer.frames()
    peer.send(initialize("2025-11-25"))
    second = peer.protocol.session
    assert second is not None
    assert second.revision.name == "2025-11-25"
    assert second.next_request_id == 7


@pytest.mark.requirement("N004", "N017", "N021", "N023", "N084")
def test_discover_returns_versions_capabilities_and_cache_hints() -> None:
    result = Peer(MODERN).result("server/discover")
    assert result["resultType"] == "complete"
    assert result["supportedVersions"] == list(reversed(ALL))
    assert result["capabilities"] == {
        "tools": {"listChanged": True},
        "prompts": {"listChanged": True},
        "resources": {"listChanged": True, "subscribe": True},
        "logging": {},
        "completions": {},
        "extensions": {"io.example/extension": {}},
    }
    assert result["instructions"] == "Call tools."
    assert isinstance(result["ttlMs"], int)
    assert result["cacheScope"] in {"public", "private"}
    info = result["_meta"]["io.modelcontextprotocol/serverInfo"]
    assert info == {"name": "test-server", "version": "1.2.3"}


@pytest.mark.requirement("N021")
def test_a_modern_only_server_names_modern_versions_only() -> None:
    peer = Peer(MODERN, definition(revisions=MODERN_ONLY))
    assert peer.result("server/discover")["supportedVersions"] == [MODERN]


@pytest.mark.requirement("N022")
def test_a_modern_only_server_names_its_versions_to_a_legacy_client() -> None:
    peer = Peer(MODERN, definition(revisions=MODERN_ONLY))
    peer.send(initialize("2025-11-25"), stream="post")
    (outgoing,) = peer.outgoing()
    (frame,) = peer._decoded(outgoing)
    assert frame["error"]["code"] == -32022
    assert frame["error"]["data"] == {"supported": [MODERN], "requested": "2025-11-25"}
    assert outgoing.http_status == 400


def test_a_legacy_only_server_returns_method_not_found_for_discover() -> None:
    peer = Peer("2025-11-25", definition(revisions=LEGACY_ONLY))
    peer.send(Peer(MODERN).request("server/discover", id=1))
    (frame,) = peer.frames()
    assert frame["error"]["code"] == -32601


@pytest.mark.requirement("N011", "N012", "N056", "N137")
def test_modern_and_legacy_requests_interleave_on_one_pipe() -> None:
    protocol = ServerProtocol(definition())
    modern = Peer(MODERN, protocol=protocol)
    protocol.session = None
    legacy = Peer("2024-11-05", protocol=protocol)
    protocol.session = None
    assert modern.result("server/discover")["supportedVersions"]
    legacy.send(initialize("2024-11-05"))
    assert legacy.frames()[0]["result"]["protocolVersion"] == "2024-11-05"
    old, new = legacy.call(id="old"), modern.call(id="new")
    result = ToolResult((Text("ok"),), {"text": "ok"})
    new.succeed(result)
    (frame,) = modern.frames()
    assert frame["result"]["structuredContent"] == {"text": "ok"}
    old.succeed(result)
    (frame,) = legacy.frames()
    assert frame["result"].keys() == {"content"}
    assert modern.result("tools/list")["resultType"] == "complete"
    assert legacy.result("tools/list").keys() == {"tools"}


@pytest.mark.requirement("N137")
def test_initialize_is_accepted_after_a_probe_that_failed() -> None:
    peer = fresh_pipe()
    probe = {"jsonrpc": "2.0", "id": 1, "method": "server/discover"}
    peer.send(probe)
    assert peer.frames()[0]["error"]["code"] == -32602
    peer.send(initialize("2025-11-25"))
    assert peer.frames()[0]["result"]["protocolVersion"] == "2025-11-25"


@pytest.mark.requirement("N011")
def test_metadata_of_a_modern_request_does_not_affect_the_next_request() -> None:
    peer = Peer(MODERN, capabilities={"sampling": {}})
    peer.call(_meta={"io.modelcontextprotocol/logLevel": "debug"})
    peer.capabilities = {}
    call = peer.call()
    assert call.client_capabilities == {}
    assert call.log_level == ""


@pytest.mark.requirement("N014")
@pytest.mark.parametrize(
    "params",
    [
        None,
        {},
        {"_meta": None},
        {"_meta": []},
        {"_meta": {}},
        {"_meta": {CAPABILITIES: {}}},
        {"_meta": {VERSION: MODERN}},
        {"_meta": {VERSION: 20260728, CAPABILITIES: {}}},
        {"_meta": {VERSION: MODERN, CAPABILITIES: None}},
        {"_meta": {VERSION: MODERN, CAPABILITIES: []}},
    ],
    ids=repr,
)
def test_a_modern_request_without_its_required_meta_is_rejected(params: Any) -> None:
    peer = Peer(MODERN, definition(revisions=MODERN_ONLY))
    peer.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params}, stream=1)
    (outgoing,) = peer.outgoing()
    assert b'"code":-32602' in outgoing.data
    assert outgoing.http_status == 400


@pytest.mark.requirement("N015", "N018")
@pytest.mark.parametrize("info", [None, {}, {"name": "x", "version": "1"}, "odd"], ids=repr)
def test_client_info_is_optional(info: object) -> None:
    meta = {} if info is None else {"io.modelcontextprotocol/clientInfo": info}
    assert Peer(MODERN).result("tools/list", _meta=meta)["tools"]


@pytest.mark.requirement("N020")
@pytest.mark.parametrize("version", ["2025-11-25", "2024-11-05", "2026-06-30", "2099-01-01", ""])
def test_an_unsupported_version_error_lists_the_supported_versions(version: str) -> None:
    peer = Peer(MODERN)
    peer.send(peer.request("tools/list", id=1, _meta={VERSION: version}), stream="post")
    (outgoing,) = peer.outgoing()
    (frame,) = peer._decoded(outgoing)
    assert frame["error"]["code"] == -32022
    assert frame["error"]["data"] == {"supported": list(reversed(ALL)), "requested": version}
    assert outgoing.http_status == 400


@pytest.mark.requirement("N046")
@pytest.mark.parametrize(
    "method",
    [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "tasks/list",
        "notifications/cancelled",
        "no/such/method",
        "",
    ],
)
def test_a_removed_or_unknown_method_is_not_found(method: str) -> None:
    peer = Peer(MODERN)
    peer.send(peer.request(method, id=1), stream="post")
    (outgoing,) = peer.outgoing()
    assert b'"code":-32601' in outgoing.data
    assert outgoing.http_status == 404


@pytest.mark.parametrize("revision", LEGACY)
@pytest.mark.parametrize("method", ["server/discover", "subscriptions/listen", "tasks/get", "no"])
def test_a_legacy_server_returns_method_not_found_with_http_200(revision: str, method: str) -> None:
    peer = Peer(revision)
    peer.send(peer.request(method, id=1), stream="post")
    (outgoing,) = peer.outgoing()
    assert b'"code":-32601' in outgoing.data
    assert outgoing.http_status == 200
