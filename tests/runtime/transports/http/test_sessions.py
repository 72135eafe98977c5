"""Tests of Streamable HTTP of 2025-03-26 to 2025-11-25: sessions and their messages."""

from __future__ import annotations

import re
from typing import Any

import pytest

from mcpgen.runtime.protocol.messages import Change
from mcpgen.runtime.state.session_store import MemorySessions
from tests.support.http_server import (
    LEGACY,
    MODERN,
    OMITTED,
    Served,
    check_frames,
    definition,
    request,
    run,
    tool_call,
)

INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
each_revision = pytest.mark.parametrize("revision", LEGACY)


@pytest.mark.requirement("L048", "L051", "L065", "L066", "N137")
@each_revision
def test_a_session_is_opened_and_serves_calls(revision: str) -> None:
    async def scenario(served: Served) -> None:
        response = await served.client.initialize(revision)
        assert response.json["result"]["protocolVersion"] == revision
        assert re.fullmatch(r"[\x21-\x7e]{22,}", served.client.session_id)
        called = await served.client.post(tool_call("echo", a=1))
        assert called.headers["content-type"] == "application/json"
        assert called.json["result"]["content"][0]["text"] == '{"a": 1}'
        assert not served.app._sessions._live  # the store alone remembers it

    run(scenario)


@pytest.mark.requirement("L065")
def test_ten_thousand_session_ids_are_all_different() -> None:
    async def scenario(served: Served) -> None:
        ids = set()
        for _ in range(10_000):
            client = served.new_client()
            await client.initialize("2025-11-25")
            ids.add(client.session_id)
        assert len(ids) == 10_000

    run(scenario)


@pytest.mark.requirement("N137")
def test_one_endpoint_serves_both_eras_concurrently() -> None:
    async def scenario(served: Served) -> None:
        old, new = served.client, served.new_client()
        await old.initialize("2025-06-18")
        waiting = old.begin(tool_call("hang", id=1))
        await served.tools.started.wait()
        modern = await new.post_modern("tools/call", {"name": "echo"}, id=1)
        assert modern.json["result"]["resultType"] == "complete"
        served.tools.go_on.set()
        legacy = await waiting.complete()
        assert "resultType" not in legacy.json["result"]

    run(scenario)


@pytest.mark.requirement("L049")
@each_revision
def test_notifications_and_responses_are_accepted_without_a_body(revision: str) -> None:
    async def scenario(served: Served) -> None:
        await served.client.initialize(revision)
        for message in (
            INITIALIZED,
            {"jsonrpc": "2.0", "method": "notifications/unknown"},
            {"jsonrpc": "2.0", "id": 99, "result": {}},
        ):
            response = await served.client.post(message)
            assert (response.status, response.body) == (202, b"")

    run(scenario)


@pytest.mark.requirement("L050", "L067", "L068", "L070")
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({"mcp-session-id": OMITTED}, 400, id="no session"),
        pytest.param({"mcp-session-id": "unknown"}, 404, id="unknown session"),
        pytest.param({"mcp-protocol-version": "2025-03-26"}, 400, id="another revision"),
        pytest.param({"mcp-protocol-version": "1999-01-01"}, 400, id="unknown revision"),
        pytest.param({"mcp-protocol-version": OMITTED}, 200, id="no revision"),
        pytest.param({"accept": "application/json"}, 406, id="no events accepted"),
        pytest.param({"accept": "text/event-stream"}, 406, id="no JSON accepted"),
        pytest.param({"accept": "*/*, text/event-stream;q=0"}, 406, id="events refused"),
        pytest.param({"accept": "*/*"}, 200, id="anything accepted"),
        pytest.param({"accept": "text/*;q=0.1, Application/JSON"}, 200, id="ranges"),
        pytest.param({"accept": OMITTED}, 200, id="no Accept"),
        pytest.param({"content-type": "text/plain"}, 415, id="text"),
        pytest.param({"content-type": OMITTED}, 415, id="no type"),
        pytest.param({"content-type": "application/json; charset=latin-1"}, 415, id="latin-1"),
        pytest.param({"content-type": "Application/JSON; charset=UTF-8"}, 200, id="charset"),
    ],
)
def test_accept_and_session_headers_determine_the_status(
    headers: dict[str, str], status: int
) -> None:
    async def scenario(served: Served) -> None:
        await served.client.initialize("2025-11-25")
        response = await served.client.post(tool_call("echo"), headers)
        assert response.status == status
        assert "mcp-session-id" not in response.headers

    run(scenario)


@pytest.mark.requirement("L044", "L050")
def test_unparseable_json_is_a_parse_error() -> None:
    async def scenario(served: Served) -> None:
        await served.client.initialize("2025-11-25")
        response = await served.client.post(b'{"jsonrpc": "2.0", "id": 1')
        assert (response.status, response.json["error"]["code"]) == (400, -32700)

    run(scenario)


@pytest.mark.requirement("L070")
def test_initialize_with_an_unknown_version_header_opens_no_session() -> None:
    async def scenario(served: Served) -> None:
        params = {"protocolVersion": "2025-06-18", "capabilities": {}}
        response = await served.client.send(
            "POST", request("initialize", params), headers={"mcp-protocol-version": "1999-01-01"}
        ).complete()
        assert response.status in {400, 404}
        assert "mcp-session-id" not in response.headers

    run(scenario)


@pytest.mark.requirement("L068")
@each_revision
def test_delete_ends_a_session_at_once(revision: str) -> None:
    async def scenario(served: Served) -> None:
        await served.client.initialize(revision)
        waiting = served.client.begin(tool_call("hang", id=5))
        await served.tools.started.wait()
        ended = await served.client.send("DELETE", headers=served.client.session_headers).complete()
        assert ended.status == 204
        assert "content-length" not in ended.headers  # RFC 9110, 8.6
        answer = await waiting.complete()
        assert answer.json["error"]["code"] == -32603
        assert served.tools.cancelled == 1
        for method in ("POST", "GET", "DELETE"):
            body = tool_call("echo") if method == "POST" else None
            again = served.client.send(method, body, headers=served.client.session_headers)
            assert (await again.complete()).status == 404

    run(scenario)


@pytest.mark.requirement("L055")
@each_revision
def test_a_disconnected_client_cancels_nothing(revision: str) -> None:
    async def scenario(served: Served) -> None:
        await served.client.initialize(revision)
        exchange = served.client.begin(tool_call("hang"))
        await served.tools.started.wait()
        await exchange.vanish()
        assert len(served.dispatcher.calls) == 1
        served.tools.go_on.set()
        await exchange.task
        assert served.tools.cancelled == 0

    run(scenario)


@pytest.mark.requirement("L029", "L030", "L031")
@each_revision
def test_a_cancelled_call_ends_without_a_response(revision: str) -> None:
    async def scenario(served: Served) -> None:
        await served.client.initialize(revision)
        exchange = served.client.begin(tool_call("hang", id=3))
        await served.tools.started.wait()
        cancel = {
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": 3, "reason": "changed my mind"},
        }
        assert (await served.client.post(cancel)).status == 202
        response = await exchange.complete()
        assert response.body == b""
        assert served.tools.cancelled == 1
        assert (await served.client.post(cancel)).status == 202

    run(scenario)


@pytest.mark.requirement("L028")
def test_one_session_cannot_cancel_a_call_of_another() -> None:
    async def scenario(served: Served) -> None:
        other = served.new_client()
        await served.client.initialize("2025-11-25")
        await other.initialize("2025-11-25")
        exchange = served.client.begin(tool_call("hang", id=3))
        await served.tools.started.wait()
        await other.post(
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}}
        )
        served.tools.go_on.set()
        assert "result" in (await exchange.complete()).json

    run(scenario)


@pytest.mark.requirement("L052", "L054", "L058", "L059")
@each_revision
def test_each_message_is_sent_on_exactly_one_stream(revision: str) -> None:
    async def scenario(served: Served) -> None:
        client = served.client
        await client.initialize(revision)
        listening = client.send("GET", headers=client.session_headers)
        await listening.until(lambda response: response.status == 200)
        first = client.begin(tool_call("report", id=1, token="first"))
        second = client.begin(tool_call("report", id=2, token="second"))
        for exchange in (first, second):
            await exchange.until(lambda response: len(response.messages) == 1)
        served.dispatcher.announce(Change("tools"))
        await listening.until(lambda response: len(response.messages) == 1)
        served.tools.go_on.set()
        for exchange, token in ((first, "first"), (second, "second")):
            response = await exchange.complete()
            tokens = [it["params"]["progressToken"] for it in response.messages[:-1]]
            assert tokens == [token, token]
            assert "result" in response.messages[-1]
            check_frames(revision, [tool_call("report", id=number) for number in (1, 2)], response)
        assert [it["method"] for it in listening.response.messages] == [
            "notifications/tools/list_changed"
        ]
        await listening.leave()

    run(scenario)


@pytest.mark.requirement("L056", "L057")
def test_a_second_get_stream_replaces_the_first() -> None:
    async def scenario(served: Served) -> None:
        client = served.client
        await client.initialize("2025-06-18")
        first = client.send("GET", headers=client.session_headers)
        await first.until(lambda response: response.status == 200)
        second = client.send("GET", headers=client.session_headers)
        assert (await first.complete()).body == b""
        served.dispatcher.announce(Change("tools"))
        assert len((await second.until_events(1)).messages) == 1
        await second.leave()

    run(scenario)


@pytest.mark.requirement("L056")
def test_a_get_without_accepting_event_streams_is_rejected() -> None:
    async def scenario(served: Served) -> None:
        await served.client.initialize("2025-11-25")
        headers = {**served.client.session_headers, "accept": "application/json"}
        assert (await served.client.send("GET", headers=headers).complete()).status == 406

    run(scenario)


@pytest.mark.requirement("L113", "L021")
@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
def test_a_handler_asks_the_client_on_the_stream_of_its_call(revision: str) -> None:
    async def scenario(served: Served) -> None:
        client = served.client
        await client.initialize(revision, {"elicitation": {}})
        exchange = client.begin(tool_call("ask", id=1))
        asked = (await exchange.until(lambda response: len(response.messages) == 1)).messages[0]
        assert asked["method"] == "elicitation/create"
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "decline"}}
        assert (await client.post(answer)).status == 202
        response = await exchange.complete()
        assert response.messages[-1]["result"]["content"][0]["text"] == "decline"
        check_frames(revision, tool_call("ask"), response)

    run(scenario)


def test_an_answer_from_another_session_is_ignored() -> None:
    async def scenario(served: Served) -> None:
        client, other = served.client, served.new_client()
        for each in (client, other):
            await each.initialize("2025-11-25", {"elicitation": {}})
        exchange = client.begin(tool_call("ask"))
        asked = (await exchange.until(lambda response: len(response.messages) == 1)).messages[0]
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "decline"}}
        assert (await other.post(answer)).status == 202
        assert not exchange.response.is_complete
        await client.post({**answer, "result": {"action": "cancel"}})
        response = await exchange.complete()
        assert response.messages[-1]["result"]["content"][0]["text"] == "cancel"

    run(scenario)


@pytest.mark.requirement("L006")
def test_a_batch_of_2025_03_26_gets_its_answers_in_one_array() -> None:
    async def scenario(served: Served) -> None:
        await served.client.initialize("2025-03-26")
        batch = [tool_call("echo", id=1), INITIALIZED, tool_call("hang", id=2), {"jsonrpc": "2.0"}]
        exchange = served.client.begin(batch)
        await served.tools.started.wait()
        served.tools.go_on.set()
        response = await exchange.complete()
        assert response.headers["content-type"] == "application/json"
        assert {it.get("id") for it in response.json} == {None, 1, 2}
        check_frames("2025-03-26", batch, response)
        silent = await served.client.post([INITIALIZED, {"jsonrpc": "2.0", "id": 9, "result": {}}])
        assert (silent.status, silent.body) == (202, b"")
        assert (await served.client.post([])).json["error"]["code"] == -32600

    run(scenario)


@pytest.mark.requirement("L007")
def test_initialize_in_a_batch_opens_no_session() -> None:
    async def scenario(served: Served) -> None:
        params = {"protocolVersion": "2025-03-26", "capabilities": {}}
        response = await served.client.post([request("initialize", params)])
        assert response.status == 400
        assert "mcp-session-id" not in response.headers

    run(scenario)


@pytest.mark.requirement("L008")
@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
def test_later_revisions_reject_batches(revision: str) -> None:
    async def scenario(served: Served) -> None:
        await served.client.initialize(revision)
        response = await served.client.post([tool_call("echo")])
        assert (response.status, response.json["error"]["code"]) == (400, -32600)

    run(scenario)


def test_a_session_expires_after_half_an_hour_without_use() -> None:
    async def scenario(served: Served) -> None:
        await served.client.initialize("2025-11-25")
        served.clock.now += 1799
        assert (await served.client.post(tool_call("echo"))).status == 200
        served.clock.now += 1801
        assert (await served.client.post(tool_call("echo"))).status == 404

    run(scenario)


def test_a_session_with_an_open_stream_does_not_expire() -> None:
    async def scenario(served: Served) -> None:
        client = served.client
        await client.initialize("2025-11-25")
        listening = client.send("GET", headers=client.session_headers)
        await listening.until_events(1)
        for _ in range(3):
            served.clock.now += 1700
            await served.app.housekeep()
        assert (await client.post(tool_call("echo"))).status == 200
        await listening.leave()

    run(scenario)


def test_a_session_above_the_limit_ends_the_least_recently_used_one() -> None:
    async def scenario(served: Served) -> None:
        first, second, third = served.client, served.new_client(), served.new_client()
        await first.initialize("2025-11-25")
        await second.initialize("2025-11-25")
        listening = second.send("GET", headers=second.session_headers)
        await listening.until_events(1)
        assert (await first.post(tool_call("echo"))).status == 200
        await third.initialize("2025-11-25")
        assert (await second.begin(tool_call("echo")).complete()).status == 404
        await served.app.housekeep()
        await listening.complete()  # nothing of an ended session goes on
        for client in (first, third):
            assert (await client.post(tool_call("echo"))).status == 200

    run(scenario, store=MemorySessions(max_sessions=2))


def test_a_client_with_many_sessions_cannot_end_those_of_others() -> None:
    async def scenario(served: Served) -> None:
        store = served.store
        quiet = await _open(store, "", "192.0.2.1")
        many = [await _open(store, "", "192.0.2.2") for _ in range(20)]
        assert await store.find_session(quiet, "", 1.0) is not None
        assert await store.find_session(many[-1], "", 1.0) is not None
        assert await store.evict(1.0) == many[:11]

    run(scenario, store=MemorySessions(max_sessions=10))


def test_using_a_session_protects_it_from_eviction() -> None:
    async def scenario(served: Served) -> None:
        first, second, third = served.client, served.new_client(), served.new_client()
        await first.initialize("2025-11-25")
        await second.initialize("2025-11-25")
        served.clock.now += 1000
        assert (await first.post(tool_call("echo"))).status == 200
        served.clock.now += 1000
        await third.initialize("2025-11-25")
        assert (await first.post(tool_call("echo"))).status == 200
        assert len(served.store._sessions) == 2

    run(scenario, store=MemorySessions(max_sessions=2))


def test_a_session_is_found_only_for_its_principal() -> None:
    async def scenario(served: Served) -> None:
        stored = await _open(served.store, "alice")
        assert await served.store.find_session(stored, "bob", 1.0) is None
        assert await served.store.find_session(stored, "", 1.0) is None
        assert await served.store.find_session(stored, "alice", 1.0) is not None

    run(scenario)


async def _open(store: MemorySessions, principal: str, client: str = "") -> str:
    from mcpgen.runtime.protocol.session import LegacySession
    from mcpgen.runtime.protocol.versions import ASSUMED_LEGACY

    return (await store.open_session(LegacySession(ASSUMED_LEGACY), principal, 0.0, client)).id


def test_the_memory_of_an_idle_session_is_bounded() -> None:
    import tracemalloc

    async def scenario(served: Served) -> None:
        async def use_one() -> None:
            client = served.new_client()
            await client.initialize("2025-11-25", {"roots": {}, "sampling": {}, "elicitation": {}})
            await client.post(tool_call("echo"))

        await use_one()  # allocates what is made only once
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(200):
            await use_one()
        after, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert (after - before) / 200 < 10_000

    run(scenario)


@pytest.mark.requirement("L069")
@pytest.mark.parametrize(
    ("headers", "has_titles"), [({}, False), ({"mcp-protocol-version": "2025-06-18"}, True)]
)
def test_without_sessions_the_version_header_determines_the_revision(
    headers: dict[str, str], has_titles: bool
) -> None:
    async def scenario(served: Served) -> None:
        params = {"protocolVersion": "2025-06-18", "capabilities": {}}
        opened = await served.client.post(request("initialize", params))
        assert opened.status == 200
        assert "mcp-session-id" not in opened.headers
        assert (await served.client.post(INITIALIZED)).status == 202
        called = await served.client.post([tool_call("echo")], headers)
        assert (called.status == 400) is has_titles  # batches are of 2025-03-26 alone
        called = await served.client.post(tool_call("echo"), headers)
        assert called.status == 200
        for method in ("GET", "DELETE"):
            refused = await served.client.send(method).complete()
            assert (refused.status, refused.headers["allow"]) == (405, "POST")

    run(scenario, has_sessions=False)


@pytest.mark.requirement("L023")
def test_without_sessions_features_that_need_one_are_not_declared() -> None:
    async def scenario(served: Served) -> None:
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        opened = await served.client.post(request("initialize", params))
        assert opened.json["result"]["capabilities"] == {"tools": {}}
        refused = await served.client.post(request("logging/setLevel", {"level": "info"}))
        assert refused.json["error"]["code"] == -32601
        modern = await served.client.post_modern("server/discover")
        assert modern.json["result"]["capabilities"] == {
            "tools": {"listChanged": True},
            "logging": {},
        }

    run(scenario, has_sessions=False, definition=definition(has_logging=True))


@pytest.mark.requirement("L006", "L049")
def test_without_sessions_a_batch_of_notifications_has_no_answer() -> None:
    async def scenario(served: Served) -> None:
        accepted = await served.client.post([INITIALIZED, INITIALIZED])
        assert (accepted.status, accepted.body) == (202, b"")

    run(scenario, has_sessions=False)


@pytest.mark.requirement("L018", "L070")
def test_a_second_handshake_changes_the_revision_of_the_session() -> None:
    async def scenario(served: Served) -> None:
        client = served.client
        await client.initialize("2025-11-25")
        params = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        again = await client.post(request("initialize", params))
        assert again.json["result"]["protocolVersion"] == "2025-06-18"
        assert (await client.post(request("ping"))).status == 400
        client.revision = "2025-06-18"
        assert (await client.post(request("ping"))).json["result"] == {}

    run(scenario)


@pytest.mark.requirement("L050")
def test_initialize_as_a_notification_is_rejected() -> None:
    async def scenario(served: Served) -> None:
        told = {"jsonrpc": "2.0", "method": "initialize", "params": {}}
        assert (await served.client.post(told)).status == 400

    run(scenario)


def test_without_sessions_a_handler_cannot_ask_the_client() -> None:
    async def scenario(served: Served) -> None:
        response = await served.client.post(tool_call("ask"))
        assert response.json["result"]["isError"] is True

    run(scenario, has_sessions=False)


@pytest.mark.parametrize(("path", "status"), [("/", 404), ("/mcp/", 404), ("/health", 200)])
def test_other_paths_return_404_except_for_health(path: str, status: int) -> None:
    async def scenario(served: Served) -> None:
        assert (await served.client.send("GET", path=path).complete()).status == status

    run(scenario)


def test_a_modern_request_with_a_session_id_is_served_statelessly() -> None:
    async def scenario(served: Served) -> None:
        await served.client.initialize("2025-11-25")
        headers: dict[str, Any] = {
            **served.client.session_headers,
            "mcp-protocol-version": MODERN,
        }
        response = await served.client.post_modern("tools/call", {"name": "echo"}, headers=headers)
        assert response.json["result"]["resultType"] == "complete"

    run(scenario)
