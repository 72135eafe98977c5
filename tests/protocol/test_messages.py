"""JSON-RPC as MCP narrows it: envelopes, ids, errors, notifications, batches."""

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
def test_a_message_of_another_json_rpc_is_refused_under_its_id(
    revision: str, version: object
) -> None:
    peer = Peer(revision)
    frame = sole_error(peer, peer.request("tools/list", id=5) | {"jsonrpc": version})
    assert frame["error"]["code"] == -32600
    assert frame["id"] == 5


@pytest.mark.requirement("L002", "N002")
@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize("id", [None, True, 1.5, [1], {}], ids=repr)
def test_an_id_that_mcp_does_not_allow_is_refused_without_an_id(revision: str, id: Any) -> None:
    peer = Peer(revision)
    frame = sole_error(peer, peer.request("tools/list", id=1) | {"id": id})
    assert frame["error"]["code"] == -32600
    assert "id" not in frame


def test_an_id_written_as_a_whole_float_is_an_integer() -> None:
    peer = Peer(MODERN)
    frame = sole_error(peer, peer.request("no/such/method", id=3.0))
    assert frame["id"] == 3


@pytest.mark.requirement("L002", "N002")
@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize("message", ["text", 7, None, True, {}, {"jsonrpc": "2.0"}], ids=repr)
def test_what_is_no_message_is_refused_without_an_id(revision: str, message: object) -> None:
    frame = sole_error(Peer(revision), message)
    assert frame["error"]["code"] == -32600
    assert "id" not in frame


@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize("method", [None, 7, ["tools/list"]], ids=repr)
def test_a_method_that_is_no_string_is_refused_under_its_id(revision: str, method: object) -> None:
    frame = sole_error(Peer(revision), {"jsonrpc": "2.0", "id": 4, "method": method})
    assert frame["error"]["code"] == -32600
    assert frame["id"] == 4


@pytest.mark.parametrize("revision", LEGACY)
@pytest.mark.parametrize("params", [[1], "x", 7, True], ids=repr)
def test_params_that_are_no_object_are_refused_under_the_id(revision: str, params: object) -> None:
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
def test_an_id_that_is_in_flight_is_refused_and_the_first_call_goes_on(revision: str) -> None:
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
def test_an_id_can_be_used_again_once_it_is_answered(revision: str) -> None:
    peer = Peer(revision)
    for _ in range(3):
        peer.call(id=1).succeed(ToolResult(()))
        assert len(peer.frames()) == 1


@pytest.mark.parametrize("revision", ALL)
def test_a_call_is_answered_once_whatever_its_handler_does(revision: str) -> None:
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
def test_a_result_that_is_no_json_leaves_the_call_to_be_failed(
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
def test_an_internal_error_tells_nothing_of_the_exception(revision: str) -> None:
    peer = Peer(revision)
    peer.call().fail(RuntimeError("password=hunter2 in /srv/app.py"), "ab12")
    (outgoing,) = peer.outgoing()
    assert b"hunter2" not in outgoing.data
    assert b"app.py" not in outgoing.data
    assert b'"code":-32603' in outgoing.data
    assert b'"correlationId":"ab12"' in outgoing.data
    assert outgoing.http_status == 200


@pytest.mark.requirement("L006")
def test_a_batch_is_answered_in_one_array_when_all_of_it_is_done() -> None:
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
def test_what_a_batched_call_says_before_its_answer_goes_out_at_once() -> None:
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
def test_an_element_that_is_no_message_gets_an_error_of_its_own(element: Any) -> None:
    peer = Peer(BATCHES)
    peer.send([element, peer.request("ping", id=1)])
    (outgoing,) = peer.outgoing()
    error, answer = peer._decoded(outgoing)
    assert error["error"]["code"] == -32600
    assert answer == {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.requirement("L007")
def test_initialize_in_a_batch_is_refused() -> None:
    peer = Peer(BATCHES)
    session = peer.protocol.session
    peer.send([peer.request("initialize", id=1, protocolVersion="2025-06-18", capabilities={})])
    (error,) = peer.frames()
    assert error["id"] == 1
    assert error["error"]["code"] == -32600
    assert peer.protocol.session is session


@pytest.mark.requirement("L006")
def test_a_modern_request_in_a_batch_is_refused() -> None:
    peer = Peer(BATCHES)
    peer.send([Peer(MODERN).request("tools/list", id=1)])
    (error,) = peer.frames()
    assert error["error"]["code"] == -32600


@pytest.mark.requirement("L006")
def test_a_cancelled_element_is_left_out_of_the_array() -> None:
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
def test_a_batch_whose_calls_are_all_cancelled_only_ends_its_stream() -> None:
    peer = Peer(BATCHES)
    peer.send([peer.request("tools/call", id=1, name="tool_0")], stream="post")
    peer.cancel(1)
    (outgoing,) = peer.outgoing()
    assert (outgoing.data, outgoing.stream, outgoing.is_last) == (b"", "post", True)


@pytest.mark.requirement("L006")
@pytest.mark.parametrize("size", [0, MAX_BATCH + 1])
def test_a_batch_of_no_or_too_many_elements_is_refused_whole(size: int) -> None:
    peer = Peer(BATCHES)
    frame = sole_error(peer, [peer.request("ping") for _ in range(size)])
    assert frame["error"]["code"] == -32600


@pytest.mark.requirement("L008")
@pytest.mark.parametrize("revision", OTHERS)
def test_a_batch_is_refused_by_every_other_revision(revision: str) -> None:
    peer = Peer(revision)
    peer.send([peer.request("tools/list")], stream="post")
    (outgoing,) = peer.outgoing()
    assert b'"code":-32600' in outgoing.data
    assert (outgoing.is_last, outgoing.http_status) == (True, 400)


@pytest.mark.requirement("L010", "N019")
@pytest.mark.parametrize("revision", ALL)
def test_meta_keys_of_strangers_make_no_difference(revision: str) -> None:
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
