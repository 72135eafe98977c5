"""Tests of the server card and the AI catalog: SEP-2127 (draft), docs/discovery.md."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from mcpgen.jsonschema.validation import SchemaValidator
from mcpgen.runtime.asgi import AsgiApplication
from mcpgen.runtime.protocol.server_definition import ServerDefinition
from mcpgen.runtime.transports.http.server_card import CARD_PATH, CATALOG_PATH, ServerCard
from tests.support.asgi import make_scope
from tests.support.http_server import SentHead
from tests.support.imports import importing_anew
from tests.support.paths import SHARED
from tests.support.running_process import serving
from tests.support.stdio_process import write_package

PUBLIC = {"SMALL_SERVER_CARD": "1", "SMALL_PUBLIC_URL": "https://tools.shop.example/mcp"}
# Rules of the draft's schema; where a copy of the schema is at hand, it decides as well.
NAME = re.compile(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+")
URL = re.compile(r"https?://[^\s]+")
SCHEMA_ID = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
SCHEMA = SHARED / "mcp-schema" / "server-card" / "schema.json"
CORS = {
    "access-control-allow-origin": "*",
    "access-control-allow-methods": "GET",
    "access-control-allow-headers": "Content-Type, If-None-Match",
    "access-control-expose-headers": "ETag",
}


def check_card(card: dict[str, Any]) -> None:
    assert set(card) <= {
        "$schema", "_meta", "description", "icons", "name", "remotes", "repository", "title",
        "version", "websiteUrl",
    }  # fmt: skip
    assert card["$schema"] == SCHEMA_ID
    assert NAME.fullmatch(card["name"])
    assert 3 <= len(card["name"]) <= 200
    assert 1 <= len(card["description"]) <= 100
    assert 1 <= len(card.get("title", "x")) <= 100
    assert len(card["version"]) <= 255
    for remote in card["remotes"]:
        assert remote["type"] in {"sse", "streamable-http"}
        assert URL.fullmatch(remote["url"])
        assert all(isinstance(it, str) for it in remote["supportedProtocolVersions"])
        assert all(header["name"] for header in remote.get("headers", ()))
    for icon in card.get("icons", ()):
        assert icon["src"]
    if SCHEMA.exists():
        schema = json.loads(SCHEMA.read_bytes())
        assert SchemaValidator({**schema, "$ref": "#/$defs/ServerCard"}).problems(card) == ()


def request(
    port: int, path: str, method: str = "GET", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, headers=fields)
        response = connection.getresponse()
        found = {name.lower(): value for name, value in response.getheaders()}
        return response.status, found, response.read()
    finally:
        connection.close()


def cors_of(headers: dict[str, str]) -> dict[str, str]:
    return {name: headers.get(name, "") for name in CORS}


def serve(
    folder: Path, *options: str, settings: Mapping[str, str] | None = None
) -> AbstractContextManager[int]:
    """Serve the package over HTTP; yield the port."""
    command = ("small_mcp", "--http", "--port", "0", *options)
    return serving(folder, command, r"is served at http://127\.0\.0\.1:(\d+)", settings)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    write_package(tmp_path)
    return tmp_path


def test_the_card_names_the_server_and_its_url(package: Path) -> None:
    with serve(package, settings=PUBLIC) as port:
        status, headers, body = request(port, CARD_PATH)
        catalog_status, catalog_headers, catalog = request(port, CATALOG_PATH)
    card = json.loads(body)
    check_card(card)
    assert (status, headers["content-type"]) == (200, "application/mcp-server-card+json")
    assert headers["cache-control"] == "public, max-age=3600"
    assert cors_of(headers) == cors_of(catalog_headers) == CORS
    assert card["name"] == "example.shop.tools/small"
    (remote,) = card["remotes"]
    assert remote["url"] == PUBLIC["SMALL_PUBLIC_URL"]
    assert remote["supportedProtocolVersions"][0] == "2026-07-28"
    assert (catalog_status, catalog_headers["content-type"]) == (200, "application/ai-catalog+json")
    assert json.loads(catalog) == {
        "specVersion": "1.0",
        "entries": [
            {
                "identifier": "urn:air:tools.shop.example:mcp:small",
                "type": "application/mcp-server-card+json",
                "url": "https://tools.shop.example/mcp/server-card",
            }
        ],
    }


def test_an_unchanged_card_is_not_sent_again(package: Path) -> None:
    with serve(package, settings=PUBLIC) as port:
        _, headers, body = request(port, CARD_PATH)
        tag = headers["etag"]
        for field in (tag, f"W/{tag}", f'"other", {tag}', "*"):
            status, again, content = request(port, CARD_PATH, if_none_match=field)
            assert (status, content, again["etag"]) == (304, b"", tag), field
            assert cors_of(again) == CORS
        for field in ('"other"', tag.strip('"'), ""):
            status, _, content = request(port, CARD_PATH, if_none_match=field)
            assert (status, content) == (200, body), field
        status, head, content = request(port, CARD_PATH, "HEAD")
        assert (status, content, head["content-length"]) == (200, b"", str(len(body)))


def test_any_web_page_may_read_the_card_and_nothing_else(package: Path) -> None:
    with serve(package, settings=PUBLIC) as port:
        foreign = "https://elsewhere.example"
        status, headers, _ = request(port, CARD_PATH, origin=foreign)
        assert (status, cors_of(headers)) == (200, CORS)
        asked = {"origin": foreign, "access_control_request_method": "GET"}
        status, headers, _ = request(port, CARD_PATH, "OPTIONS", **asked)
        assert (status, cors_of(headers)) == (200, CORS)
        assert request(port, CARD_PATH, "POST", origin=foreign)[0] == 405
        assert request(port, "/mcp", "POST", origin=foreign)[0] == 403
        assert request(port, CARD_PATH, host="attacker.example")[0] == 421


def test_without_a_public_url_the_card_has_the_name_by_which_a_local_client_came(
    package: Path,
) -> None:
    with serve(package, "--server-card") as port:
        card = json.loads(request(port, CARD_PATH)[2])
        check_card(card)
        assert card["remotes"][0]["url"] == f"http://127.0.0.1:{port}/mcp"
        named = json.loads(request(port, CARD_PATH, host=f"localhost:{port}")[2])
        assert named["remotes"][0]["url"] == f"http://localhost:{port}/mcp"
        assert named["name"] == "localhost/small"


def test_there_is_no_card_unless_it_is_wanted(package: Path) -> None:
    with serve(package, settings={"SMALL_SERVER_CARD": "0"}) as port:
        assert request(port, CARD_PATH)[0] == 404
        assert request(port, CATALOG_PATH)[0] == 404


def test_the_card_is_public_where_calls_need_a_token(package: Path, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.txt"
    tokens.write_text(f"ada {'0' * 64}\n")
    with serve(package, settings={**PUBLIC, "SMALL_AUTH_TOKENS_FILE": str(tokens)}) as port:
        assert request(port, "/mcp", "POST")[0] == 401
        status, _, body = request(port, CARD_PATH)
        assert status == 200
        check_card(json.loads(body))
        assert request(port, CATALOG_PATH)[0] == 200


def test_an_asgi_application_has_the_card_below_its_prefix(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(package)
    monkeypatch.setenv("SMALL_SERVER_CARD", "1")

    async def ask(app: AsgiApplication, path: str) -> tuple[dict[str, Any], Any]:
        head = SentHead("GET", path, "", [(b"host", b"127.0.0.1:80")])
        scope = {**make_scope(head), "root_path": "/small", "path": f"/small{path}"}
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await app(scope, receive, send)
        return sent[0], json.loads(b"".join(part["body"] for part in sent[1:]))

    async def story() -> None:
        app = AsgiApplication("small_mcp")
        try:
            start, card = await ask(app, CARD_PATH)
            _, catalog = await ask(app, CATALOG_PATH)
        finally:
            await app.stop()
        assert start["status"] == 200
        check_card(card)
        assert card["remotes"][0]["url"] == "http://127.0.0.1:80/small/mcp"
        assert catalog["entries"][0]["url"] == "http://127.0.0.1:80/small/mcp/server-card"

    with importing_anew("small_mcp"):
        asyncio.run(story())


def test_a_card_for_other_machines_needs_the_public_url(package: Path) -> None:
    options = ("--server-card", "--host", "0.0.0.0", "--allow-remote")
    with (
        pytest.raises(AssertionError, match="missing SMALL_PUBLIC_URL"),
        serve(package, *options),
    ):
        pass


@pytest.mark.parametrize(
    ("info", "url", "expected"),
    [
        (
            {"title": "T" * 200, "description": "A first sentence. " + "Another one. " * 20},
            "https://a.example/mcp",
            {"title": "T" * 100},
        ),
        ({"description": "word " * 100}, "https://xn--bcher-kva.example/mcp", {}),
        ({}, "https://[2001:db8::1]/mcp", {"description": "s"}),
        (
            {"title": "Shop", "icons": [{"src": "https://a.example/i.png"}]},
            "https://192.0.2.7/mcp",
            {},
        ),
    ],
)
def test_a_card_is_valid_whatever_the_server_is_called(
    info: dict[str, Any], url: str, expected: dict[str, Any]
) -> None:
    card = ServerCard(
        ServerDefinition({"name": "s", "version": "1", **info}),
        public_url=url,
        header_names=("x-shop-token",),
    ).make_card(url)
    check_card(card)
    assert expected.items() <= card.items()
    assert card["remotes"][0]["headers"] == [{"name": "x-shop-token", "isSecret": True}]
