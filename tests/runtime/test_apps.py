"""Tests of tool views over the protocol, for clients that declare MCP Apps and for others."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from mcpgen.factory.packages import find_package
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.protocol.server_definition import ServerDefinition
from mcpgen.runtime.transports.memory import MemoryConnection
from mcpgen.testing import LEGACY, MODERN, Client, MockUpstream
from tests.support.http_server import Served, request, run
from tests.support.imports import importing_anew
from tests.support.paths import EXAMPLES
from tests.support.protocol_client import ALL, Peer, definition
from tests.support.views import CAPABILITIES, EXTENSION, column, make_definition

MEDIA_TYPE = "text/html;profile=mcp-app"
URI = "ui://shop/pets"
VIEW = {"kind": "table", "items": ["items"], "columns": [column("name")]}
WITH_META = [revision for revision in ALL if revision >= "2025-06-18"]
REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("tools/list", {}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": URI}),
    ("server/discover", {}),
    ("ping", {}),
]
OTHER_CLIENTS: list[dict[str, Any]] = [
    {},
    {"extensions": {}},
    {"extensions": {"io.modelcontextprotocol/tasks": {}}},
    {"extensions": {EXTENSION: {}}},
    {"extensions": {EXTENSION: {"mimeTypes": ["text/plain"]}}},
    {"extensions": {EXTENSION: {"mimeTypes": MEDIA_TYPE}}},
    {"extensions": [EXTENSION]},
    {"extensions": {EXTENSION: None}},
]


def shop() -> ServerDefinition:
    return make_definition(VIEW, annotations={"readOnlyHint": True})


def frames(served: ServerDefinition, revision: str, capabilities: dict[str, Any]) -> list[bytes]:
    """Return the bytes of the responses to all requests."""
    peer = Peer(revision, served, capabilities=capabilities)
    found = []
    for number, (method, params) in enumerate(REQUESTS):
        peer.send(peer.request(method, id=number, **params))
        found += [outgoing.data for outgoing in peer.protocol.messages_to_send()]
    return found


@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize("capabilities", OTHER_CLIENTS)
def test_other_clients_get_the_bytes_of_a_server_without_views(
    revision: str, capabilities: dict[str, Any]
) -> None:
    without = shop().replace(views=None)
    assert frames(shop(), revision, capabilities) == frames(without, revision, capabilities)


@pytest.mark.parametrize("capabilities", [{}, CAPABILITIES])
def test_other_clients_get_the_same_handshake(capabilities: dict[str, Any]) -> None:
    def greet(served: ServerDefinition) -> dict[str, Any]:
        peer = Peer(LEGACY, served, is_initialized=False)
        params = {
            "protocolVersion": LEGACY,
            "capabilities": capabilities,
            "clientInfo": {"name": "t", "version": "1"},
        }
        return peer.result("initialize", **params)

    plain = greet(shop().replace(views=None))
    assert plain["capabilities"] == {"tools": {}}
    if capabilities:
        assert greet(shop())["capabilities"] == {"tools": {}, "resources": {}}
    else:
        assert greet(shop()) == plain


@pytest.mark.parametrize("revision", WITH_META)
def test_a_client_of_apps_is_led_from_the_tool_to_its_page(revision: str) -> None:
    peer = Peer(revision, shop(), capabilities=CAPABILITIES)
    (tool,) = peer.result("tools/list")["tools"]
    assert tool["_meta"] == {"ui": {"resourceUri": URI}}
    (listed,) = peer.result("resources/list")["resources"]
    assert (listed["uri"], listed["mimeType"]) == (URI, MEDIA_TYPE)
    (contents,) = peer.result("resources/read", uri=URI)["contents"]
    assert (contents["uri"], contents["mimeType"]) == (URI, MEDIA_TYPE)
    assert contents["text"].startswith("<!DOCTYPE html>")
    assert contents["_meta"]["ui"]["csp"] == {"connectDomains": [], "resourceDomains": []}


def test_a_stateless_client_of_apps_gets_lists_that_no_other_client_shares() -> None:
    peer = Peer(MODERN, shop(), capabilities=CAPABILITIES)
    found = peer.result("server/discover")
    assert found["capabilities"] == {"tools": {}, "resources": {}, "extensions": {EXTENSION: {}}}
    assert found["cacheScope"] == "private"
    assert peer.result("tools/list")["cacheScope"] == "private"
    assert Peer(MODERN, shop()).result("tools/list")["cacheScope"] == "public"


def test_views_stand_beside_other_resources_and_metadata() -> None:
    served = definition().replace(views=shop().views)
    tools = served.tools
    assert tools is not None
    listed = [{**json.loads(json.dumps(tools.items["tool_0"])), "name": "pets"}]
    served = served.replace(tools=type(tools)("tools", [json.dumps(it).encode() for it in listed]))
    peer = Peer(MODERN, served, capabilities=CAPABILITIES)
    (tool,) = peer.result("tools/list")["tools"]
    assert tool["_meta"] == {"example.com/kind": "test", "ui": {"resourceUri": URI}}
    uris = [item["uri"] for item in peer.result("resources/list")["resources"]]
    assert uris == ["test://note/0", "test://note/1", "test://note/2", URI]
    assert peer.result("server/discover")["capabilities"]["extensions"] == {
        "io.example/extension": {},
        EXTENSION: {},
    }
    assert peer.call("resources/read", uri="test://note/0")


def test_a_view_of_a_tool_that_is_not_listed_does_not_exist() -> None:
    served = definition().replace(views=shop().views)  # has no tool `pets`
    peer = Peer(MODERN, served, capabilities=CAPABILITIES)
    assert URI not in {item["uri"] for item in peer.result("resources/list")["resources"]}
    call = peer.call("resources/read", uri=URI)  # left to a handler, which knows no such resource
    assert call.params["uri"] == URI


def test_settings_of_a_view_cannot_end_their_element() -> None:
    hostile = "</script><script>alert(1)</script><!--"
    served = make_definition({**VIEW, "columns": [column("a", label=hostile)]}, title=hostile)
    peer = Peer(MODERN, served, capabilities=CAPABILITIES)
    text = peer.result("resources/read", uri=URI)["contents"][0]["text"]
    assert hostile not in text
    assert text.count("<script") == text.count("</script>") == 2
    settings = text.partition('id="view">')[2].partition("</script>")[0]
    assert json.loads(settings)["title"] == hostile


@pytest.mark.parametrize("has_sessions", [True, False])
def test_a_legacy_client_over_http_has_views_in_a_session_only(has_sessions: bool) -> None:
    """Without a session, nothing is remembered about what the client can show."""
    params = {
        "protocolVersion": LEGACY,
        "capabilities": CAPABILITIES,
        "clientInfo": {"name": "t", "version": "1"},
    }
    declared = {"tools": {}, "resources": {}} if has_sessions else {"tools": {}}

    async def scenario(served: Served) -> None:
        greeted = await served.client.post(request("initialize", params))
        assert greeted.json["result"]["capabilities"] == declared
        client = served.new_client()
        if has_sessions:
            await client.initialize(LEGACY, CAPABILITIES)
        (tool,) = (await client.post(request("tools/list"))).json["result"]["tools"]
        assert ("_meta" in tool) == has_sessions

    run(scenario, definition=shop(), has_sessions=has_sessions)


# -- generated servers -----------------------------------------------------------------------------


@pytest.fixture
def bookshop(monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerPackage]:
    monkeypatch.syspath_prepend(EXAMPLES / "bookshop-mcp" / "src")
    with importing_anew("bookshop_mcp"):
        yield ServerPackage.load("bookshop_mcp")


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_a_result_is_the_same_with_and_without_a_view(
    revision: str, bookshop: ServerPackage
) -> None:
    found = find_package(EXAMPLES / "bookshop-mcp")

    async def call(capabilities: dict[str, Any]) -> Any:
        mock = MockUpstream(found.upstream(), base_url="https://shop.example")
        environ = found.mock_environment("https://shop.example")
        dispatcher = bookshop.make_dispatcher(environ, send=mock.send)
        connection = MemoryConnection(bookshop.definition, dispatcher)
        async with Client(connection, revision, capabilities=capabilities) as client:
            return await client.call_tool("get_order", {"order_id": 4711})

    shown, plain = asyncio.run(call(CAPABILITIES)), asyncio.run(call({}))
    assert shown == plain
    assert shown["structuredContent"]
    assert not shown.get("isError")


def test_a_server_without_views_imports_nothing_of_them() -> None:
    """A server with views does not import them either, until a client can show them."""
    program = (
        "import sys\n"
        "from mcpgen.runtime.package import ServerPackage\n"
        "package = ServerPackage.load(sys.argv[1])\n"
        "package.definition.for_client({'extensions': {}})\n"
        "print([name for name in sys.modules if 'runtime.apps' in name or name == 'hashlib'])\n"
    )

    def imported(name: str) -> str:
        source = EXAMPLES / f"{name}-mcp" / "src"
        command = [sys.executable, "-c", program, f"{name}_mcp"]
        done = subprocess.run(command, cwd=source, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert imported("petstore") == "[]"
    assert imported("bookshop") == "['mcpgen.runtime.apps', 'mcpgen.runtime.apps.views']"
