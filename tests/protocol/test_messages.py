"""Tests of JSON-RPC as restricted by MCP: envelopes, ids, errors, notifications, batches."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.runtime.content import Text, ToolResult
from mcpgen.runtime.protocol.request import Request
from mcpgen.runtime.protocol.server import MAX_BATCH
from tests.support.protocol_client import ALL, LEGACY, MODERN, Peer

OTHERS = [revision for revision in ALL if revision != "2025-03-26"]
BATCHES = "2025-03-26"


def sole_error(peer: Peer, message: Any) -> dict[str, Any]:
    peer.send(message)
    (frame,) = peer.frames()
    return frame


@pytest.mark.requirement("L001", "L002", "L003", "N001", "N002", "N003")
@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize("id", [0, 1, "one", ""], ids=repr)
def test_a_response_repeats_the_id_and_has_a_result_or_an_error(revision: str, id: Any) -> None:
    peer = Peer(revision)
    call = peer.call(id=id)
    call.succeed(ToolResult((Text("done"),)))
    (good,) = peer.frames()
    assert good["jsonrpc"] == "2.0"
    assert good["id"] == id
    assert "error" not in good
    bad = peer.ask("no/such/method", id=id)
    assert bad["id"] == id
    assert isinstance(bad["error"]["code"], int)
    assert bad["error"]["message"]
    assert "result" not in bad


@pytest.mark.requirement("L001", "N002")
@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize("version", [None, "1.0", 2.0, ""], ids=repr)
def test_a_message_with_another_jsonrpc_version_is_rejected_with_its_id(
    revision: str, version: object
) -> None:
    peer = Peer(revision)
    frame = sole_error(peer, peer.request("tools/list", id=5) | {"jsonrpc": version})
    assert frame["error"]["code"] == -32600
    assert frame["id"] == 5


@pytest.mark.requirement("L002", "N002")
@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize("id", [None, True, 1.5, [1], {}], ids=repr)
def test_an_invalid_id_is_rejected_without_an_id(revision: str, id: Any) -> None:
    peer = Peer(revision)
    frame = sole_error(peer, peer.request("tools/list", id=1) | {"id": id})
    assert frame["error"]["code"] == -32600
    assert "id" not in frame


def test_a_whole_float_id_is_treated_as_an_integer() -> None:
    peer = Peer(MODERN)
    frame = sole_error(peer, peer.request("no/such/method", id=3.0))
    assert frame["id"] == 3


@pytest.mark.requirement("L002", "N002")
@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize("message", ["text", 7, None, True, {}, {"jsonrpc": "2.0"}], ids=repr)
def test_an_invalid_message_is_rejected_without_an_id(revision: str, message: object) -> None:
    frame = sole_error(Peer(revision), message)
    assert frame["error"]["code"] == -32600
    assert "id" not in frame


@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize("method", [None, 7, ["tools/list"]], ids=repr)
def test_a_method_that_is_not_a_string_is_rejected_with_the_id(
    revision: str, method: object
) -> None:
    frame = sole_error(Peer(revision), {"jsonrpc": "2.0", "id": 4, "method": method})
    assert frame["error"]["code"] == -32600
    assert frame["id"] == 4


@pytest.mark.parametrize("revision", LEGACY)
@pytest.mark.parametrize("params", [[1], "x", 7, True], ids=repr)
def test_params_that_are_not_an_object_are_rejected_with_the_id(
    revision: str, params: object
) -> None:
    peer = Peer(revision)
    frame = sole_error(peer, {"jsonrpc": "2.0", "id": 9, "method": "tools/list", "params": params})
    assert frame["error"]["code"] == -32602
    assert frame["id"] == 9


@pytest.mark.requirement("L004", "N006")
@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize(
    "method",
    [
        "notifications/initialized",
        "notifications/unknown",
        "notifications/progress",
        "notifications/cancelled",
        "tools/list",
        "ping",
    ],
)
@pytest.mark.parametrize("params", [{}, None, [1], "x"], ids=repr)
def test_a_notification_is_never_answered(revision: str, method: str, params: object) -> None:
    peer = Peer(revision)
    assert peer.send({"jsonrpc": "2.0", "method": method, "params": params}) == []
    assert peer.frames() == []


@pytest.mark.requirement("L113", "N125")
def test_a_client_may_say_that_its_roots_changed_since_no_roots_are_cached() -> None:
    peer = Peer("2025-11-25")
    assert peer.notify("notifications/roots/list_changed") == []
    assert peer.frames() == []


@pytest.mark.parametrize("revision", ALL)
def test_a_duplicate_id_in_flight_is_rejected_and_the_first_call_continues(revision: str) -> None:
    peer = Peer(revision)
    call = peer.call(id="same")
    assert peer.error("tools/call", id="same", name="tool_0")["code"] == -32600
    assert len(peer.protocol.in_flight) == 1
    call.succeed(ToolResult((Text("first"),)))
    (frame,) = peer.frames()
    assert frame["result"]["content"][0]["text"] == "first"


def test_a_string_and_a_number_are_different_ids() -> None:
    peer = Peer(MODERN)
    number, text = peer.call(id=1), peer.call(id="1")
    text.succeed(ToolResult((Text("text"),)))
    number.succeed(ToolResult((Text("number"),)))
    assert [frame["id"] for frame in peer.frames()] == ["1", 1]


@pytest.mark.parametrize("revision", ALL)
def test_an_id_can_be_reused_after_its_response(revision: str) -> None:
    peer = Peer(revision)
    for _ in range(3):
        peer.call(id=1).succeed(ToolResult(()))
        assert len(peer.frames()) == 1


@pytest.mark.parametrize("revision", ALL)
def test_a_call_is_answered_exactly_once(revision: str) -> None:
    peer = Peer(revision)
    call = peer.call(_meta={"progressToken": 1})
    call.succeed(ToolResult((Text("first"),)))
    call.succeed(ToolResult((Text("second"),)))
    call.fail(ValueError("third"))
    call.refuse(-32603, "fourth")
    call.report_progress(5)
    call.log("error", "late")
    assert len(peer.frames()) == 1


NO_JSON = {"nan": float("nan"), "infinity": float("inf"), "surrogate": "\ud800", "object": object()}


@pytest.mark.parametrize("value", NO_JSON.values(), ids=NO_JSON.keys())
@pytest.mark.parametrize("revision", ["2025-06-18", MODERN])
def test_a_result_that_is_not_json_raises_and_leaves_the_call_open(
    revision: str, value: object
) -> None:
    peer = Peer(revision)
    call = peer.call()
    with pytest.raises((TypeError, ValueError)) as caught:
        call.succeed(ToolResult((), {"value": value}))
    assert peer.frames() == []
    call.fail(caught.value)
    (frame,) = peer.frames()
    assert frame["error"]["code"] == -32603


@pytest.mark.requirement("N008", "N009", "N010", "N104", "L111", "N083")
@pytest.mark.parametrize("revision", ALL)
def test_an_internal_error_hides_the_exception_text(revision: str) -> None:
    peer = Peer(revision)
    peer.call().fail(RuntimeError("password=hunter2 in /srv/app.py"), "ab12")
    (outgoing,) = peer.outgoing()
    assert b"hunter2" not in outgoing.data
    assert b"app.py" not in outgoing.data
    assert b'"code":-32603' in outgoing.data
    assert b'"correlationId":"ab12"' in outgoing.data
    assert outgoing.http_status == 200


@pytest.mark.requirement("L006")
def test_a_batch_is_answered_with_one_array_after_all_its_calls() -> None:
    peer = Peer(BATCHES)
    messages = [
        peer.request("ping", id=1),
        peer.request("tools/call", id=2, name="tool_0"),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        peer.request("no/such/method", id=3),
        peer.request("tools/call", id=4, name="tool_0"),
    ]
    first, second = peer.send(messages)
    assert isinstance(first, Request)
    assert isinstance(second, Request)
    assert peer.outgoing() == []
    second.succeed(ToolResult((Text("second"),)))
    assert peer.outgoing() == []
    first.succeed(ToolResult((Text("first"),)))
    (outgoing,) = peer.outgoing()
    assert outgoing.data.startswith(b"[")
    assert outgoing.is_last
    by_id = {frame["id"]: frame for frame in peer._decoded(outgoing)}
    assert by_id.keys() == {1, 2, 3, 4}
    assert by_id[3]["error"]["code"] == -32601
    assert by_id[4]["result"]["content"][0]["text"] == "second"


@pytest.mark.requirement("L006")
def test_progress_of_a_batched_call_is_sent_immediately() -> None:
    peer = Peer(BATCHES)
    request = peer.request("tools/call", id=1, name="tool_0", _meta={"progressToken": "t"})
    (call,) = peer.send([request], stream="post")
    assert isinstance(call, Request)
    call.report_progress(1)
    (outgoing,) = peer.outgoing()
    assert (outgoing.stream, outgoing.is_last) == ("post", False)


@pytest.mark.requirement("L006", "L049")
def test_a_batch_of_notifications_is_not_answered() -> None:
    peer = Peer(BATCHES)
    notification = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert peer.send([notification, notification]) == []
    assert peer.outgoing() == []


@pytest.mark.requirement("L006")
@pytest.mark.parametrize("element", [1, "x", None, [], {}, {"jsonrpc": "2.0", "id": 8}], ids=repr)
def test_an_invalid_batch_element_is_answered_with_its_own_error(element: Any) -> None:
    peer = Peer(BATCHES)
    peer.send([element, peer.request("ping", id=1)])
    (outgoing,) = peer.outgoing()
    error, answer = peer._decoded(outgoing)
    assert error["error"]["code"] == -32600
    assert answer == {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.requirement("L007")
def test_initialize_in_a_batch_is_rejected() -> None:
    peer = Peer(BATCHES)
    session = peer.protocol.session
    peer.send([peer.request("initialize", id=1, protocolVersion="2025-06-18", capabilities={})])
    (error,) = peer.frames()
    assert error["id"] == 1
    assert error["error"]["code"] == -32600
    assert peer.protocol.session is session


@pytest.mark.requirement("L006")
def test_a_modern_request_in_a_batch_is_rejected() -> None:
    peer = Peer(BATCHES)
    peer.send([Peer(MODERN).request("tools/list", id=1)])
    (error,) = peer.frames()
    assert error["error"]["code"] == -32600


@pytest.mark.requirement("L006")
def test_a_cancelled_batch_element_has_no_response_in_the_array() -> None:
    peer = Peer(BATCHES)
    peer.send([peer.request("tools/call", id=i, name="tool_0") for i in (1, 2)], stream="post")
    (cancelled,) = peer.cancel(1)
    assert peer.outgoing() == []
    (other,) = (
        event for event in peer.events if event is not cancelled.request and type(event) is Request
    )
    assert isinstance(other, Request)
    other.succeed(ToolResult(()))
    assert [frame["id"] for frame in peer.frames()] == [2]


@pytest.mark.requirement("L006")
def test_a_batch_with_only_cancelled_calls_closes_its_stream() -> None:
    peer = Peer(BATCHES)
    peer.send([peer.request("tools/call", id=1, name="tool_0")], stream="post")
    peer.cancel(1)
    (outgoing,) = peer.outgoing()
    assert (outgoing.data, outgoing.stream, outgoing.is_last) == (b"", "post", True)


@pytest.mark.requirement("L006")
@pytest.mark.parametrize("size", [0, MAX_BATCH + 1])
def test_an_empty_or_oversized_batch_is_rejected(size: int) -> None:
    peer = Peer(BATCHES)
    frame = sole_error(peer, [peer.request("ping") for _ in range(size)])
    assert frame["error"]["code"] == -32600


@pytest.mark.requirement("L008")
@pytest.mark.parametrize("revision", OTHERS)
def test_other_revisions_reject_a_batch(revision: str) -> None:
    peer = Peer(revision)
    peer.send([peer.request("tools/list")], stream="post")
    (outgoing,) = peer.outgoing()
    assert b'"code":-32600' in outgoing.data
    assert (outgoing.is_last, outgoing.http_status) == (True, 400)


@pytest.mark.requirement("L010", "N019")
@pytest.mark.parametrize("revision", ALL)
def test_unknown_meta_keys_are_ignored(revision: str) -> None:
    peer = Peer(revision)
    meta = {
        "org.example/x": {"deep": [1]},
        "traceparent": "00-0-0-00",
        "modelcontextprotocol.io/y": 1,
    }
    call = peer.call(_meta=meta)
    call.succeed(ToolResult((Text("ok"),)))
    (frame,) = peer.frames()
    assert "org.example/x" not in frame["result"].get("_meta", {})
