"""Tests that no document makes a server call a private address, in any spelling or resolution.

The API listens on this machine. The bystander reaches it because the operator configured its host;
each attacked operation has an operation-level server in the document.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.attack.api import Exchange, HostileApi
from tests.support.attack.documents import api_document, operation
from tests.support.attack.server import (
    PREFIX,
    AttackedServer,
    Bystander,
    HttpClient,
    generate,
    serve_http,
)

SPELLED = (
    "127.0.0.1", "127.1", "127.0.1", "0x7f000001", "0X7F.0.0.1", "017700000001", "0177.0.0.01",
    "2130706433", "127.0.0.1.", "%31%32%37.0.0.1", "localhost", "LOCALHOST.", "api.localhost",
    "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "0",
    "[2002:7f00:1::]", "127\u30020\u30020\u30021", "\uff11\uff12\uff17.0.0.1",
    "\u2460\u2461\u2466.0.0.1", "0.0.0.0", "169.254.169.254", "100.100.100.200", "10.0.0.1",
)  # fmt: skip
RESOLVED = (
    "internal.example", "internal.example.", "mapped.example", "ula.example", "metadata.example",
)  # fmt: skip
REACHABLE = (
    "127.0.0.1", "127.1", "0x7f000001", "017700000001", "2130706433", "localhost",
    "internal.example",
)  # fmt: skip
RESOLVER = """
import socket

_ADDRESSES = {
    "internal.example": "127.0.0.1",
    "mapped.example": "::ffff:127.0.0.1",
    "ula.example": "fd00:ec2::254",
    "metadata.example": "169.254.169.254",
}
_system = socket.getaddrinfo


def _resolve(host, *arguments, **options):
    name = host.decode() if isinstance(host, bytes) else host or ""
    address = _ADDRESSES.get(name.rstrip(".").lower())
    return _system(host if address is None else address, *arguments, **options)


socket.getaddrinfo = _resolve
"""


def tool_of(host: str) -> str:
    return f"get_at{[*SPELLED, *RESOLVED].index(host)}"


def document(port: int) -> dict[str, Any]:
    paths = {
        f"/at/{number}": {
            "get": operation(f"getAt{number}", servers=[{"url": f"http://{host}:{port}"}])
        }
        for number, host in enumerate([*SPELLED, *RESOLVED])
    }
    token_urls = {
        "spelled": f"https://0x7f000001:{port}/token",
        "resolved": f"https://internal.example:{port}/token",
    }
    schemes: dict[str, Any] = {
        name: {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": url, "scopes": {}}}}
        for name, url in token_urls.items()
    }
    discovery = f"https://internal.example:{port}/.well-known/openid-configuration"
    schemes["discovered"] = {"type": "openIdConnect", "openIdConnectUrl": discovery}
    for name in schemes:
        security = [{name: []}]
        paths[f"/token/{name}"] = {"get": operation(f"getToken{name}", security=security)}
    paths["/redirect"] = {"get": operation("getRedirect")}
    server = {
        "url": f"http://{{host}}:{port}",
        "variables": {"host": {"default": "api.example.com"}},
    }
    return {**api_document(paths, {"securitySchemes": schemes}), "servers": [server]}


@pytest.fixture(scope="module")
def api() -> Iterator[HostileApi]:
    async def answer(exchange: Exchange) -> None:
        await exchange.answer({"reached": True})

    async def redirect(exchange: Exchange) -> None:
        location = (("Location", f"{api.base_url}/secret"),)
        await exchange.answer("", status=302, headers=location)

    with HostileApi() as api:
        for number in range(len(SPELLED) + len(RESOLVED)):
            api.on(f"/at/{number}", answer)
        api.on("/redirect", redirect)
        yield api


@pytest.fixture(scope="module")
def project(api: HostileApi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    confirmed = (f"https://127.0.0.1:{api.port}", f"https://internal.example:{api.port}")
    options = [item for origin in confirmed for item in ("--confirm-origin", origin)]
    target = generate(tmp_path_factory.mktemp("addresses"), document(api.port), *options)
    (target / "sitecustomize.py").write_text(RESOLVER)  # imported by the server's interpreter
    return target


ENVIRON = {
    f"{PREFIX}SERVER_HOST": "127.0.0.1",
    **{
        f"{PREFIX}{name}_{part}": "invented"
        for name in ("SPELLED", "RESOLVED", "DISCOVERED")
        for part in ("CLIENT_ID", "CLIENT_SECRET")
    },
}


@pytest.fixture(scope="module")
def server(project: Path) -> Iterator[AttackedServer]:
    with serve_http(project, ENVIRON) as server:
        with Bystander(server) as bystander:
            yield server
            due = time.monotonic() + 30
            while bystander.rounds < 3 and time.monotonic() < due:
                time.sleep(0.02)
        bystander.check()


def call(server: AttackedServer, tool: str) -> tuple[bool, str]:
    with HttpClient(server.port) as client:
        result = client.call_tool(tool, {})["result"]
    return result.get("isError", False), json.dumps(result, ensure_ascii=False)


@pytest.mark.parametrize("host", [*SPELLED, *RESOLVED])
def test_no_request_goes_to_a_private_address(
    server: AttackedServer, api: HostileApi, host: str
) -> None:
    path = f"/at/{[*SPELLED, *RESOLVED].index(host)}"
    is_error, text = call(server, tool_of(host))
    assert is_error, text
    assert api.requests[path] == 0
    if host.isascii():  # other hosts are no part of a URL
        assert f"{PREFIX}BASE_URL" in text
        assert f"{PREFIX}ALLOW_PRIVATE=1" in text


@pytest.mark.parametrize("name", ["spelled", "resolved", "discovered"])
def test_no_secret_goes_to_a_token_url_at_a_private_address(
    server: AttackedServer, api: HostileApi, name: str
) -> None:
    before = api.connections
    is_error, text = call(server, f"get_token{name}")
    assert is_error, text
    assert f"{PREFIX}ALLOW_PRIVATE=1" in text
    assert api.connections - before <= 1  # that of the bystander


def test_redirects_are_not_followed(server: AttackedServer, api: HostileApi) -> None:
    is_error, text = call(server, "get_redirect")
    assert is_error, text
    assert api.requests["/secret"] == 0


def test_the_operator_permits_the_addresses_of_the_document(project: Path, api: HostileApi) -> None:
    with serve_http(project, {**ENVIRON, f"{PREFIX}ALLOW_PRIVATE": "1"}) as server:
        for host in REACHABLE:
            is_error, text = call(server, tool_of(host))
            assert not is_error, (host, text)


def test_the_operator_confirms_an_internal_api_by_the_base_url(
    project: Path, api: HostileApi
) -> None:
    base_url = f"http://internal.example:{api.port}"
    with serve_http(project, {**ENVIRON, f"{PREFIX}BASE_URL": base_url}) as server:
        is_error, text = call(server, tool_of("0x7f000001"))
    assert not is_error, text


def test_new_reports_hidden_private_addresses_of_a_document(tmp_path: Path) -> None:
    whole = document(8080)
    kept = ("/at/3", "/token/spelled", "/token/resolved")
    source = tmp_path / "api.json"
    source.write_text(json.dumps({**whole, "paths": {path: whole["paths"][path] for path in kept}}))
    command = [sys.executable, "-m", "mcpgen", "new", str(source), str(tmp_path / "made")]
    done = subprocess.run(
        [*command, "--defaults", "--json"], capture_output=True, text=True, check=False
    )
    found = {(it["rule"], it["pointer"]) for it in json.loads(done.stdout)["findings"]}
    schemes = "/components/securitySchemes"
    token_url = f"{schemes}/spelled/flows/clientCredentials/tokenUrl"
    assert found >= {
        ("unusual-host", "/paths/~1at~13/get/servers/0/url"),
        ("private-server", "/paths/~1at~13/get/servers/0/url"),
        ("unusual-host", token_url),
        ("private-server", token_url),
        ("credential-destination", f"{schemes}/spelled"),
        ("credential-destination", f"{schemes}/resolved"),
    }
