"""Tests of stored results of several callers over HTTP: no caller reads those of another."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mcpgen.runtime.auth.access import Access
from mcpgen.runtime.auth.scopes import ScopeRules
from mcpgen.runtime.transports.http.exchange import HttpExchange
from mcpgen.runtime.transports.http.server import HttpServer
from mcpgen.testing.client.client import MODERN, Client, RpcError
from tests.support.http_server import make_app
from tests.support.stored_results import Shop, find_handle, list_texts, serve_shop

ORDERS = [{"id": number, "text": "x" * 40} for number in range(300)]
KEY_HEADER = "X-Shop-Key"
REVISIONS = ("2025-06-18", "2025-11-25", MODERN)


def run(coroutine: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(60):
            await coroutine

    asyncio.run(bounded())


@asynccontextmanager
async def serve_over_http(shop: Shop) -> AsyncIterator[str]:
    """Serve on a free port; the token `for-ann` belongs to the principal `ann`."""
    app = make_app(serve_shop().package, shop.dispatcher)
    answer = app.answer

    async def authorize_and_answer(exchange: HttpExchange) -> None:
        token = (exchange.text(b"authorization") or "").removeprefix("Bearer for-")
        if token:
            name, _, scopes = token.partition("+")
            exchange.access = Access(name, frozenset(scopes.split("+")), token)
        await answer(exchange)

    app.answer = authorize_and_answer  # type: ignore[method-assign]  # needs no issuer
    server = HttpServer(app)
    try:
        address = await server.listen("127.0.0.1", 0)
        yield f"http://{address}/mcp"
    finally:
        await server.stop(0)
        await shop.dispatcher.aclose()


async def refuse(client: Client, handle: str) -> tuple[str, str]:
    """Return the errors, of tool and resource, for a caller who may not read a result."""
    result = await client.call_tool("read_result", {"handle": handle, "pointer": ""})
    assert result["isError"]
    with pytest.raises(RpcError) as raised:
        await client.request("resources/read", {"uri": f"stored-shop:/results/{handle}"})
    return list_texts(result)[0], str(raised.value)


@pytest.mark.requirement("N135")
@pytest.mark.parametrize("revision", REVISIONS)
def test_a_handle_of_another_principal_is_as_unknown_as_any(revision: str) -> None:
    async def scenario() -> None:
        shop = Shop.open(orders={"items": ORDERS})
        async with serve_over_http(shop) as url:

            def client_of(user: str) -> Client:
                headers = {"Authorization": f"Bearer for-{user}"}
                return Client.over_http(url, revision=revision, headers=headers)

            async with client_of("ann") as ann, client_of("bob") as bob, client_of("ann") as again:
                handle = find_handle(await ann.call_tool("create_report"))
                for owner in (ann, again):
                    read = await owner.call_tool("read_result", {"handle": handle, "query": "[@]"})
                    assert not read.get("isError"), read
                    uri = f"stored-shop:/results/{handle}"
                    assert (await owner.request("resources/read", {"uri": uri}))["contents"]
                stranger = await refuse(bob, handle)
                invented = f"create_report.{'A' * 24}"
                unknown = await refuse(bob, invented)
                assert [it.replace(handle, invented) for it in stranger] == list(unknown)
            async with Client.over_http(url, revision=revision) as nobody:
                assert await refuse(nobody, handle) == stranger

    run(scenario())


def test_callers_with_credentials_of_their_own_are_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        sources = {"key": {"from": "header", "header": KEY_HEADER}}
        monkeypatch.setitem(serve_shop().package.contract, "credentials", sources)
        shop = Shop.open(orders={"items": ORDERS})
        async with serve_over_http(shop) as url:
            ann, bob = (
                Client.over_http(url, revision=MODERN, headers={KEY_HEADER: f"key-of-{user}"})
                for user in ("ann", "bob")
            )
            async with ann, bob:
                handle = find_handle(await ann.call_tool("list_orders"))
                read = await ann.call_tool("read_result", {"handle": handle})
                assert not read.get("isError"), read
                await refuse(bob, handle)

    run(scenario())


def test_a_caller_who_lost_the_scope_of_a_tool_cannot_read_its_results() -> None:
    async def scenario() -> None:
        shop = Shop.open(orders={"items": ORDERS})
        registry: Any = shop.dispatcher.tools
        registry._scopes = ScopeRules((), {"create_report": frozenset({"write"})}, None)
        async with serve_over_http(shop) as url:

            def client_of(token: str) -> Client:
                headers = {"Authorization": f"Bearer for-{token}"}
                return Client.over_http(url, revision=MODERN, headers=headers)

            async with client_of("ann+write") as full, client_of("ann+read") as narrow:
                handle = find_handle(await full.call_tool("create_report"))
                assert not (await full.call_tool("read_result", {"handle": handle})).get("isError")
                told = await refuse(narrow, handle)
                assert all("lacks the scope `write`" in text for text in told)

    run(scenario())


def test_a_flood_of_one_caller_leaves_the_results_of_another() -> None:
    async def scenario() -> None:
        shop = Shop.open(
            {"STORED_SHOP_MAX_STORED_BYTES": str(128 * 1024)}, orders={"items": ORDERS}
        )
        store: Any = shop.dispatcher.results._table._store  # type: ignore[union-attr]
        async with serve_over_http(shop) as url:
            ann = Client.over_http(url, headers={"Authorization": "Bearer for-ann"})
            mallory = Client.over_http(url, headers={"Authorization": "Bearer for-mallory"})
            async with ann, mallory:
                handle = find_handle(await ann.call_tool("create_report"))
                sizes = []
                for _ in range(200):
                    await mallory.call_tool("create_report")
                    sizes.append(store._size)
                assert max(sizes) < 70 * 1024  # a quarter for each, and the index
                result = await ann.call_tool("read_result", {"handle": handle, "query": "items"})
                assert json.loads(list_texts(result)[0])[0] == ORDERS[0]

    run(scenario())
