"""Tests of HTTP headers that repeat the body on 2026-07-28, and of the order of their errors."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from mcpgen.runtime.protocol.jsonrpc import TASKS_EXTENSION
from mcpgen.runtime.protocol.request import Request
from mcpgen.runtime.protocol.routing_headers import RoutingHeaders, find_header_rules
from mcpgen.runtime.protocol.server import ServerProtocol, is_modern
from mcpgen.runtime.protocol.versions import REVISIONS
from tests.support.protocol_client import CAPABILITIES, MODERN, VERSION, Peer, definition, listing

META = {VERSION: MODERN, CAPABILITIES: {}}
SCHEMA = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "dry": {"type": "boolean", "x-mcp-header": "Dry-Run"},
        "where": {
            "type": "object",
            "properties": {"city": {"type": "string", "x-mcp-header": "City"}},
        },
        "many": {"type": "array", "items": {"type": "string", "x-mcp-header": "Never"}},
    },
}
ROUTED = definition(tools=listing("tools", [{"name": "routed", "inputSchema": SCHEMA}]))

Headers = list[tuple[bytes, bytes]]


def post(
    headers: dict[str, str] | Headers,
    method: str = "tools/call",
    served: Any = ROUTED,
    **params: Any,
) -> tuple[int | None, int]:
    """Post a request; return the error code, or None if it was accepted, and the HTTP status."""
    protocol = ServerProtocol(served)
    pairs = (
        [(name.lower().encode(), value.encode("utf-8")) for name, value in headers.items()]
        if isinstance(headers, dict)
        else headers
    )
    if method == "tools/call":
        params = {"name": "routed", **params}
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": META, **params}}
    events = protocol.receive(message, stream="post", headers=RoutingHeaders(pairs))
    if events:
        assert isinstance(events[0], Request)
        return None, 200
    (outgoing,) = protocol.messages_to_send()
    return json.loads(outgoing.data).get("error", {}).get("code"), outgoing.http_status


def headers_for(name: str = "routed", method: str = "tools/call", **more: str) -> dict[str, str]:
    found = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method, "Mcp-Name": name}
    return found | {f"Mcp-Param-{key.replace('_', '-')}": value for key, value in more.items()}


def sentinel(text: str) -> str:
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


@pytest.mark.requirement("N034", "N045", "N048")
def test_a_request_whose_headers_agree_is_accepted() -> None:
    assert post(headers_for()) == (None, 200)


@pytest.mark.requirement("N045", "N047", "N048", "N053")
@pytest.mark.parametrize("missing", ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"])
def test_a_missing_header_is_rejected(missing: str) -> None:
    headers = headers_for()
    del headers[missing]
    assert post(headers) == (-32020, 400)


@pytest.mark.requirement("N045", "N048", "N049", "N053")
@pytest.mark.parametrize(
    "change",
    [
        {"MCP-Protocol-Version": "2025-11-25"},
        {"Mcp-Method": "tools/list"},
        {"Mcp-Method": "TOOLS/CALL"},
        {"Mcp-Name": "other"},
        {"Mcp-Name": "Routed"},
        {"Mcp-Name": ""},
    ],
    ids=str,
)
def test_a_header_that_disagrees_with_the_body_is_rejected(change: dict[str, str]) -> None:
    assert post(headers_for() | change) == (-32020, 400)


@pytest.mark.requirement("N049")
def test_optional_space_around_a_value_is_trimmed() -> None:
    assert post(headers_for() | {"Mcp-Name": " \trouted ", "Mcp-Method": " tools/call"})[0] is None


@pytest.mark.parametrize("name", [b"mcp-method", b"mcp-name", b"mcp-protocol-version"])
def test_a_duplicate_header_is_rejected_even_if_both_values_agree(name: bytes) -> None:
    pairs = [(key.lower().encode(), value.encode()) for key, value in headers_for().items()]
    twice = [*pairs, next(pair for pair in pairs if pair[0] == name)]
    assert post(twice) == (-32020, 400)


@pytest.mark.requirement("N050")
@pytest.mark.parametrize("name", ["routed", "=?base64?x", "日本", " padded "])
def test_a_base64_encoded_name_is_accepted(name: str) -> None:
    assert post(headers_for(sentinel(name)), name=name) == (None, 200)


@pytest.mark.requirement("N050", "N051")
@pytest.mark.parametrize(
    "value", ["=?base64?!!!?=", "=?base64?cm91dGVk", "=?BASE64?cm91dGVk?=", "=?base64?/w==?=", "ä"]
)
def test_a_malformed_base64_name_is_rejected(value: str) -> None:
    assert post(headers_for(value)) == (-32020, 400)


@pytest.mark.requirement("N048")
@pytest.mark.parametrize(
    ("method", "key", "value"),
    [("prompts/get", "name", "review"), ("resources/read", "uri", "test://note/1")],
)
def test_the_name_header_is_checked_for_prompts_and_resources(
    method: str, key: str, value: str
) -> None:
    params: dict[str, Any] = {key: value, "arguments": {"code": "x"}}
    assert post(headers_for(value, method), method, definition(), **params) == (None, 200)
    assert post(headers_for("other", method), method, definition(), **params) == (-32020, 400)


@pytest.mark.requirement("T041")
@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
def test_the_name_header_of_a_task_request_is_the_id_of_the_task(method: str) -> None:
    extensions = {TASKS_EXTENSION: {}}
    served = definition(extensions=extensions)
    meta = META | {CAPABILITIES: {"extensions": extensions}}
    params: dict[str, Any] = {"taskId": "a", "inputResponses": {}, "_meta": meta}
    assert post(headers_for("a", method), method, served, **params) == (None, 200)
    assert post(headers_for("b", method), method, served, **params) == (-32020, 400)
    headers = headers_for("a", method)
    del headers["Mcp-Name"]  # as some clients do, and no text requires servers to refuse
    assert post(headers, method, served, **params) == (None, 200)


@pytest.mark.requirement("N048")
def test_a_list_request_needs_no_name_header() -> None:
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/list"}
    assert post(headers, "tools/list") == (None, 200)


@pytest.mark.requirement("N052", "N054")
@pytest.mark.parametrize(
    ("arguments", "more", "is_accepted"),
    [
        ({"region": "eu"}, {"Region": "eu"}, True),
        ({"region": "eu"}, {"Region": "EU"}, False),
        ({"region": "eu"}, {}, False),
        ({}, {}, True),
        ({"region": None}, {}, True),
        ({}, {"Region": "eu"}, False),
        ({"region": "日本"}, {"Region": sentinel("日本")}, True),
        ({"region": ""}, {"Region": ""}, True),
        ({"count": 42}, {"Count": "42"}, True),
        ({"count": 42}, {"Count": "42.0"}, True),
        ({"count": 42.0}, {"Count": "42"}, True),
        ({"count": 42}, {"Count": "4_2"}, False),
        ({"count": 2**53}, {"Count": str(2**53 + 1)}, False),
        ({"count": 2**53}, {"Count": f"{2**53}.0"}, True),
        ({"count": 42}, {"Count": "42.00000000000000000001"}, False),
        ({"count": 42}, {"Count": "1e999999999"}, False),
        ({"count": 42}, {"Count": "43"}, False),
        ({"count": 42}, {"Count": "x"}, False),
        ({"count": 9007199254740993}, {"Count": "9007199254740993"}, True),
        ({"dry": True}, {"Dry_Run": "true"}, True),
        ({"dry": False}, {"Dry_Run": "false"}, True),
        ({"dry": True}, {"Dry_Run": "1"}, False),
        ({"dry": 1}, {"Dry_Run": "1"}, True),
        ({"where": {"city": "Oslo"}}, {"City": "Oslo"}, True),
        ({"where": {"city": "Oslo"}}, {}, False),
        ({"where": "Oslo"}, {}, True),
        ({"many": ["x"]}, {}, True),
        ({"region": "eu"}, {"Region": "eu", "Unknown": "x"}, True),
    ],
    ids=str,
)
def test_an_argument_header_must_match_the_argument(
    arguments: dict[str, Any], more: dict[str, str], is_accepted: bool
) -> None:
    expected = (None, 200) if is_accepted else (-32020, 400)
    assert post(headers_for(**more), arguments=arguments) == expected


@pytest.mark.requirement("N093")
def test_only_properties_reached_by_name_have_argument_headers() -> None:
    rules = find_header_rules({**SCHEMA, "anyOf": [{"properties": {"x": {"x-mcp-header": "Any"}}}]})
    assert rules == {
        b"region": ("region",),
        b"count": ("count",),
        b"dry-run": ("dry",),
        b"city": ("where", "city"),
    }


def refused(body: dict[str, Any], headers: Headers) -> int:
    protocol = ServerProtocol(definition())
    protocol.receive(body, stream="post", headers=RoutingHeaders(headers))
    (outgoing,) = protocol.messages_to_send()
    code: int = json.loads(outgoing.data)["error"]["code"]
    return code


@pytest.mark.requirement("N014", "N020", "N045", "N046", "N053")
def test_header_errors_are_reported_in_the_order_of_the_specification() -> None:
    """Each request has one fault less than the one before it, in the order of precedence."""
    body: dict[str, Any] = {"jsonrpc": "1.0", "id": 1, "method": "no/such", "params": {}}
    twice = [(b"mcp-protocol-version", b"2099-01-01"), (b"mcp-method", b"x"), (b"mcp-method", b"y")]
    assert refused(body, twice) == -32600
    body["jsonrpc"] = "2.0"
    assert refused(body, twice) == -32020
    assert refused(body, twice[:2]) == -32602
    body["params"] = {"_meta": {VERSION: "2099-01-02", CAPABILITIES: {}}}
    assert refused(body, twice[:2]) == -32020
    agreeing = [(b"mcp-protocol-version", b"2099-01-02"), (b"mcp-method", b"no/such")]
    assert refused(body, agreeing) == -32022
    body["params"]["_meta"][VERSION] = MODERN
    agreeing[0] = (b"mcp-protocol-version", MODERN.encode())
    assert refused(body, agreeing) == -32601


INITIALIZE = {"method": "initialize", "params": {"protocolVersion": "2025-11-25"}}
LISTED = {"method": "tools/list", "params": {"_meta": META}}
BARE = {"method": "tools/list"}


@pytest.mark.requirement("N047", "N137", "L069")
@pytest.mark.parametrize(
    ("message", "headers", "expected"),
    [
        (LISTED, None, True),
        (LISTED, [], True),
        (LISTED, [(b"mcp-protocol-version", b"2025-11-25")], True),
        ({"method": "x", "params": {"_meta": {VERSION: None}}}, [], True),
        (BARE, None, False),
        (BARE, [], False),
        (BARE, [(b"mcp-session-id", b"abc")], False),
        (BARE, [(b"mcp-protocol-version", b"2025-03-26")], False),
        (BARE, [(b"mcp-protocol-version", b"2026-07-28")], True),
        (BARE, [(b"mcp-protocol-version", b"1999-01-01")], True),
        (INITIALIZE, [], False),
        (INITIALIZE, None, False),
        ({"method": "initialize", "params": {"_meta": META}}, None, True),
        ([BARE], [], False),
        ([LISTED], [(b"mcp-protocol-version", b"2026-07-28")], True),
        ("text", [], False),
        ({"method": "x", "params": [1]}, [], False),
        ({"method": "x", "params": {"_meta": [1]}}, [], False),
    ],
    ids=str,
)
def test_the_body_takes_precedence_over_the_header_to_determine_the_era(
    message: Any, headers: Headers | None, expected: bool
) -> None:
    routing = None if headers is None else RoutingHeaders(headers)
    assert is_modern(message, routing, definition()) is expected


def test_a_server_with_one_era_treats_every_message_as_that_era() -> None:
    modern = definition(revisions=REVISIONS[:1])
    legacy = definition(revisions=REVISIONS[1:])
    for message in (LISTED, BARE, INITIALIZE):
        assert is_modern(message, None, modern)
        assert not is_modern(message, None, legacy)


@pytest.mark.requirement("N055")
def test_modern_requests_ignore_session_and_resumption_headers() -> None:
    peer = Peer(MODERN, over_http=True)
    assert peer.result("tools/list")["tools"]
    more = [(b"mcp-session-id", b"abc"), (b"last-event-id", b"9")]
    pairs = [(key.lower().encode(), value.encode()) for key, value in headers_for().items()]
    assert post([*pairs, *more]) == (None, 200)
