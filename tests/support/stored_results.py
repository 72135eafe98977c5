"""A shop with stored results, in this process, whose API responses the test provides."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from mcpgen.runtime.auth.access import Access
from mcpgen.runtime.handlers.dispatcher import Dispatcher
from mcpgen.runtime.state.store import Store
from mcpgen.runtime.transports.memory import MemoryConnection
from mcpgen.runtime.upstream.http.messages import HttpRequest, HttpResponse
from mcpgen.testing.client.client import MODERN, Client
from tests.wire.served import Served, serve

PREFIX = "STORED_SHOP_"
LIMIT = 1_000  # tokens
SECRET = "key-of-the-operator"
ENVIRON = {f"{PREFIX}MAX_RESULT_TOKENS": str(LIMIT), f"{PREFIX}KEY": SECRET}
ORDER = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "text": {"type": "string"}},
}
ORDERS = {"type": "object", "properties": {"items": {"type": "array", "items": ORDER}}}


def _answer(media_type: str, schema: Any) -> dict[str, Any]:
    return {"200": {"description": "ok", "content": {media_type: {"schema": schema}}}}


def make_document() -> dict[str, Any]:
    text, file = {"type": "string"}, {"type": "string", "format": "binary"}
    keyed: dict[str, Any] = {"security": [{"key": []}]}
    pages = [
        {"name": "page", "in": "query", "schema": {"type": "integer", "default": 1}},
        {"name": "per_page", "in": "query", "schema": {"type": "integer"}},
    ]
    paths = {
        "/orders": {
            "get": {
                "operationId": "listOrders",
                "responses": _answer("application/json", ORDERS),
                **keyed,
            },
            "post": {
                "operationId": "createReport",
                "responses": _answer("application/json", {"type": "object"}),
            },
        },
        "/pages": {
            "get": {
                "operationId": "listPages",
                "parameters": pages,
                "responses": _answer("application/json", {"type": "array", "items": ORDER}),
            }
        },
        "/text": {"get": {"operationId": "getText", "responses": _answer("text/plain", text)}},
        "/file": {"get": {"operationId": "getFile", "responses": _answer("application/pdf", file)}},
        "/image": {"get": {"operationId": "getImage", "responses": _answer("image/png", file)}},
    }
    return {
        "openapi": "3.0.3",
        "info": {"title": "Shop", "version": "1"},
        "servers": [{"url": "https://shop.example"}],
        "components": {
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}
        },
        "paths": paths,
    }


@cache
def serve_shop() -> Served:
    """Generate and import the package, once for all tests of a process."""
    folder = Path(mkdtemp(prefix="stored-shop-"))
    document = folder / "openapi.json"
    document.write_text(json.dumps(make_document()), encoding="utf-8")
    return serve(document, "stored-shop", folder, handles=True)


@dataclass
class Api:
    """An API that answers each path with a value: bytes with a media type, text, or JSON."""

    answers: dict[str, Any] = field(default_factory=dict)
    requests: list[HttpRequest] = field(default_factory=list)

    async def send(self, request: HttpRequest) -> HttpResponse:
        self.requests.append(request)
        path = request.url.removeprefix("https://shop.example").partition("?")[0]
        answer = self.answers[path]
        if isinstance(answer, tuple):
            media_type, body = answer
        elif isinstance(answer, str):
            media_type, body = "text/plain; charset=utf-8", answer.encode()
        else:
            media_type, body = "application/json", json.dumps(answer).encode()
        return HttpResponse(200, (("Content-Type", media_type),), body)


@dataclass
class Shop:
    """A server instance with its API, its dispatcher and clients."""

    api: Api
    dispatcher: Dispatcher

    @classmethod
    def open(
        cls, environ: Mapping[str, str] | None = None, *, store: Store | None = None, **answers: Any
    ) -> Shop:
        """Start an instance; `answers` are by the last part of the path."""
        api = Api({f"/{name}": answer for name, answer in answers.items()})
        given = {**ENVIRON, **(environ or {})}
        package = serve_shop().package
        return cls(api, package.make_dispatcher(given, send=api.send, store=store))

    def client(self, revision: str = MODERN, *, access: Access | None = None) -> Client:
        """Return a client, to be used with `async with`."""
        connection = MemoryConnection(serve_shop().package.definition, self.dispatcher)
        connection.access = access
        return Client(connection, revision)


def find_link(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the link to the resource of a stored result."""
    (link,) = [it for it in result["content"] if it["type"] == "resource_link"]
    return dict(link)


def find_handle(result: Mapping[str, Any]) -> str:
    """Return the handle of a stored result."""
    return str(find_link(result)["uri"].partition(":/results/")[2])


def list_texts(result: Mapping[str, Any]) -> list[str]:
    """Return the texts of a result."""
    return [it["text"] for it in result["content"] if it["type"] == "text"]


async def follow(client: Client, result: Mapping[str, Any], expected: str = "") -> list[Any]:
    """Make follow-up calls until none is named; return all results, including the first one.

    The next page, which another tool reads, is not fetched. `expected` is the tool that reads on.
    """
    results = [dict(result)]
    while calls := [
        call
        for call in results[-1].get("_meta", {}).get("mcpgen/nextCalls", [])
        if call["name"] == (expected or "read_result")
    ]:
        assert len(results) < 1_000, "the calls go in a circle"
        results.append(await client.call_tool(calls[0]["name"], calls[0]["arguments"]))
    return results
