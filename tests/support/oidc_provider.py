"""The authorization server `oidc-provider`, which signs users in without a page."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.support.paths import CACHE, REPOSITORY
from tests.support.running_server import NODE_MODULES, WAIT_SECONDS, installed, run_json

OAUTH_TOOLS = CACHE / "oauth"
PEERS = REPOSITORY / "tests" / "peers"


def _environment() -> dict[str, str]:
    return {**os.environ, "NODE_PREFIX": str(OAUTH_TOOLS)}


def _command(script: str, order: dict[str, Any]) -> list[str]:
    installed(OAUTH_TOOLS / "node_modules" / "oidc-provider", "peers")
    node = installed(NODE_MODULES / "node" / "bin" / "node", "peers")
    return [str(node), str(PEERS / script), json.dumps(order)]


@asynccontextmanager
async def authorization_server(**settings: Any) -> AsyncIterator[str]:
    """Run the authorization server; yield its issuer URL.

    `settings` are those of oidc_provider.mjs.
    """
    process = await asyncio.create_subprocess_exec(
        *_command("oidc_provider.mjs", settings),
        env=_environment(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), WAIT_SECONDS)
        yield line.decode().strip()
    finally:
        process.stdin.close()
        await asyncio.wait_for(process.wait(), WAIT_SECONDS)


async def run_mcpjam(
    server_url: str, flows: list[dict[str, Any]], metadata: dict[str, Any]
) -> dict[str, dict[str, Any]]:
    """Run MCPJam's OAuth conformance flows; return their results by label.

    `metadata` are documents of clients, by their URLs.
    """
    order = {"serverUrl": server_url, "flows": flows, "metadata": metadata}
    results = await run_json(_command("mcpjam_oauth.mjs", order), env=_environment())
    return {result["label"]: result for result in results}


async def run_mcpjam_apps(server_url: str) -> dict[str, Any]:
    """Run MCPJam's checks of MCP Apps; return them and their findings."""
    command = _command("mcpjam_apps.mjs", {"serverUrl": server_url})
    found: dict[str, Any] = await run_json(command, env=_environment())
    return found
