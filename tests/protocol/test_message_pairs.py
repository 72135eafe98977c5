"""Tests of requests and responses, and messages and reactions, word for word in each revision."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from mcpgen.runtime.protocol.messages import Change
from tests.protocol.bookshelf import COVER, connect
from tests.support.mcp_schemas import check_frame
from tests.support.protocol_client import ALL, CAPABILITIES, LEGACY, MODERN, VERSION

ENVELOPE = {"resultType", "ttlMs", "cacheScope", "_meta"}
ABLE = {"elicitation": {}, "roots": {"listChanged": True}, "sampling": {}}
Json = dict[str, Any]


class Talk:
    """A client that checks each received frame against the schema of its revision."""

    def __init__(self, revision: str, *, is_open: bool = True) -> None:
        self.revision = revision
        self.is_open = is_open
        self.connection = connect()
        self.methods: dict[Any, str] = {}

    async def __aenter__(self) -> Talk:
        if self.revision != MODERN and self.is_open:
            await self.ask("initialize", opening(self.revision), id=0)
            await self.send({"method": "notifications/initialized"})
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.connection.close()

    async def send(self, message: Json) -> None:
        if "id" in message and "method" in message:
            self.methods[message["id"]] = message["method"]
        await self.connection.send({"jsonrpc": "2.0", **message})

    async def next(self) -> Json:
        frame: Json = await asyncio.wait_for(self.connection.receive(), 5)
        check_frame(self.revision, frame, self.methods.get(frame.get("id"), ""))
        assert frame.pop("jsonrpc") == "2.0"
        return frame

    async def request(self, method: str, params: Json | None = None, id: Any = 1) -> None:
        message: Json = {"id": id, "method": method}
        params = dict(params or {})
        if self.revision == MODERN:
            mine = {VERSION: MODERN, CAPABILITIES: ABLE}
            params["_meta"] = mine | params.get("_meta", {})
        await self.send({**message, "params": params} if params else message)

    async def ask(self, method: str, params: Json | None = None, id: Any = 1) -> Json:
        await self.request(method, params, id)
        return await self.next()


def opening(revision: str) -> Json:
    return {
        "protocolVersion": revision,
        "capabilities": ABLE,
        "clientInfo": {"name": "pairs", "version": "1"},
    }


def talk(revision: str, story: Callable[[Talk], Awaitable[None]], *, is_open: bool = True) -> None:
    async def run() -> None:
        async with Talk(revision, is_open=is_open) as client:
            await story(client)

    asyncio.run(run())


@dataclass(frozen=True)
class Pair:
    """A request and its response: `result` without the modern envelope, or an error."""

    method: str
    params: Json | None
    result: Json | None = None
    code: int | None = None
    data: Any = None
    since: str = ALL[0]
    until: str = ALL[-1]


def text(said: str, **more: Any) -> Json:
    return {"content": [{"type": "text", "text": said}], **more}


PAIRS = {
    "ping": Pair("ping", None, {}, until="2025-11-25"),
    "ping is gone": Pair("ping", None, code=-32601, since=MODERN),
    "log level": Pair("logging/setLevel", {"level": "error"}, {}, until="2025-11-25"),
    "log level that is none": Pair(
        "logging/setLevel", {"level": "loud"}, code=-32602, until="2025-11-25"
    ),
    "call": Pair(
        "tools/call",
        {"name": "find_book", "arguments": {"title": "Moby-Dick"}},
        text("Moby-Dick is on shelf 3"),
    ),
    "call with a picture": Pair(
        "tools/call",
        {"name": "show_cover"},
        {
            "content": [
                {"type": "image", "data": b64encode(COVER).decode(), "mimeType": "image/png"}
            ]
        },
    ),
    "call with a resource": Pair(
        "tools/call",
        {"name": "open_book", "arguments": {}},
        {
            "content": [
                {
                    "type": "resource",
                    "resource": {
                        "uri": "book://3",
                        "mimeType": "text/plain",
                        "text": "Call me Ishmael.",
                    },
                }
            ]
        },
    ),
    "call that fails": Pair(
        "tools/call", {"name": "lend_book"}, text("somebody else has it", isError=True)
    ),
    "call of nothing": Pair("tools/call", {"name": "burn_book"}, code=-32602),
    "call without a name": Pair("tools/call", {"arguments": {}}, code=-32602),
    "call with too little, before": Pair(
        "tools/call", {"name": "find_book", "arguments": {}}, code=-32602, until="2025-06-18"
    ),
    "call with too little": Pair(
        "tools/call",
        {"name": "find_book", "arguments": {}},
        text("arguments of `find_book`: `/title` is required and was not given", isError=True),
        since="2025-11-25",
    ),
    "resources": Pair(
        "resources/list",
        None,
        {
            "resources": [
                {
                    "uri": "book://1",
                    "name": "first",
                    "description": "The first book.",
                    "mimeType": "text/plain",
                },
                {
                    "uri": "book://2",
                    "name": "second",
                    "description": "A book of pictures.",
                    "mimeType": "image/png",
                },
            ]
        },
    ),
    "templates": Pair(
        "resources/templates/list",
        None,
        {
            "resourceTemplates": [
                {
                    "uriTemplate": "shelf://{number}",
                    "name": "shelf",
                    "description": "A shelf by its number.",
                    "mimeType": "text/plain",
                }
            ]
        },
    ),
    "read text": Pair(
        "resources/read",
        {"uri": "book://1"},
        {
            "contents": [
                {"uri": "book://1", "mimeType": "text/plain", "text": "It was a dark night."}
            ]
        },
    ),
    "read bytes": Pair(
        "resources/read",
        {"uri": "book://2"},
        {
            "contents": [
                {
                    "uri": "book://2",
                    "mimeType": "image/png",
                    "blob": b64encode(COVER).decode(),
                }
            ]
        },
    ),
    "read by a template": Pair(
        "resources/read",
        {"uri": "shelf://7"},
        {"contents": [{"uri": "shelf://7", "mimeType": "text/plain", "text": "two books"}]},
    ),
    "read nothing, before": Pair(
        "resources/read",
        {"uri": "book://9"},
        code=-32002,
        data={"uri": "book://9"},
        until="2025-11-25",
    ),
    "read nothing": Pair(
        "resources/read",
        {"uri": "book://9"},
        code=-32602,
        data={"uri": "book://9"},
        since=MODERN,
    ),
    "read without a URI": Pair("resources/read", {}, code=-32602),
    "subscribe": Pair("resources/subscribe", {"uri": "book://1"}, {}, until="2025-11-25"),
    "unsubscribe": Pair("resources/unsubscribe", {"uri": "book://1"}, {}, until="2025-11-25"),
    "prompts": Pair(
        "prompts/list",
        None,
        {
            "prompts": [
                {
                    "name": "recommend",
                    "description": "Recommend a book.",
                    "arguments": [
                        {"name": "genre", "description": "What kind.", "required": True},
                        {"name": "mood", "required": False},
                    ],
                }
            ]
        },
    ),
    "prompt": Pair(
        "prompts/get",
        {"name": "recommend", "arguments": {"genre": "novel"}},
        {
            "description": "Recommend a book.",
            "messages": [
                {"role": "user", "content": {"type": "text", "text": "A good novel, please"}}
            ],
        },
    ),
    "prompt without its argument": Pair("prompts/get", {"name": "recommend"}, code=-32602),
    "prompt that is none": Pair("prompts/get", {"name": "scold"}, code=-32602),
    "completion": Pair(
        "completion/complete",
        {
            "ref": {"type": "ref/prompt", "name": "recommend"},
            "argument": {"name": "genre", "value": "po"},
        },
        {"completion": {"values": ["poetry"], "total": 1, "hasMore": False}},
    ),
    "completion of nothing": Pair(
        "completion/complete",
        {
            "ref": {"type": "ref/prompt", "name": "scold"},
            "argument": {"name": "genre", "value": "po"},
        },
        code=-32602,
    ),
    "cursor that is none": Pair("tools/list", {"cursor": "made up"}, code=-32602),
    "method that is none": Pair("books/burn", None, code=-32601),
    "exit is no method": Pair("exit", {}, code=-32601),
    "terminate is no method": Pair("terminate", {}, code=-32601),
}
CASES = [
    pytest.param(revision, pair, id=f"{revision}-{name}")
    for name, pair in PAIRS.items()
    for revision in ALL
    if pair.since <= revision <= pair.until
]


@pytest.mark.requirement("L002", "L003", "N002", "N003", "N004")
@pytest.mark.parametrize("id", [7, "seven"])
@pytest.mark.parametrize(("revision", "pair"), CASES)
def test_each_method_returns_the_expected_result_or_error(
    revision: str, pair: Pair, id: int | str
) -> None:
    async def story(client: Talk) -> None:
        answer = await client.ask(pair.method, pair.params, id)
        assert answer.pop("id") == id
        if pair.code is None:
            envelope = ENVELOPE if revision == MODERN else set()
            result = {k: it for k, it in answer["result"].items() if k not in envelope}
            if "tools/call" in pair.method:
                result = {"isError": False, **result}
                assert result == {"isError": False, **(pair.result or {})}
            else:
                assert result == pair.result
        else:
            assert answer["error"]["code"] == pair.code
            if pair.data is not None:
                assert answer["error"]["data"] == pair.data

    talk(revision, story)


@pytest.mark.requirement("L017", "L018", "L104", "L108")
@pytest.mark.parametrize("revision", LEGACY)
def test_initialize_is_answered_with_version_capabilities_and_name(revision: str) -> None:
    async def story(client: Talk) -> None:
        answer = await client.ask("initialize", opening(revision))
        completions = {} if revision == "2024-11-05" else {"completions": {}}
        assert answer["result"] == {
            "protocolVersion": revision,
            "capabilities": {
                "logging": {},
                "prompts": {"listChanged": True},
                "resources": {"subscribe": True, "listChanged": True},
                "tools": {"listChanged": True},
                **completions,
            },
            "serverInfo": {"name": "bookshelf", "version": "1"},
        }

    talk(revision, story, is_open=False)


@pytest.mark.requirement("L019", "L020", "L025")
@pytest.mark.parametrize("asked", ["1.0.0", "2099-01-01", MODERN])
def test_an_unknown_version_is_answered_with_the_newest_legacy_version(asked: str) -> None:
    async def story(client: Talk) -> None:
        answer = await client.ask("initialize", opening(asked))
        assert answer["result"]["protocolVersion"] == "2025-11-25"

    talk("2025-11-25", story, is_open=False)


@pytest.mark.requirement("L034", "L110", "N077", "N079")
@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize("token", ["token", 5])
def test_progress_and_logs_are_sent_before_the_result(revision: str, token: str | int) -> None:
    async def story(client: Talk) -> None:
        wanted = {"progressToken": token, "io.modelcontextprotocol/logLevel": "info"}
        await client.request("tools/call", {"name": "sort_shelf", "_meta": wanted})
        assert await client.next() == {
            "method": "notifications/progress",
            "params": {"progressToken": token, "progress": 1, "total": 2},
        }
        assert await client.next() == {
            "method": "notifications/message",
            "params": {"level": "notice", "logger": "shelf", "data": {"dust": True}},
        }
        assert (await client.next())["result"]["content"][0]["text"] == "sorted"

    talk(revision, story)


ASKED = {
    "ask_folders": (
        "roots/list",
        {"roots": [{"uri": "file:///books", "name": "Books"}]},
        "file:///books",
    ),
    "ask_model": (
        "sampling/createMessage",
        {
            "role": "assistant",
            "content": {"type": "text", "text": "This one."},
            "model": "m-1",
            "stopReason": "endTurn",
        },
        "m-1",
    ),
    "ask_reader": ("elicitation/create", {"action": "decline"}, "decline"),
}
MESSAGE = {"role": "user", "content": {"type": "text", "text": "Which one?"}}
FORM = {"message": "Which one?", "requestedSchema": {"type": "object", "properties": {}}}


@pytest.mark.requirement("L005", "L023", "N007", "N060")
@pytest.mark.parametrize(
    ("revision", "tool"),
    [
        (revision, tool)
        for revision in ALL
        for tool in ASKED
        if tool != "ask_reader" or revision >= "2025-06-18"  # before, there was no elicitation
    ],
)
def test_requests_to_the_client_have_the_expected_params_and_use_its_response(
    revision: str, tool: str
) -> None:
    method, answer, said = ASKED[tool]
    params: Json | None = {
        "ask_folders": None,
        "ask_model": {"messages": [MESSAGE], "maxTokens": 9},
        "ask_reader": FORM if revision == "2025-06-18" else {"mode": "form", **FORM},
    }[tool]

    async def story(client: Talk) -> None:
        asked = await client.ask("tools/call", {"name": tool})
        if revision == MODERN:
            ((key, question),) = asked["result"]["inputRequests"].items()
            again = {"name": tool, "inputResponses": {key: answer}}
            again["requestState"] = asked["result"]["requestState"]
            final = await client.ask("tools/call", again, id=2)
        else:
            question = {key: it for key, it in asked.items() if key != "id"}
            await client.send({"id": asked["id"], "result": answer})
            final = await client.next()
        assert question["method"] == method
        assert (question.get("params") or None) == params
        assert final["result"]["content"][0]["text"] == said

    talk(revision, story)


@pytest.mark.requirement("L026", "L029")
@pytest.mark.parametrize("revision", LEGACY)
def test_a_cancelled_request_is_not_answered_but_the_next_one_is(revision: str) -> None:
    async def story(client: Talk) -> None:
        asked = await client.ask("tools/call", {"name": "ask_folders"}, id="slow")
        assert asked["method"] == "roots/list"
        cancelled = {"requestId": "slow", "reason": "too slow"}
        await client.send({"method": "notifications/cancelled", "params": cancelled})
        await client.request("ping", id="next")
        frames = [await client.next()]
        while frames[-1].get("id") != "next":
            frames.append(await client.next())
        assert "slow" not in {frame.get("id") for frame in frames}

    talk(revision, story)


@pytest.mark.requirement("L074", "L089", "L097")
@pytest.mark.parametrize("revision", LEGACY)
def test_changes_are_sent_to_the_client_when_they_happen(revision: str) -> None:
    async def story(client: Talk) -> None:
        await client.ask("resources/subscribe", {"uri": "book://1"})
        dispatcher = client.connection._dispatcher
        told = {
            ("tools", ""): ("notifications/tools/list_changed", None),
            ("prompts", ""): ("notifications/prompts/list_changed", None),
            ("resources", ""): ("notifications/resources/list_changed", None),
            ("resource", "book://1"): ("notifications/resources/updated", {"uri": "book://1"}),
        }
        for (kind, uri), (method, params) in told.items():
            dispatcher.announce(Change(kind, uri))
            frame = await client.next()
            assert (frame["method"], frame.get("params") or None) == (method, params)
        dispatcher.announce(Change("resource", "book://2"))
        assert (await client.ask("ping"))["result"] == {}

    talk(revision, story)


@pytest.mark.requirement("L006", "L007", "L008")
@pytest.mark.parametrize("revision", LEGACY)
def test_a_batch_is_accepted_only_in_2025_03_26(revision: str) -> None:
    async def story(client: Talk) -> None:
        batch = [
            {"jsonrpc": "2.0", "id": 1, "method": "ping"},
            {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"},
            {"jsonrpc": "2.0", "id": 2, "method": "initialize", "params": opening(revision)},
            {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "lend_book"}},
        ]
        await client.connection.send(batch)
        answer = await asyncio.wait_for(client.connection.receive(), 5)
        if revision == "2025-03-26":
            by_id = {response["id"]: response for response in answer}
            assert by_id[1]["result"] == {}
            assert by_id[2]["error"]["code"] == -32600
            assert by_id[3]["result"]["isError"] is True
            assert len(answer) == 3
        else:
            assert answer["error"]["code"] == -32600

    talk(revision, story)
