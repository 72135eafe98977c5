"""Tests of arbitrary messages from any client: no crash, no mix-up, no invalid frame."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mcpgen.runtime.content import (
    Audio,
    Completion,
    PromptMessage,
    PromptResult,
    ResourceContents,
    ResourceResult,
    Text,
    ToolResult,
)
from mcpgen.runtime.protocol.messages import Change
from mcpgen.runtime.protocol.request import Request
from mcpgen.runtime.protocol.routing_headers import RoutingHeaders
from mcpgen.runtime.protocol.server import ServerProtocol
from mcpgen.runtime.transports.json_input import UndecodableError, decode_cold, make_hot_decoder
from tests.support.protocol_client import ALL, CAPABILITIES, MODERN, VERSION, Peer, definition

RESULTS: dict[str, Any] = {
    "tools/call": ToolResult((Text("x"), Audio(b"x", "audio/wav")), {"x": 1}),
    "prompts/get": PromptResult((PromptMessage("user", Text("x")),)),
    "resources/read": ResourceResult((ResourceContents("test://x", text="x"),)),
    "completion/complete": Completion(("x",)),
}
METHODS = sorted(
    {
        *RESULTS,
        "initialize",
        "logging/setLevel",
        "no/such",
        "notifications/cancelled",
        "notifications/initialized",
        "ping",
        "prompts/list",
        "resources/list",
        "resources/subscribe",
        "resources/templates/list",
        "resources/unsubscribe",
        "server/discover",
        "subscriptions/listen",
        "tools/list",
    }
)
leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
ids = st.sampled_from([0, 1, 2, "1", "a", ""])
metas = st.fixed_dictionaries(
    {},
    optional={
        VERSION: st.sampled_from([*ALL, "2099-01-01"]) | values,
        CAPABILITIES: st.just({}) | values,
        "progressToken": ids | values,
        "io.modelcontextprotocol/logLevel": st.sampled_from(["debug", "error", "x"]) | values,
    },
)
params = st.fixed_dictionaries(
    {},
    optional={
        "_meta": metas | values,
        "name": st.sampled_from(["tool_0", "review", "x"]) | values,
        "arguments": st.sampled_from([{}, {"code": "x"}]) | values,
        "uri": st.sampled_from(["test://note/1", "test://page/1", "x"]) | values,
        "cursor": values,
        "level": st.sampled_from(["info", "x"]) | values,
        "notifications": st.just({"toolsListChanged": True}) | values,
        "protocolVersion": st.sampled_from(ALL) | values,
        "capabilities": values,
        "ref": st.just({"type": "ref/prompt", "name": "review"}) | values,
        "argument": st.just({"name": "code", "value": "x"}) | values,
        "requestId": ids | values,
        "inputResponses": values,
        "requestState": values,
    },
)
messages = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | values,
        "id": ids | values,
        "method": st.sampled_from(METHODS) | values,
        "params": params | values,
        "result": values,
        "error": values,
    },
)
well_formed = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "method": st.sampled_from(METHODS), "params": params},
    optional={"id": ids},
)
anything = values | messages | well_formed | st.lists(messages | well_formed, max_size=3)


def frames_of(protocol: ServerProtocol) -> list[Any]:
    found = []
    for outgoing in protocol.messages_to_send():
        assert outgoing.data or outgoing.is_last
        if outgoing.data:
            decoded = json.loads(outgoing.data)
            found += decoded if isinstance(decoded, list) else [decoded]
    return found


@settings(max_examples=300)
@given(st.lists(anything, max_size=12), st.sampled_from([None, RoutingHeaders([])]))
def test_no_message_crashes_the_core_or_produces_invalid_json(
    sent: list[Any], headers: Any
) -> None:
    protocol = ServerProtocol(definition())
    for message in sent:
        for event in protocol.receive(message, headers=headers):
            if isinstance(event, Request):
                event.succeed(RESULTS[event.method])
        for frame in frames_of(protocol):
            assert frame["jsonrpc"] == "2.0"
            assert "id" not in frame or frame["id"] is not None
            assert ("result" in frame) + ("error" in frame) + ("method" in frame) == 1


@settings(max_examples=200)
@given(st.sampled_from(ALL), st.lists(well_formed, max_size=8))
def test_every_frame_is_valid_in_its_revision(revision: str, sent: list[dict[str, Any]]) -> None:
    peer = Peer(revision)
    for message in sent:
        if message["method"] == "initialize":
            continue  # it may change the revision
        if revision == MODERN:
            meta = {VERSION: MODERN, CAPABILITIES: {}}
            message = message | {"params": message["params"] | {"_meta": meta}}
        elif isinstance(message["params"].get("_meta"), dict):
            message["params"]["_meta"].pop(VERSION, None)
        for event in peer.send(message):
            if isinstance(event, Request):
                event.report_progress(1)
                event.succeed(RESULTS[event.method])
        peer.protocol.announce(Change("tools"))
        peer.frames()


@settings(max_examples=100)
@given(st.data())
def test_clients_with_the_same_ids_do_not_receive_responses_of_each_other(
    data: st.DataObject,
) -> None:
    peers = [Peer(data.draw(st.sampled_from(ALL))) for _ in range(4)]
    waiting: list[tuple[int, Request]] = []
    expected: Counter[tuple[int, str]] = Counter()
    for _ in range(data.draw(st.integers(1, 25))):
        number = data.draw(st.integers(0, 3))
        peer = peers[number]
        action = data.draw(st.sampled_from(["call", "answer", "cancel"]))
        if action == "call":
            mark = data.draw(st.integers(0, 5))
            if any(who == number and call.id == mark for who, call in waiting):
                continue
            waiting.append((number, peer.call(id=mark)))
        elif waiting:
            who, call = waiting.pop(data.draw(st.integers(0, len(waiting) - 1)))
            if action == "answer":
                call.succeed(ToolResult((Text(f"{who}/{call.id}"),)))
                expected[who, f"{who}/{call.id}"] += 1
            else:
                peers[who].cancel(call.id)
    heard = Counter(
        (number, frame["result"]["content"][0]["text"])
        for number, peer in enumerate(peers)
        for frame in peer.frames()
    )
    assert heard == expected


@settings(max_examples=300)
@given(st.binary(max_size=200) | values.map(lambda value: json.dumps(value).encode()))
def test_both_decoders_accept_and_reject_the_same_bytes(data: bytes) -> None:
    found = []
    for decode in (decode_cold, make_hot_decoder()):
        try:
            found.append(json.dumps(decode(data)))
        except UndecodableError:
            found.append("refused")
    assert found[0] == found[1]
