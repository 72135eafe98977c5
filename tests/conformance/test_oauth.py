"""Tests of authorization with third-party clients, a third-party validator and a real issuer."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.support.oidc_provider import (
    PEERS,
    authorization_server,
    run_mcpjam,
)
from tests.support.paths import CACHE, EXAMPLES, REPOSITORY
from tests.support.running_server import (
    WAIT_SECONDS,
    RunningServer,
    inspector,
    installed,
    run_json,
    running,
)

PETSTORE = EXAMPLES / "petstore-mcp"
SCOPES = ["pets:read", "pets:write"]
with socket.socket() as _free:
    _free.bind(("127.0.0.1", 0))
    CALLBACK = f"http://127.0.0.1:{_free.getsockname()[1]}/callback"
REGISTERED = {
    "client_id": "registered",
    "client_secret": "the secret of the registered client",
    "redirect_uris": [CALLBACK],
    "grant_types": ["authorization_code", "refresh_token", "client_credentials"],
}
METADATA_URL = "https://client.example/metadata.json"
METADATA = {
    "client_id": METADATA_URL,
    "client_name": "tour",
    "redirect_uris": [CALLBACK],
    "token_endpoint_auth_method": "none",
    "grant_types": ["authorization_code", "refresh_token"],
    "response_types": ["code"],
}
CALLS = [["get_pet", {"pet_id": 42}]]


@asynccontextmanager
async def protected(**settings: Any) -> AsyncIterator[RunningServer]:
    """Run the authorization server and the petstore server that it protects."""
    order = {
        "scopes": SCOPES,
        "clients": [REGISTERED],
        "metadata": {METADATA_URL: METADATA},
        **settings,
    }
    async with authorization_server(**order) as issuer:
        more = {"AUTH_ISSUER": issuer, "AUTH_SCOPES": "pets:read"}
        async with running(PETSTORE, more=more) as server:
            yield server


CREDENTIALS = {
    "clientId": REGISTERED["client_id"],
    "clientSecret": REGISTERED["client_secret"],
}
FLOWS: dict[str, dict[str, Any]] = {
    "dynamic registration": {"registrationStrategy": "dcr"},
    "client metadata document": {
        "registrationStrategy": "cimd",
        "client": {"clientIdMetadataUrl": METADATA_URL},
    },
    "registered client": {
        "registrationStrategy": "preregistered",
        "client": {"preregistered": CREDENTIALS},
    },
    "client credentials": {
        "registrationStrategy": "preregistered",
        "client": {"preregistered": CREDENTIALS},
        "auth": {"mode": "client_credentials", **CREDENTIALS},
        "scopes": "pets:read",
    },
}


def test_mcpjams_oauth_conformance_flows_pass() -> None:
    async def story() -> None:
        async with protected() as server:
            flows = [
                {"label": label, "protocolVersion": "2025-11-25", "redirectUrl": CALLBACK, **flow}
                for label, flow in FLOWS.items()
            ]
            results = await run_mcpjam(server.url, flows, {METADATA_URL: METADATA})
            failed = {
                label: [step for step in result["steps"] if step["status"] == "failed"]
                for label, result in results.items()
            }
            assert failed == {label: [] for label in FLOWS}
            assert all(result["passed"] and result["tools"] for result in results.values())

    asyncio.run(story())


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("client", ["dynamic", "metadata", "registered"])
def test_the_mcp_python_client_authorizes_and_calls(mode: str, client: str) -> None:
    python = installed(CACHE / "peers" / "mcp-2.3.0" / "bin" / "python", "peers")
    order: dict[str, Any] = {"mode": mode, "user": "bob", "calls": CALLS, "redirect": CALLBACK}
    if client == "metadata":
        order["metadata_url"] = METADATA_URL
    elif client == "registered":
        order |= {name: REGISTERED[name] for name in ("client_id", "client_secret")}

    async def story() -> None:
        async with protected() as server:
            command = [str(python), str(PEERS / "mcp_2_oauth.py")]
            seen = await run_json(command, stdin=json.dumps({**order, "url": server.url}))
            assert seen["results"][0]["structuredContent"]["name"] == "Rex"
            assert "pets:read" in seen["scopes"][0].split()
            assert [each.problems for each in server.upstream.requests if each.problems] == []

    asyncio.run(story())


def test_the_page_on_authorization_shows_the_flow_of_a_client() -> None:
    """The page shows the flow with dynamic registration, without port numbers."""
    python = installed(CACHE / "peers" / "mcp-2.3.0" / "bin" / "python", "peers")

    async def story() -> list[str]:
        async with protected() as server:
            order = {"mode": "legacy", "user": "bob", "calls": CALLS, "redirect": CALLBACK}
            command = [str(python), str(PEERS / "mcp_2_oauth.py")]
            seen = await run_json(command, stdin=json.dumps({**order, "url": server.url}))
            own = server.url.removesuffix("/mcp")
            lines = [line.replace(own, "http://server") for line in seen["exchanges"]]
            return [re.sub(r"http://127\.0\.0\.1:[0-9]+", "http://issuer", it) for it in lines]

    page = (REPOSITORY / "docs" / "how-to" / "authorization.md").read_text("utf-8")
    shown = page.partition("```text oauth-flow\n")[2].partition("\n```")[0].splitlines()
    assert sorted(asyncio.run(story())) == sorted(shown)  # the GET runs beside the calls


def test_the_fastmcp_client_authorizes_and_calls() -> None:
    python = installed(CACHE / "peers" / "fastmcp-4.1.6" / "bin" / "python", "peers")

    async def story() -> None:
        async with protected() as server:
            order = {"url": server.url, "user": "carol", "calls": CALLS}
            command = [str(python), str(PEERS / "fastmcp_oauth.py")]
            seen = await run_json(command, stdin=json.dumps(order))
            assert seen["results"][0]["name"] == "Rex"

    asyncio.run(story())


async def authorize_with_inspector(url: str, home: Path) -> Any:
    """Call a tool with the Inspector, and visit the URL that it prints as its user would."""
    process = await asyncio.create_subprocess_exec(
        *inspector(),
        *("--server-url", url, "--client-metadata-url", METADATA_URL),
        *("--callback-url", CALLBACK),
        *("--method", "tools/call", "--tool-name", "get_pet", "--tool-arg", "pet_id=42"),
        env={**os.environ, "HOME": str(home), "MCP_AUTO_OPEN_ENABLED": "true"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        async with asyncio.timeout(WAIT_SECONDS), aiohttp.ClientSession() as browser:
            while line := (await process.stderr.readline()).decode():
                if found := re.search(r"http://127\.0\.0\.1:[0-9]+/auth\?[^\s\x1b]+", line):
                    await browser.get(f"{found[0]}&login_hint=dora")
                    break
            out, err = await process.communicate()
        assert process.returncode == 0, (line, out.decode(), err.decode())
        return json.loads(out)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def test_the_inspector_authorizes_and_calls(tmp_path: Path) -> None:
    async def story() -> None:
        async with protected() as server:
            result = await authorize_with_inspector(server.url, tmp_path)
            assert result["structuredContent"]["name"] == "Rex"

    asyncio.run(story())
