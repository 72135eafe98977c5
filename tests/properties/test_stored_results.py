"""Properties of stored results: their parts make up the whole result, each part exactly once."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mcpgen.runtime.protocol.jsonrpc import encode_json
from mcpgen.runtime.stored_results.query import evaluate
from mcpgen.testing.client.client import Client
from mcpgen.text.invisible import visible
from mcpgen.text.json_pointer import json_pointer, pointer_tokens
from tests.support.stored_results import PREFIX, Shop, find_handle, follow, list_texts

LIMIT = {f"{PREFIX}MAX_RESULT_TOKENS": "250"}  # the lowest: 1,000 bytes
# No invisible characters, which no message contains; quotes and escapes change sizes.
LETTERS = st.characters(codec="utf-8", categories=["L", "N", "P", "S"]).filter(
    lambda it: it != "\ufffd" and visible(it) == (it, 0)  # four letters are invisible
)
TEXTS = st.text(LETTERS, max_size=30) | st.builds(
    lambda text, times: text * times, st.text(LETTERS, min_size=1, max_size=9), st.integers(1, 300)
)
NUMBERS = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=40)
        | st.dictionaries(st.text(LETTERS, max_size=12), inner, max_size=20)
    ),
    max_leaves=60,
)
OBJECTS = st.dictionaries(st.text(LETTERS, min_size=1, max_size=9), VALUES, min_size=1, max_size=8)
Scenario = Callable[[Client], Awaitable[None]]


def run(scenario: Scenario, **answers: Any) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(120), Shop.open(LIMIT, **answers).client() as client:
            await scenario(client)

    asyncio.run(bounded())


async def store(client: Client, tool: str) -> str:
    """Call a tool with a long result; return the handle of the result."""
    result = await client.call_tool(tool)
    links = [block for block in result["content"] if block["type"] == "resource_link"]
    assume(links)  # a short one is not stored
    return find_handle(result)


class Reader:
    """A client that reads a value with all of its truncated parts."""

    def __init__(self, client: Client, value: Any) -> None:
        self.client, self.value, self.calls = client, value, 0

    def find(self, pointer: str) -> Any:
        value = self.value
        for token in pointer_tokens(pointer):
            value = value[token] if isinstance(value, dict) else value[int(token)]
        return value

    async def read(self, arguments: dict[str, Any]) -> Any:
        """Return the result of a call, completed by the calls that it names."""
        self.calls += 1
        assert self.calls < 5_000, "the calls go in a circle"
        result = await self.client.call_tool("read_result", arguments)
        assert not result.get("isError"), result
        text = list_texts(result)[0]
        is_text = isinstance(self.find(arguments["pointer"]), str)
        shown = text if is_text else json.loads(text)
        holder, base = [shown], pointer_tokens(arguments["pointer"])
        for call in result["_meta"].get("mcpgen/nextCalls", []):
            following = call["arguments"]
            place: list[Any] = [0, *pointer_tokens(following["pointer"])[len(base) :]]
            if len(place) > 1 and isinstance(shown, list):
                place[1] = int(place[1]) - arguments.get("offset", 0)
            await self.complete(holder, place, following, arguments)
        return holder[0]

    async def complete(
        self, holder: Any, place: list[Any], following: dict[str, Any], before: dict[str, Any]
    ) -> None:
        """Append what a call returns to the part that was truncated."""
        for token in place[:-1]:
            holder = holder[token if isinstance(holder, dict) else int(token)]
        key = place[-1] if isinstance(holder, dict) else int(place[-1])
        skipped = before.get("offset", 0) if len(place) == 1 else 0
        part = holder[key]
        assert following["offset"] == skipped + len(part)  # the next one, and none twice
        rest = await self.read(following)
        holder[key] = {**part, **rest} if isinstance(part, dict) else part + rest


@settings(max_examples=30, deadline=None)
@given(OBJECTS)
def test_the_calls_of_a_cut_result_return_each_part_once(value: dict[str, Any]) -> None:
    async def scenario(client: Client) -> None:
        handle = await store(client, "create_report")
        whole = await Reader(client, value).read({"handle": handle, "pointer": ""})
        assert whole == value
        assert encode_json(whole) == encode_json(value)  # also the order, and 1 against 1.0

    run(scenario, orders=value)


@settings(max_examples=20, deadline=None)
@given(OBJECTS, st.data())
def test_a_pointer_and_a_query_read_the_value_of_the_original(
    value: dict[str, Any], data: st.DataObject
) -> None:
    value["long"] = ["x" * 99] * 20

    async def scenario(client: Client) -> None:
        handle = await store(client, "create_report")
        found, place = value, list[str | int]()
        while isinstance(found, dict | list) and found and data.draw(st.booleans()):
            place.append(
                data.draw(
                    st.sampled_from([*found] if isinstance(found, dict) else range(len(found)))
                )
            )
            found = found[place[-1]]
        pointer = json_pointer(place)
        read = await Reader(client, value).read({"handle": handle, "pointer": pointer})
        assert encode_json(read) == encode_json(found)
        steps = [f"[{it}]" if isinstance(it, int) else f".{json.dumps(it)}" for it in place]
        query = "".join(steps).removeprefix(".") or "@"
        assume(len(query) < 900)
        result = await client.call_tool("read_result", {"handle": handle, "query": query})
        assert not result.get("isError"), result
        if "mcpgen/nextCalls" not in result["_meta"]:
            text = list_texts(result)[0]
            answered = text if isinstance(found, str) else json.loads(text)
            assert encode_json(answered) == encode_json(found)
        for call in result["_meta"].get("mcpgen/nextCalls", []):
            rest = await client.call_tool("read_result", call["arguments"])
            selected, offset = (
                evaluate(call["arguments"]["query"], value),
                call["arguments"]["offset"],
            )
            text = list_texts(rest)[0]
            if isinstance(selected, str):
                assert selected[offset:].startswith(text)
            elif isinstance(selected, list):
                first = json.loads(text)[0]
                assert isinstance(first, dict | list | str) or first == selected[offset]
            else:
                assert next(iter(json.loads(text))) == list(selected)[offset]

    run(scenario, orders=value)


@settings(max_examples=20, deadline=None)
@given(OBJECTS)
def test_reading_by_offset_yields_the_whole_text_once(value: dict[str, Any]) -> None:
    async def scenario(client: Client) -> None:
        handle = await store(client, "create_report")
        first = await client.call_tool("read_result", {"handle": handle})
        parts = [list_texts(it)[0] for it in await follow(client, first)]
        stored = "".join(parts)
        assert encode_json(json.loads(stored)) == encode_json(value)
        assert all(len(part.encode()) <= 1_000 for part in parts)
        read, uri = "", f"stored-shop:/results/{handle}"
        while uri:
            part, *more = (await client.request("resources/read", {"uri": uri}))["contents"]
            read += part["text"]
            uri = more[0]["uri"] if more else ""
        assert read == stored

    run(scenario, orders=value)


@settings(max_examples=30, deadline=None)
@given(st.text(LETTERS, min_size=1, max_size=50), st.integers(1, 300), st.integers(0, 5_000))
def test_text_from_any_offset_goes_on_to_its_end(text: str, times: int, offset: int) -> None:
    whole = text * times

    async def scenario(client: Client) -> None:
        handle = await store(client, "get_text")
        assume(offset < len(whole))
        first = await client.call_tool("read_result", {"handle": handle, "offset": offset})
        assert "".join(list_texts(it)[0] for it in await follow(client, first)) == whole[offset:]

    run(scenario, text=whole)


@settings(max_examples=30, deadline=None)
@given(st.binary(min_size=1, max_size=50), st.integers(20, 200), st.integers(0, 3_000))
def test_bytes_from_any_offset_go_on_to_their_end(data: bytes, times: int, offset: int) -> None:
    whole = b"%PDF" + bytes(750) + data * times

    async def scenario(client: Client) -> None:
        handle = await store(client, "get_file")
        assume(offset < len(whole))
        first = await client.call_tool("read_result", {"handle": handle, "offset": offset})
        results = await follow(client, first)
        parts = [it["content"][0]["resource"]["blob"] for it in results]
        assert b"".join(map(base64.b64decode, parts)) == whole[offset:]
        assert all(len(part) <= 1_000 for part in parts)

    run(scenario, file=("application/pdf", whole))


def test_a_text_of_9400_characters_is_read_in_13_parts() -> None:
    """Checks that the properties above are not trivial: of 1,000 bytes, 250 are for notes."""

    async def scenario(client: Client) -> None:
        handle = find_handle(await client.call_tool("get_text"))
        first = await client.call_tool("read_result", {"handle": handle})
        assert len(await follow(client, first)) == 13

    run(scenario, text="x" * 9_400)
