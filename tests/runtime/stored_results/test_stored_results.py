"""Tests of long results: their head, link and summary, and the calls and resources for the rest."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import Coroutine
from types import SimpleNamespace
from typing import Any

import pytest

from mcpgen.runtime.process import log
from mcpgen.runtime.startup import http_start
from mcpgen.runtime.state.memory_store import MemoryStore
from mcpgen.runtime.stored_results.prepared import Preparer, StorageTerms
from mcpgen.runtime.tools.projection import Projection
from mcpgen.runtime.tools.result_shape import ResultShape
from mcpgen.runtime.tools.results import make_result
from mcpgen.runtime.upstream.response.redaction import NO_SECRETS
from mcpgen.testing.client.client import MODERN, RpcError
from tests.support.mcp_schemas import check_frame
from tests.support.stoppable_store import StoppableStore
from tests.support.stored_results import (
    LIMIT,
    PREFIX,
    SECRET,
    Shop,
    find_handle,
    find_link,
    follow,
    list_texts,
    serve_shop,
)

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", MODERN)
WITHOUT_LINKS = REVISIONS[:2]
MAX_BYTES = 4 * LIMIT
ORDERS = [{"id": number, "text": f"order {number} {'x' * 40}"} for number in range(300)]
PDF = bytes(range(256)) * 40
PNG = b"\x89PNG" + bytes(5_000)


def run(coroutine: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(60):
            await coroutine

    asyncio.run(bounded())


def read_json(result: dict[str, Any]) -> Any:
    return json.loads(result["content"][0]["text"])


def check_frames(revision: str, frames: list[Any]) -> None:
    for frame in frames:
        if "content" in frame.get("result", {}):
            check_frame(revision, frame, "tools/call")


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_rest_of_a_change_is_read_without_repeating_the_change(revision: str) -> None:
    async def scenario() -> None:
        shop = Shop.open(orders={"items": ORDERS, "total": 300})
        async with shop.client(revision) as client:
            result = await client.call_tool("create_report")
            results = await follow(client, result)
            items = read_json(results[0])["items"]
            for part in results[1:]:
                items += read_json(part)
            assert items == ORDERS
            for each in results:
                assert len(list_texts(each)[0].encode()) <= MAX_BYTES
            check_frames(revision, client.received)
        assert len(shop.api.requests) == 1

    run(scenario())


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_long_result_has_its_head_a_summary_and_a_link(revision: str) -> None:
    async def scenario() -> None:
        shop = Shop.open(orders={"items": ORDERS, "total": 300})
        async with shop.client(revision) as client:
            result = await client.call_tool("create_report")
        texts = list_texts(result)
        assert read_json(result)["total"] == 300
        note = next(it for it in texts if it.startswith("Stored for 30 minutes: "))
        shape = "{items: 300 x {id: integer, text: string}, total: integer}; 903 values, depth 3"
        assert shape in note
        handle = re.search(r'`read_result` \{"handle":"(create_report\.[\w-]{24})"\}', note)
        assert handle is not None
        uri = f"stored-shop:/results/{handle[1]}"
        if revision in WITHOUT_LINKS:
            assert texts[-1] == f"result of create_report: {uri}"
        else:
            size = len(json.dumps({"items": ORDERS, "total": 300}, separators=(",", ":")))
            assert find_link(result) == {
                "type": "resource_link",
                "uri": uri,
                "name": "result of create_report",
                "mimeType": "application/json",
                "size": size,
            }

    run(scenario())


def test_a_read_only_tool_names_the_stored_rest_and_then_its_next_page() -> None:
    async def scenario() -> None:
        shop = Shop.open(pages=ORDERS)
        async with shop.client() as client:
            result = await client.call_tool("list_pages", {"per_page": 300})
            calls = result["_meta"]["mcpgen/nextCalls"]
            assert [call["name"] for call in calls] == ["read_result", "list_pages"]
            assert calls[1]["arguments"] == {"page": 2, "per_page": 300}
            assert result["structuredContent"]["next_calls"] == calls
            results = await follow(client, result)
            shown = result["structuredContent"]["result"]
            assert sum([read_json(it) for it in results[1:]], shown) == ORDERS

    run(scenario())


def test_values_are_read_by_pointer_query_and_offset() -> None:
    value = {"items": ORDERS, "odd/~name": {"a b": [["x" * 9_000]]}}

    async def scenario() -> None:
        shop = Shop.open(orders=value)
        async with shop.client() as client:
            handle = find_handle(await client.call_tool("create_report"))

            async def read(**arguments: Any) -> dict[str, Any]:
                return await client.call_tool("read_result", {"handle": handle, **arguments})

            assert read_json(await read(pointer="/items/7")) == ORDERS[7]
            assert list_texts(await read(pointer="/items/7/text")) == [ORDERS[7]["text"]]
            assert read_json(await read(pointer="/items", offset=298)) == ORDERS[298:]
            assert read_json(await read(query="items[?id > `297`].id")) == [298, 299]
            assert read_json(await read(query="items[*].id", offset=297)) == [297, 298, 299]
            assert list_texts(await read(query="items[0].text", offset=8)) == ["x" * 40]
            odd = await read(query='{"q": "odd/~name"}')
            (call,) = odd["_meta"]["mcpgen/nextCalls"]
            shown = read_json(odd)["q"]["a b"][0][0]
            assert call["arguments"]["query"] == '{"q": "odd/~name"} | "q"."a b"[0][0]'
            rest = [list_texts(it)[0] for it in (await follow(client, odd))[1:]]
            assert shown + "".join(rest) == "x" * 9_000
            again = await follow(client, await read(pointer="/odd~1~0name"))
            shown = read_json(again[0])["a b"][0][0]
            assert shown + "".join(list_texts(it)[0] for it in again[1:]) == "x" * 9_000

    run(scenario())


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"pointer": "/absent"}, "has no `/absent`"),
        ({"pointer": "items"}, "has no `items`"),
        ({"pointer": "/items/300"}, "has no `/items/300`"),
        ({"pointer": "/items/07"}, "has no `/items/07`"),
        ({"pointer": "/items/-1"}, "has no `/items/-1`"),
        ({"pointer": "/items/0/id/x"}, "has no"),
        ({"pointer": "/items", "offset": 300}, "behind the end: the length is 300"),
        ({"pointer": "/total", "offset": 1}, "`offset` is for lists"),
        ({"offset": 10**9}, "behind the end"),
        ({"query": "items["}, "no JMESPath expression"),
        ({"query": "a", "pointer": ""}, "not both"),
        ({"offset": -1}, "/offset"),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_a_wrong_part_is_explained(arguments: dict[str, Any], problem: str) -> None:
    async def scenario() -> None:
        shop = Shop.open(orders={"items": ORDERS, "total": 300})
        async with shop.client() as client:
            handle = find_handle(await client.call_tool("create_report"))
            result = await client.call_tool("read_result", {"handle": handle, **arguments})
            assert result["isError"]
            assert problem in list_texts(result)[0]

    run(scenario())


def test_long_text_is_read_by_offset() -> None:
    text = "".join(f"line {number}: ä€𝄞\n" for number in range(2_000))

    async def scenario() -> None:
        shop = Shop.open(text=text)
        async with shop.client() as client:
            result = await client.call_tool("get_text")
            results = await follow(client, result)
            assert "".join(list_texts(it)[0] for it in results) == text
            assert find_link(result)["mimeType"] == "text/plain"
            handle = find_handle(result)
            middle = await client.call_tool("read_result", {"handle": handle, "offset": 17})
            assert text[17:].startswith(list_texts(middle)[0])
            wrong = await client.call_tool("read_result", {"handle": handle, "pointer": ""})
            assert "read it by `offset`" in list_texts(wrong)[0]
        assert len(shop.api.requests) == 1

    run(scenario())


@pytest.mark.parametrize("revision", REVISIONS)
def test_bytes_are_read_in_parts_whose_base64_can_be_joined(revision: str) -> None:
    async def scenario() -> None:
        shop = Shop.open(file=("application/pdf", PDF))
        async with shop.client(revision) as client:
            result = await client.call_tool("get_file")
            note = next(it for it in list_texts(result) if it.startswith("Stored for"))
            assert "10,240 bytes of application/pdf" in note
            assert "resource" not in {block["type"] for block in result["content"]}
            handle = json.loads(note.partition("`read_result` ")[2])["handle"]
            first = await client.call_tool("read_result", {"handle": handle})
            parts = [it["content"][0]["resource"] for it in await follow(client, first)]
            assert len(parts) > 3
            assert base64.b64decode("".join(it["blob"] for it in parts)) == PDF
            assert {it["mimeType"] for it in parts} == {"application/pdf"}
            check_frames(revision, client.received)

    run(scenario())


def test_images_are_shown_up_to_a_mebibyte() -> None:
    async def scenario() -> None:
        shop = Shop.open(image=("image/png", PNG))
        async with shop.client() as client:
            result = await client.call_tool("get_image")
            assert [block["type"] for block in result["content"]] == ["image"]
            shop.api.answers["/image"] = ("image/png", PNG + bytes(1024 * 1024))
            result = await client.call_tool("get_image")
            assert find_link(result)["size"] == len(PNG) + 1024 * 1024

    run(scenario())


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("kind", ["orders", "text", "file"])
def test_the_resource_is_read_in_parts_that_name_the_next(revision: str, kind: str) -> None:
    tool = {"orders": "create_report", "text": "get_text", "file": "get_file"}[kind]
    value = {"items": ORDERS, "ü": 1}

    async def scenario() -> None:
        shop = Shop.open(orders=value, text="täxt " * 3_000, file=("application/pdf", PDF))
        async with shop.client(revision) as client:
            note = list_texts(await client.call_tool(tool))
            handle = re.search(rf"{tool}\.[\w-]{{24}}", " ".join(note))
            assert handle is not None
            uri: str | None = f"stored-shop:/results/{handle[0]}"
            parts: list[dict[str, Any]] = []
            while uri is not None:
                result = await client.request("resources/read", {"uri": uri})
                check_frame(revision, client.received[-1], "resources/read")
                part, *more = result["contents"]
                assert part["uri"] == uri
                parts.append(part)
                uri = more[0]["uri"] if more else None
                assert not more or f"The next part is the resource {uri}" in more[0]["text"]
            assert len(parts) > 2
            if kind == "file":
                assert base64.b64decode("".join(it["blob"] for it in parts)) == PDF
            else:
                text = "".join(it["text"] for it in parts)
                assert text == "täxt " * 3_000 if kind == "text" else json.loads(text) == value
            if revision == MODERN:
                assert (result["ttlMs"], result["cacheScope"]) == (0, "private")

    run(scenario())


@pytest.mark.parametrize("revision", REVISIONS)
def test_an_unknown_resource_is_not_found(revision: str) -> None:
    async def scenario() -> None:
        shop = Shop.open(orders={"items": ORDERS})
        async with shop.client(revision) as client:
            handle = (
                find_handle(await client.call_tool("create_report"))
                if (revision not in WITHOUT_LINKS)
                else "create_report.x"
            )
            for uri in (
                "stored-shop:/results/create_report.AAAAAAAAAAAAAAAAAAAAAAAA",
                f"stored-shop:/results/{handle}?offset=999999999",
                "stored-shop:/elsewhere",
            ):
                with pytest.raises(RpcError) as raised:
                    await client.request("resources/read", {"uri": uri})
                assert raised.value.code == (-32602 if revision == MODERN else -32002)
                assert raised.value.data == {"uri": uri}

    run(scenario())


def test_no_template_is_listed_and_the_capability_is_declared() -> None:
    async def scenario() -> None:
        async with Shop.open().client() as client:
            found = await client.request("server/discover", {})
            assert found["capabilities"]["resources"] == {}
            listed = await client.request("resources/templates/list", {})
            assert listed["resourceTemplates"] == []

    run(scenario())


def test_what_is_stored_has_no_secrets_and_no_more_than_select_allows() -> None:
    items = [{"id": number, "text": f"{SECRET} {number}", "hidden": "h"} for number in range(300)]

    async def scenario() -> None:
        shop = Shop.open(orders={"items": items, "hidden": "h" * 5_000})
        registry: Any = shop.dispatcher.tools
        select = {"items": {"[]": {"id": {}, "text": {}}}}
        registry._projections["list_orders"] = Projection(select=select, max_items=5)
        store = registry.results._table._store
        async with shop.client() as client:
            result = await client.call_tool("list_orders")
            assert len(read_json(result)["items"]) == 5
            results = await follow(client, result)
            shown = sum([read_json(it) for it in results[1:]], read_json(result)["items"])
            assert shown == [{"id": number, "text": f"*** {number}"} for number in range(300)]
            stored = b"".join(
                entry.content
                for entry in store._entries.values()
                if isinstance(entry.content, bytes)
            )
            assert SECRET.encode() not in stored
            assert b"hidden" not in stored

    run(scenario())


def test_a_secret_in_text_and_bytes_is_masked_before_parts_are_cut() -> None:
    async def scenario() -> None:
        text = f"{SECRET} ä" * 900
        shop = Shop.open(text=text, file=("application/pdf", SECRET.encode() * 500))
        # The API has no credential for these operations, but the server knows the secret.
        async with shop.client() as client:
            results = await follow(client, await client.call_tool("get_text"))
            shown = "".join(list_texts(it)[0] for it in results)
            assert shown == text.replace(SECRET, "***")
            handle = find_handle(await client.call_tool("get_file"))
            first = await client.call_tool("read_result", {"handle": handle})
            parts = [it["content"][0]["resource"]["blob"] for it in await follow(client, first)]
            assert set(base64.b64decode("".join(parts))) == {ord("*")}

    run(scenario())


def test_an_expired_handle_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        shop = Shop.open(orders={"items": ORDERS}, text="long " * 3_000)
        table = shop.dispatcher.results._table  # type: ignore[union-attr]
        async with shop.client() as client:
            handles = [
                find_handle(await client.call_tool(tool)) for tool in ("get_text", "create_report")
            ]
            now = table._clock()
            monkeypatch.setattr(table, "_clock", lambda: now + 1_801)
            texts = []
            for handle in (*handles, "of nothing", "ä\n", "x." * 5_000):
                result = await client.call_tool("read_result", {"handle": handle})
                assert result["isError"]
                texts += list_texts(result)
            assert "after 30 minutes" in texts[0]
            assert texts[0].endswith("Call `get_text` again with the same arguments.")
            assert "`create_report` may change something: do not call it again" in texts[1]
            for text in texts[2:]:
                assert text.endswith("Call the tool that returned the handle again.")
                assert len(text) < 400

    run(scenario())


def test_without_room_or_a_store_a_result_is_cut_as_without_handles() -> None:
    lines: list[str] = []

    async def scenario() -> None:
        log.send_lines_to(lines.append)
        store = StoppableStore()
        shop = Shop.open(orders={"items": ORDERS}, pages=ORDERS, store=store)
        async with shop.client() as client:
            store.is_available = False
            result = await client.call_tool("list_pages")
            (rest, *_) = result["_meta"]["mcpgen/nextCalls"]
            assert (rest["name"], "continue_from" in rest["arguments"]) == ("list_pages", True)
            store.is_available = True
            stored = await client.call_tool("list_pages")
            assert stored["_meta"]["mcpgen/nextCalls"][0]["name"] == "read_result"
        small = {f"{PREFIX}MAX_STORED_BYTES": str(64 * 1024)}
        shop = Shop.open(small, orders={"items": ORDERS * 10})
        async with shop.client() as client:
            result = await client.call_tool("create_report")
            assert "The rest cannot be requested." in list_texts(result)[1]

    try:
        run(scenario())
    finally:
        log.send_lines_to(log.write_line)
    assert any("could not be stored: the test has stopped it" in line for line in lines)


def test_a_job_that_is_continued_without_its_caller_stores_nothing() -> None:
    async def scenario() -> None:
        registry: Any = Shop.open(orders={"items": ORDERS}).dispatcher.tools
        owner = SimpleNamespace(access=None, caller="", observation=None)
        kinds = []
        for state in (None, {"id": "of a job"}):
            context = SimpleNamespace(owner=owner, task=SimpleNamespace(resumed_state=state))
            result = await registry.call("create_report", {}, context)
            kinds.append({type(block).__name__ for block in result.content})
        assert kinds == [{"Text", "ResourceLink"}, {"Text"}]

    run(scenario())


def test_a_query_that_would_be_too_long_is_not_continued() -> None:
    async def scenario() -> None:
        async with Shop.open(orders={"items": ORDERS}).client() as client:
            handle = find_handle(await client.call_tool("create_report"))
            query = f"{{a: {{{'b' * 970}: items}}}}"
            result = await client.call_tool("read_result", {"handle": handle, "query": query})
            assert "The rest cannot be requested." in list_texts(result)[1]
            assert result["_meta"]["mcpgen/nextCalls"] == []

    run(scenario())


def test_an_unavailable_store_is_no_missing_resource() -> None:
    async def scenario() -> None:
        store = StoppableStore()
        async with Shop.open(orders={"items": ORDERS}, store=store).client() as client:
            handle = find_handle(await client.call_tool("create_report"))
            store.is_available = False
            with pytest.raises(RpcError, match="-32603: the test has stopped it"):
                await client.request("resources/read", {"uri": f"stored-shop:/results/{handle}"})
            result = await client.call_tool("read_result", {"handle": handle})
            assert (result["isError"], list_texts(result)) == (True, ["the test has stopped it"])
            store.is_available = True

    run(scenario())


def test_short_results_store_nothing() -> None:
    async def scenario() -> None:
        shop = Shop.open(orders={"items": ORDERS[:3]}, text="short", file=("application/pdf", b"x"))
        async with shop.client() as client:
            for tool in ("create_report", "get_text", "get_file"):
                result = await client.call_tool(tool)
                assert "mcpgen/nextCalls" not in result["_meta"]
                assert "resource_link" not in {block["type"] for block in result["content"]}
        store: Any = shop.dispatcher.results._table._store  # type: ignore[union-attr]
        assert not store._entries

    run(scenario())


def test_another_process_reads_what_one_has_stored() -> None:
    async def scenario() -> None:
        store = MemoryStore()
        one = Shop.open(orders={"items": ORDERS}, store=store)
        two = Shop.open(store=store)
        async with one.client() as client, two.client() as other:
            result = await client.call_tool("create_report")
            results = await follow(other, result)
            assert sum([read_json(it) for it in results[1:]], read_json(result)["items"]) == ORDERS
            assert not two.api.requests

    run(scenario())


def test_the_tool_is_listed_with_any_toolset() -> None:
    package = serve_shop().package
    try:
        package.list_toolsets(["default"])
        tools = package.definition.tools
        assert tools is not None
        assert "read_result" in tools.items
    finally:
        package.list_toolsets(["all"])


def test_a_stream_of_which_all_that_came_is_shown_is_not_stored() -> None:
    rest: Any = SimpleNamespace(arguments={}, place=(), list_page_calls=lambda **_: ())
    terms = StorageTerms("shop", "read_result", 1_000, 30)
    preparer = Preparer(terms, "events", NO_SECRETS)
    shape = ResultShape("GET /events")

    def show(value: Any, prepared: Any) -> Any:
        return make_result(value, shape, rest=rest, is_cut_off=True, prepared=prepared)

    preparer.prepare([1, 2], shape, show)
    assert preparer.prepared is None


def test_a_tool_behind_a_search_names_the_reader_directly() -> None:
    async def scenario() -> None:
        registry: Any = Shop.open(orders={"items": ORDERS}).dispatcher.tools
        owner = SimpleNamespace(access=None, caller="", observation=None)
        context = SimpleNamespace(owner=owner, task=SimpleNamespace(resumed_state=None))
        result = await registry.call("create_report", {}, context, through="call_tool")
        (call,) = result.meta["mcpgen/nextCalls"]
        assert call["name"] == "read_result"
        rest = await registry.call(call["name"], call["arguments"], context, through="call_tool")
        assert json.loads(rest.content[0].text)[0] == ORDERS[call["arguments"]["offset"]]

    run(scenario())


@pytest.mark.parametrize("is_shared", [True, False])
def test_processes_without_a_common_store_are_warned_of(
    is_shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    monkeypatch.setattr(http_start, "log", lambda level, text: lines.append(f"{level}: {text}"))
    assert http_start.check_keys(serve_shop().package, is_shared=is_shared) == []
    expected = "warning: STORED_SHOP_STATE_URL is not set: a long result can only be read"
    assert [line.startswith(expected) for line in lines] == ([True] if is_shared else [])
