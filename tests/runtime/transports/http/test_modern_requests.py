"""Tests of Streamable HTTP of 2026-07-28: every POST is complete in itself."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest

from mcpgen.runtime.protocol.messages import Change
from mcpgen.runtime.protocol.versions import REVISION_2026_07_28, REVISIONS
from tests.support.http_server import (
    MODERN,
    OMITTED,
    Served,
    check_frames,
    definition,
    modern,
    request,
    run,
)

VERSION = "mcp-protocol-version"
ECHO = {"name": "echo", "arguments": {"a": 1}}
ONLY_MODERN = definition().replace(revisions=(REVISION_2026_07_28,))
ONLY_LEGACY = definition().replace(revisions=REVISIONS[1:])


@pytest.mark.requirement("N034", "N039", "N137")
def test_a_call_is_answered_by_one_json_object() -> None:
    async def scenario(served: Served) -> None:
        response = await served.client.post_modern("tools/call", ECHO)
        assert response.status == 200
        assert response.headers["content-type"] == "application/json"
        assert int(response.headers["content-length"]) == len(response.body)
        assert response.json["result"]["content"][0]["text"] == '{"a": 1}'

    run(scenario)


NOTIFIED = modern("notifications/x")
del NOTIFIED["id"]
HEADERS = {"mcp-protocol-version": MODERN, "mcp-method": "notifications/x"}


@pytest.mark.requirement("N038", "N045", "N048", "N053")
@pytest.mark.parametrize(
    ("message", "headers", "code"),
    [
        (NOTIFIED, HEADERS, None),
        (NOTIFIED, {"mcp-protocol-version": MODERN}, None),
        ({"jsonrpc": "2.0", "method": "notifications/x"}, HEADERS, None),
        (NOTIFIED, {}, -32020),
        (NOTIFIED, {**HEADERS, "mcp-protocol-version": "2025-11-25"}, -32020),
        (NOTIFIED, {**HEADERS, "mcp-method": "tools/call"}, -32020),
        (NOTIFIED, [*HEADERS.items(), *HEADERS.items()], -32020),
        (
            {"jsonrpc": "2.0", "method": "notifications/x"},
            {**HEADERS, VERSION: "2099-01-01"},
            -32022,
        ),
    ],
)
def test_a_notification_must_match_its_headers(message: Any, headers: Any, code: Any) -> None:
    async def scenario(served: Served) -> None:
        response = await served.client.send("POST", message, headers=headers).complete()
        assert response.status == (202 if code is None else 400)
        if code is None:
            assert response.body == b""
        else:
            check_frames(MODERN, [], response)
            assert response.json["error"]["code"] == code
            assert "id" not in response.json

    run(scenario)


@pytest.mark.requirement("N055")
def test_a_session_id_is_ignored_and_not_issued() -> None:
    async def scenario(served: Served) -> None:
        headers = {"mcp-session-id": "nothing", "last-event-id": "a-1"}
        response = await served.client.post_modern("tools/call", ECHO, headers=headers)
        assert response.status == 200
        assert "mcp-session-id" not in response.headers

    run(scenario)


@pytest.mark.requirement("N011", "N012")
def test_capabilities_of_a_request_do_not_affect_the_next_request() -> None:
    async def scenario(served: Served) -> None:
        can_ask = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
        able = await served.client.post_modern("tools/call", {"name": "ask"}, meta=can_ask)
        assert able.json["result"]["resultType"] == "input_required"
        unable = await served.client.post_modern("tools/call", {"name": "ask"})
        assert unable.status == 400
        assert unable.json["error"]["code"] == -32021

    run(scenario)


@pytest.mark.requirement("N038", "N006")
def test_a_notification_is_accepted_with_an_empty_body() -> None:
    async def scenario(served: Served) -> None:
        message = {
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": 1, "_meta": modern("x")["params"]["_meta"]},
        }
        response = await served.client.send(
            "POST",
            message,
            headers={"mcp-protocol-version": MODERN, "mcp-method": "notifications/cancelled"},
        ).complete()
        assert (response.status, response.body) == (202, b"")

    run(scenario)


REFUSED: list[Any] = [
    pytest.param(b"{", {}, 400, -32700, id="no JSON"),
    pytest.param(b"\xff{}", {}, 400, -32700, id="no UTF-8"),
    pytest.param([modern("tools/list")], {}, 400, -32600, id="a batch"),
    pytest.param({"jsonrpc": "2.0", "id": 1, "result": {}}, {}, 400, -32600, id="a response"),
    pytest.param(request("tools/list", {"_meta": {}}), {}, 400, -32602, id="no keys in _meta"),
    pytest.param(request("tools/list"), {}, 400, -32602, id="no params"),
    pytest.param(
        modern("tools/list"), {"mcp-protocol-version": OMITTED}, 400, -32020, id="no version header"
    ),
    pytest.param(
        modern("tools/list"), {"mcp-protocol-version": "2025-11-25"}, 400, -32020, id="old header"
    ),
    pytest.param(modern("tools/list"), {"mcp-method": OMITTED}, 400, -32020, id="no Mcp-Method"),
    pytest.param(modern("tools/list"), {"mcp-method": "Tools/List"}, 400, -32020, id="other case"),
    pytest.param(modern("tools/call", ECHO), {}, 400, -32020, id="no Mcp-Name"),
    pytest.param(
        modern("tools/call", ECHO), {"mcp-name": "fail"}, 400, -32020, id="another Mcp-Name"
    ),
    pytest.param(modern("nothing/here"), {}, 404, -32601, id="an unknown method"),
    pytest.param(modern("ping"), {}, 404, -32601, id="a removed method"),
    pytest.param(
        modern("tools/call", {"name": "none"}), {"mcp-name": "none"}, 400, -32602, id="unknown tool"
    ),
]


@pytest.mark.requirement("N014", "N020", "N045", "N046", "N048", "N049", "N053")
@pytest.mark.parametrize(("body", "headers", "status", "code"), REFUSED)
def test_an_invalid_request_gets_the_specified_status_and_code(
    body: Any, headers: dict[str, str], status: int, code: int
) -> None:
    async def scenario(served: Served) -> None:
        method = body.get("method", "") if isinstance(body, dict) else ""
        usual = {"mcp-protocol-version": MODERN, "mcp-method": method or "tools/list"}
        response = await served.client.send("POST", body, headers={**usual, **headers}).complete()
        assert (response.status, response.json["error"]["code"]) == (status, code)
        check_frames(MODERN, body, response)

    run(scenario)


@pytest.mark.requirement("N020")
@pytest.mark.parametrize("version", ["2099-01-01", "2025-06-18"])
def test_an_unsupported_version_is_answered_with_the_supported_ones(version: str) -> None:
    async def scenario(served: Served) -> None:
        response = await served.client.post_modern(
            "tools/list",
            meta={"io.modelcontextprotocol/protocolVersion": version},
            headers={"mcp-protocol-version": version},
        )
        assert response.status == 400
        error = response.json["error"]
        assert error["code"] == -32022
        assert error["data"] == {"supported": [MODERN], "requested": version}

    run(scenario, definition=ONLY_MODERN)


@pytest.mark.requirement("N050", "N051", "N052", "N054")
@pytest.mark.parametrize(
    ("arguments", "headers", "is_accepted"),
    [
        ({"region": "eu"}, {"mcp-param-region": "eu"}, True),
        ({"region": "eu"}, {"mcp-param-region": " eu\t"}, True),
        ({"region": "eu"}, {}, False),
        ({"region": "eu"}, {"mcp-param-region": "EU"}, False),
        ({"region": "Zürich"}, {"mcp-param-region": "=?base64?WsO8cmljaA==?="}, True),
        ({"region": "Zürich"}, {"mcp-param-region": "=?base64?WsO8cmlja?="}, False),
        ({"region": "Zürich"}, {"mcp-param-region": "Z\xfcrich"}, False),
        ({"count": 42}, {"mcp-param-count": "42.0"}, True),
        ({"count": 42}, {"mcp-param-count": "43"}, False),
        ({"dry": True}, {"mcp-param-dry": "true"}, True),
        ({"dry": True}, {"mcp-param-dry": "1"}, False),
        ({"region": None}, {}, True),
        ({}, {}, True),
        ({}, {"mcp-param-region": "eu"}, False),
        ({}, {"mcp-param-unknown": "eu"}, True),
    ],
)
def test_arguments_in_headers_must_agree_with_the_body(
    arguments: dict[str, Any], headers: dict[str, str], is_accepted: bool
) -> None:
    async def scenario(served: Served) -> None:
        call = {"name": "regional", "arguments": arguments}
        response = await served.client.post_modern("tools/call", call, headers=headers)
        if is_accepted:
            assert response.status == 200
        else:
            assert (response.status, response.json["error"]["code"]) == (400, -32020)
        assert len(served.tools.calls) == is_accepted

    run(scenario)


@pytest.mark.requirement("N050")
def test_a_base64_encoded_name_header_is_accepted() -> None:
    async def scenario(served: Served) -> None:
        name = f"=?base64?{base64.b64encode(b'echo').decode()}?="
        response = await served.client.post_modern("tools/call", ECHO, headers={"mcp-name": name})
        assert response.status == 200

    run(scenario)


@pytest.mark.requirement("N039", "N040", "N041", "N042")
def test_progress_turns_the_response_into_a_stream_that_ends_with_the_result() -> None:
    async def scenario(served: Served) -> None:
        exchange = served.client.begin_modern(
            "tools/call", {"name": "report"}, meta={"progressToken": "t"}
        )
        response = await exchange.until_events(1)
        assert response.status == 200
        assert response.headers["content-type"] == "text/event-stream"
        assert response.headers["x-accel-buffering"] == "no"
        assert response.headers["cache-control"].startswith("no-cache")
        assert not response.is_complete
        served.tools.go_on.set()
        await exchange.complete()
        assert [event.get("id") for event in response.events] == [None, None, None]
        assert [event["event"] for event in response.events] == ["message"] * 3
        assert [it.get("method") for it in response.messages] == [
            "notifications/progress",
            "notifications/progress",
            None,
        ]
        check_frames(MODERN, request("tools/call"), response)

    run(scenario)


@pytest.mark.requirement("N039")
def test_a_slow_call_without_progress_is_answered_as_json() -> None:
    async def scenario(served: Served) -> None:
        exchange = served.client.begin_modern("tools/call", {"name": "hang"})
        await served.tools.started.wait()
        served.clock.now += 60
        await served.app.housekeep()
        assert exchange.response.status == 0
        served.tools.go_on.set()
        response = await exchange.complete()
        assert response.headers["content-type"] == "application/json"

    run(scenario)


@pytest.mark.requirement("N043", "N044")
@pytest.mark.parametrize("tool", ["hang", "report"])
def test_a_disconnected_client_cancels_its_call(tool: str) -> None:
    async def scenario(served: Served) -> None:
        exchange = served.client.begin_modern(
            "tools/call", {"name": tool}, meta={"progressToken": 1}
        )
        await served.tools.started.wait()
        if tool == "report":
            await exchange.until_events(1)
        await exchange.leave()
        assert served.tools.cancelled == 1
        assert b"result" not in exchange.response.body
        assert not served.dispatcher.calls

    run(scenario)


@pytest.mark.requirement("N055")
@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_a_modern_server_allows_only_post(method: str) -> None:
    async def scenario(served: Served) -> None:
        response = await served.client.send(method).complete()
        assert response.status == 405
        assert response.headers["allow"] == "POST"

    run(scenario, definition=ONLY_MODERN)


@pytest.mark.requirement("N055")
@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
@pytest.mark.parametrize("has_session", [False, True])
def test_a_server_with_both_eras_allows_only_post_for_modern_requests(
    method: str, has_session: bool
) -> None:
    async def scenario(served: Served) -> None:
        if has_session:
            await served.client.initialize("2025-11-25")
        response = await served.client.send(method, headers={VERSION: MODERN}).complete()
        assert response.status == 405
        assert response.headers["allow"] == "POST"
        if has_session:  # which the request did not end
            assert (await served.client.post(request("ping"))).status == 200

    run(scenario)


@pytest.mark.requirement("L068")
@pytest.mark.parametrize("version", ["1999-01-01", MODERN])
@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_legacy_server_rejects_the_get_of_a_revision_that_it_does_not_serve(
    method: str, version: str
) -> None:
    async def scenario(served: Served) -> None:
        await served.client.initialize("2025-11-25")
        response = await served.client.send(method, headers={VERSION: version}).complete()
        assert response.status == 400

    run(scenario, definition=ONLY_LEGACY)


@pytest.mark.requirement("N022")
def test_a_modern_server_reports_its_versions_to_a_legacy_client() -> None:
    async def scenario(served: Served) -> None:
        params = {"protocolVersion": "2025-11-25", "capabilities": {}}
        response = await served.client.send("POST", request("initialize", params)).complete()
        assert response.status == 400
        assert response.json["error"]["data"]["supported"] == [MODERN]

    run(scenario, definition=ONLY_MODERN)


def test_a_legacy_server_rejects_a_modern_version_header() -> None:
    async def scenario(served: Served) -> None:
        response = await served.client.post_modern("tools/list")
        assert response.status == 400

    run(scenario, definition=ONLY_LEGACY)


@pytest.mark.requirement("N001", "N069", "N070", "N071")
def test_a_listener_receives_changes_after_the_acknowledgement() -> None:
    async def scenario(served: Served) -> None:
        exchange = served.client.begin_modern(
            "subscriptions/listen", {"notifications": {"toolsListChanged": True}}, id="mine"
        )
        await exchange.until_events(1)
        served.dispatcher.announce(Change("tools"))
        served.dispatcher.announce(Change("prompts"))
        response = await exchange.until_events(2)
        served.dispatcher.announce(Change("tools"))
        await exchange.until_events(3)
        key = "io.modelcontextprotocol/subscriptionId"
        assert [it["params"]["_meta"][key] for it in response.messages] == ["mine"] * 3
        assert [it["method"] for it in response.messages] == [
            "notifications/subscriptions/acknowledged",
            "notifications/tools/list_changed",
            "notifications/tools/list_changed",
        ]
        check_frames(MODERN, request("subscriptions/listen"), response)
        await exchange.leave()
        served.dispatcher.announce(Change("tools"))
        assert len(response.events) == 3
        assert not served.dispatcher._peers

    run(scenario)


@pytest.mark.requirement("N042")
def test_an_open_stream_is_kept_alive_by_comments() -> None:
    async def scenario(served: Served) -> None:
        exchange = served.client.begin_modern(
            "subscriptions/listen", {"notifications": {"toolsListChanged": True}}
        )
        await exchange.until_events(1)
        served.clock.now += 15
        await served.app.housekeep()
        response = await exchange.until_events(2)
        assert response.body.endswith(b"\n\n: keep-alive\n\n")
        await exchange.leave()

    run(scenario)


@pytest.mark.requirement("N072")
def test_draining_ends_listen_requests_with_a_result() -> None:
    async def scenario(served: Served) -> None:
        exchange = served.client.begin_modern(
            "subscriptions/listen", {"notifications": {"toolsListChanged": True}}, id=7
        )
        await exchange.until_events(1)
        await served.app.drain(0)
        response = await exchange.complete()
        assert response.messages[-1]["id"] == 7
        assert response.messages[-1]["result"]["resultType"] == "complete"
        check_frames(MODERN, request("subscriptions/listen", id=7), response)

    run(scenario)


def test_two_hundred_clients_with_the_same_id_each_get_their_own_answer() -> None:
    async def scenario(served: Served) -> None:
        exchanges = [
            served.client.begin_modern("tools/call", {"name": "hang", "arguments": {"n": number}})
            for number in range(200)
        ]
        await served.tools.started.wait()
        served.tools.go_on.set()
        responses = await asyncio.gather(*(exchange.complete() for exchange in exchanges))
        texts = [it.json["result"]["content"][0]["text"] for it in responses]
        assert [json.loads(text)["n"] for text in texts] == list(range(200))

    run(scenario)


@pytest.mark.requirement("N010")
def test_a_failing_handler_does_not_reveal_the_exception() -> None:
    async def scenario(served: Served) -> None:
        response = await served.client.post_modern("tools/call", {"name": "fail"})
        assert response.status == 200
        assert response.json["error"]["code"] == -32603
        assert b"secret" not in response.body

    run(scenario)
