"""Tests of arbitrary input in any order: responses match the schema and reach their client."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpgen.runtime.content import Completion, PromptMessage, PromptResult, Text, ToolResult
from mcpgen.runtime.errors import ProtocolError, ResourceNotFoundError, UnknownToolError
from mcpgen.runtime.handlers.context import Context
from mcpgen.runtime.handlers.dispatcher import Dispatcher
from mcpgen.runtime.handlers.features import Features
from mcpgen.runtime.protocol.prepared_list import PreparedList
from mcpgen.runtime.protocol.request import Request
from mcpgen.runtime.protocol.routing_headers import RoutingHeaders
from mcpgen.runtime.protocol.server import ServerProtocol
from mcpgen.runtime.protocol.server_definition import ServerDefinition
from mcpgen.runtime.protocol.versions import BY_NAME
from mcpgen.runtime.transports.memory import MemoryConnection
from tests.protocol.bookshelf import NoTools, connect
from tests.support.mcp_schemas import check_frame
from tests.support.protocol_client import (
    ALL,
    CAPABILITIES,
    LEGACY,
    MODERN,
    VERSION,
    Peer,
    definition,
)

ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4)
    ),
    max_leaves=12,
)
REFERENCE = {"type": "ref/prompt", "name": "review"}
RIGHT: dict[str, dict[str, Any]] = {
    "completion/complete": {"ref": REFERENCE, "argument": {"name": "code", "value": "x"}},
    "logging/setLevel": {"level": "debug"},
    "notifications/cancelled": {"requestId": 1},
    "prompts/get": {"name": "review", "arguments": {"code": "x"}},
    "resources/read": {"uri": "test://note/0"},
    "resources/subscribe": {"uri": "test://note/0"},
    "resources/unsubscribe": {"uri": "test://note/0"},
    "subscriptions/listen": {"notifications": {"toolsListChanged": True}},
    "tools/call": {"name": "tool_0", "arguments": {"text": "x"}},
}
METHODS = sorted(
    {method for revision in BY_NAME.values() for method in revision.request_methods}
    - {"initialize"}
    | {"notifications/cancelled", "notifications/initialized", "notifications/roots/list_changed"}
)


@st.composite
def messages(draw: st.DrawFn, revision: str) -> dict[str, Any]:
    """Draw a valid message of which up to two parts were replaced or removed."""
    method = draw(st.sampled_from(METHODS))
    meta: dict[str, Any] = {"progressToken": draw(st.sampled_from([1, "p"]))}
    if revision == MODERN:
        meta |= {VERSION: MODERN, CAPABILITIES: {}}
        meta["io.modelcontextprotocol/logLevel"] = "debug"
    params = {**copy.deepcopy(RIGHT.get(method, {})), "_meta": meta}
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
    if not method.startswith("notifications/"):
        message["id"] = draw(st.integers(1, 9))
    for _ in range(draw(st.integers(0, 2))):
        part, key = draw(st.sampled_from(list(parts_of(message))))
        if draw(st.booleans()):
            part[key] = draw(ANY_JSON)
        else:
            del part[key]
        if revision == MODERN:  # otherwise it would be a legacy message
            params = message.setdefault("params", {})
            message["params"] = params if isinstance(params, dict) else {}
            meta = message["params"].get("_meta")
            message["params"]["_meta"] = {VERSION: "", **(meta if isinstance(meta, dict) else {})}
    return message


def parts_of(node: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield every member of an object, at any depth."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield node, key
            yield from parts_of(value)


OUTCOMES = st.sampled_from(
    [
        ToolResult((Text("done"),)),
        PromptResult((PromptMessage("user", Text("hello")),)),
        Completion(("a", "b")),
        ProtocolError(-32602, "no"),
        ResourceNotFoundError("test://x"),
        UnknownToolError("x"),
        RuntimeError("broken"),
    ]
)


@pytest.mark.parametrize("revision", ALL)
@given(data=st.data())
def test_almost_valid_messages_produce_valid_frames(revision: str, data: st.DataObject) -> None:
    peer = Peer(revision)
    for message in data.draw(st.lists(messages(revision), min_size=1, max_size=6)):
        for event in peer.send(message):
            if isinstance(event, Request):
                finish(event, data.draw(OUTCOMES))
        for frame in peer.frames():
            assert ("result" in frame) + ("error" in frame) + ("method" in frame) == 1


def finish(call: Request, outcome: object) -> None:
    """Finish a call as a driver does; a result type of another method is a handler fault."""
    call.report_progress(1)
    call.log("info", {"x": 1})
    fits = {
        "tools/call": ToolResult,
        "prompts/get": PromptResult,
        "completion/complete": Completion,
    }
    if isinstance(outcome, Exception):
        call.fail(outcome)
    elif isinstance(outcome, fits.get(call.method, ())):
        call.succeed(outcome)


@pytest.mark.parametrize("revision", [*ALL, "none yet"])
@given(value=ANY_JSON, over_http=st.booleans())
def test_any_json_value_is_answered_with_an_error_or_ignored(
    revision: str, value: Any, over_http: bool
) -> None:
    protocol = ServerProtocol(definition()) if revision == "none yet" else Peer(revision).protocol
    protocol.receive(value, stream="post", headers=RoutingHeaders([]) if over_http else None)
    for outgoing in protocol.messages_to_send():
        answers = json.loads(outgoing.data) if outgoing.data else []
        for frame in answers if isinstance(answers, list) else [answers]:
            assert "error" in frame
            check_frame("2025-11-25" if revision == "none yet" else revision, frame)


@given(params=ANY_JSON | st.fixed_dictionaries({"protocolVersion": st.sampled_from(ALL)}))
def test_any_initialize_opens_a_legacy_session_or_is_refused(params: Any) -> None:
    protocol = ServerProtocol(definition())
    protocol.receive({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    (outgoing,) = protocol.messages_to_send()
    frame = json.loads(outgoing.data)
    if "result" in frame:
        version = frame["result"]["protocolVersion"]
        assert version in LEGACY
        check_frame(version, frame, "initialize")
    else:
        assert protocol.session is None


def mangled(data: bytes) -> st.SearchStrategy[bytes]:
    """Return a strategy that replaces a part of a message by arbitrary bytes."""
    return st.builds(
        lambda at, length, other: data[:at] + other + data[at + length :],
        st.integers(0, len(data)),
        st.integers(0, 20),
        st.binary(max_size=20),
    )


CALL = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"lend_book"}}'


@pytest.mark.requirement("L009", "N002")
@given(line=st.binary(max_size=200) | mangled(CALL))
def test_after_any_bytes_the_next_request_is_answered(line: bytes) -> None:
    async def story() -> None:
        connection = connect()
        await connection.send(line)
        await connection.send({"jsonrpc": "2.0", "id": "after", "method": "ping"})
        frames = []
        while not frames or frames[-1].get("id") != "after":
            frames.append(await asyncio.wait_for(connection.receive(), 5))
        await connection.close()
        assert frames[-1]["result"] == {}
        assert len(frames) <= 2
        for frame in frames[:-1]:
            check_frame("2025-11-25", frame, "tools/call")

    asyncio.run(story())


# -- many streams of one session -----------------------------------------------------------------

MOVES = st.lists(
    st.tuples(
        st.sampled_from(["call", "call", "finish", "progress", "cancel", "disconnect"]),
        st.integers(1, 6),
        st.sampled_from(["post 1", "post 2", "post 3"]),
    ),
    min_size=10,
    max_size=40,
)


@pytest.mark.requirement("L052", "L055", "L059", "N040", "N043")
@pytest.mark.parametrize("revision", ALL)
@given(moves=MOVES)
def test_messages_of_a_call_are_sent_on_its_own_stream(
    revision: str, moves: list[tuple[str, int, str]]
) -> None:
    peer = Peer(revision)
    calls: dict[int, Request] = {}
    streams: dict[int, str] = {}
    for move, number, stream in [*moves, *(("finish", number, "") for number in range(1, 7))]:
        match move:
            case "call" if number not in calls:
                meta = {"progressToken": number}
                calls[number] = peer.call(id=number, stream=stream, _meta=meta)
                streams[number] = stream
            case "progress" if number in calls:
                calls[number].report_progress(1)
            case "finish" if number in calls:
                calls.pop(number).succeed(ToolResult((Text(str(number)),)))
                assert number in said(peer, streams)
            case "cancel" if number in calls:
                peer.cancel(number)
                del calls[number]
            case "disconnect":
                ended = {event.request.id for event in peer.protocol.disconnect(stream)}
                gone = {it for it, call in calls.items() if call.stream == stream}
                assert ended == (gone if revision == MODERN else set())
                calls = {it: call for it, call in calls.items() if it not in ended}
        assert said(peer, streams) <= {number}
    assert len(peer.protocol.in_flight) == 0


def said(peer: Peer, streams: dict[int, str]) -> set[int]:
    """Return the calls that got messages, after checking the stream and the answer of each."""
    found = set()
    for outgoing in peer.outgoing():
        for frame in peer._decoded(outgoing):
            number = frame["params"]["progressToken"] if "method" in frame else frame["id"]
            assert outgoing.stream == streams[number]
            assert outgoing.is_last == ("result" in frame)
            if "result" in frame:
                assert frame["result"]["content"][0]["text"] == str(number)
            found.add(number)
    return found


# -- many clients --------------------------------------------------------------------------------


class Hall:
    """Several clients of one process, whose handlers finish when the test decides."""

    def __init__(self, revisions: list[str]) -> None:
        self.held: dict[str, asyncio.Future[None]] = {}
        self.features = features = Features()

        @features.tool()
        async def hold(ctx: Context, *, token: str) -> str:
            """Wait for the test."""
            self.held[token] = asyncio.get_running_loop().create_future()
            await self.held[token]
            return token

        @features.tool()
        async def ask(ctx: Context, *, token: str) -> str:
            """Ask who it is."""
            form = {"type": "object", "properties": {"who": {"type": "string"}}}
            answer = await ctx.elicit(token, form)
            return f"{answer.content['who']}"

        bare = ServerDefinition({"name": "hall", "version": "1"}, tools=PreparedList("tools", []))
        self.dispatcher = Dispatcher(NoTools(), features)
        served = features.extend(bare, [])
        self.guests = [
            Guest(number, revision, MemoryConnection(served, self.dispatcher))
            for number, revision in enumerate(revisions)
        ]


class Guest:
    """A client that remembers the token of each of its request ids."""

    def __init__(self, number: int, revision: str, connection: MemoryConnection) -> None:
        self.number = number
        self.revision = revision
        self.connection = connection
        self.calls = 0
        self.tokens: dict[int, str] = {}  # of requests that are not answered yet
        self.questions: list[dict[str, Any]] = []
        self.answered = 0

    async def open(self) -> None:
        if self.revision == MODERN:
            return
        params = {
            "protocolVersion": self.revision,
            "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "guest", "version": "1"},
        }
        await self.send({"id": 0, "method": "initialize", "params": params})
        self.connection._sent.get_nowait()
        await self.send({"method": "notifications/initialized"})

    async def send(self, message: dict[str, Any]) -> None:
        await self.connection.send({"jsonrpc": "2.0", **message})

    async def call(self, tool: str, id: int) -> None:
        self.calls += 1
        token = f"guest {self.number}, call {self.calls}"
        is_taken = id in self.tokens
        if not is_taken:
            self.tokens[id] = token
        params: dict[str, Any] = {"name": tool, "arguments": {"token": token}}
        if self.revision == MODERN:
            params["_meta"] = {VERSION: MODERN, CAPABILITIES: {"elicitation": {}}}
        await self.send({"id": id, "method": "tools/call", "params": params})
        if is_taken:
            refused = json.loads(self.connection._sent.get_nowait())
            assert (refused["id"], refused["error"]["code"]) == (id, -32600)

    async def cancel(self, id: int) -> None:
        await self.send({"method": "notifications/cancelled", "params": {"requestId": id}})
        token = self.tokens.pop(id, None)
        self.questions = [it for it in self.questions if it["params"]["message"] != token]

    async def answer(self) -> None:
        question = self.questions.pop(0)
        content = {"who": question["params"]["message"]}
        result = {"action": "accept", "content": content}
        await self.send({"id": question["id"], "result": result})

    def read(self) -> None:
        """Read all received frames, and check that each belongs to this client."""
        for frame in taken(self.connection):
            check_frame(self.revision, frame, "tools/call")
            if frame.get("method") == "elicitation/create":
                assert frame["params"]["message"] in self.tokens.values()
                self.questions.append(frame)
            elif "method" not in frame:
                token = self.tokens.pop(frame["id"])
                self.answered += 1
                if frame["result"].get("resultType") == "input_required":
                    ((_, asked),) = frame["result"]["inputRequests"].items()
                    assert asked["params"]["message"] == token
                else:
                    assert frame["result"]["content"][0]["text"] == token


def taken(connection: MemoryConnection) -> Iterator[dict[str, Any]]:
    while not connection._sent.empty():
        yield json.loads(connection._sent.get_nowait())


GUESTS = ["2025-06-18", "2025-11-25", MODERN, MODERN]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["hold", "ask", "ask", "cancel", "answer", "release"]),
        st.integers(0, len(GUESTS) - 1),
        st.integers(1, 3),
    ),
    min_size=10,
    max_size=40,
)


@pytest.mark.requirement("L028", "L030", "N011", "N012", "N075")
@given(steps=STEPS)
def test_responses_are_never_sent_to_another_client(steps: list[tuple[str, int, int]]) -> None:
    async def story() -> None:
        hall = Hall(GUESTS)
        for guest in hall.guests:
            await guest.open()
        for step, number, request_id in steps:
            guest = hall.guests[number]
            match step:
                case "hold" | "ask":
                    await guest.call(step, request_id)
                case "cancel":
                    await guest.cancel(request_id)
                case "answer" if guest.questions:
                    await guest.answer()
                case "release" if guest.tokens.get(request_id) in hall.held:
                    release(hall.held[guest.tokens[request_id]])
            await settle(hall)
        for guest in hall.guests:
            while guest.questions:
                await guest.answer()
        for held in hall.held.values():
            release(held)
        await settle(hall)
        assert [guest.tokens for guest in hall.guests] == [{}] * len(GUESTS)
        assert not hall.dispatcher.calls
        await hall.dispatcher.aclose()

    asyncio.run(story())


def release(held: asyncio.Future[None]) -> None:
    if not held.done():
        held.set_result(None)


async def settle(hall: Hall) -> None:
    """Let every task run as far as possible, and let every client read its frames."""
    for _ in range(6):
        await asyncio.sleep(0)
    for guest in hall.guests:
        guest.read()
