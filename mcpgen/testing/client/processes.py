"""A server as its users start it: a process of its own, over stdio and over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from mcpgen.runtime.content import JsonObject
from mcpgen.testing.client.client import LEGACY, MODERN, Client
from mcpgen.testing.client.connections import HttpConnection

_PATIENCE_SECONDS = 60.0
_FOREIGN = {"Host": ("rebound.example", 421), "Origin": ("https://rebound.example", 403)}
_LIST_ID = 7


async def list_tools_at_end_of_input(
    package: str, environ: Mapping[str, str], revision: str
) -> tuple[list[str], bool]:
    """Ask for the tools and close the input at once: their names, and whether these are all.

    Raises:
        AssertionError: the answer is lost, the output has more than messages, or the exit code
            is not 0.
    """
    asked = b"".join(
        json.dumps(message).encode() + b"\n" for message in _build_list_requests(revision)
    )
    process = await _start(package, environ, ())
    async with asyncio.timeout(_PATIENCE_SECONDS):
        output, errors = await process.communicate(asked)
    if process.returncode != 0:
        raise AssertionError(f"the server left with {process.returncode}: {errors.decode()[-500:]}")
    answers: dict[object, JsonObject] = {}
    for line in output.splitlines():
        try:
            message = json.loads(line)
        except ValueError:
            raise AssertionError(f"stdout has what is no message: {line[:200]!r}") from None
        answers[message.get("id")] = message
    if "result" not in answers.get(_LIST_ID, {}):
        raise AssertionError(f"tools/list was not answered before the server left: {answers}")
    result = answers[_LIST_ID]["result"]
    return [tool["name"] for tool in result["tools"]], "nextCursor" not in result


def _build_list_requests(revision: str) -> list[JsonObject]:
    """What is sent to be told of the tools, by handshake or without."""
    asking: JsonObject = {"jsonrpc": "2.0", "id": _LIST_ID, "method": "tools/list"}
    client = Client(HttpConnection(""), revision)
    if revision == MODERN:
        return [client.message("tools/list", {}, _LIST_ID)]
    shaking = {
        "protocolVersion": LEGACY,
        "capabilities": {},
        "clientInfo": {"name": "mcpgen-testing", "version": "1"},
    }
    return [
        client.message("initialize", shaking, 1),
        client.message("notifications/initialized"),
        asking,
    ]


@asynccontextmanager
async def serve_over_http(package: str, environ: Mapping[str, str]) -> AsyncIterator[str]:
    """Serve over HTTP on a free port; gives the URL.

    Raises:
        AssertionError: it never said where it listens, or left with another code than 0.
    """
    process = await _start(package, environ, ("--http", "--port", "0"))
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            url = await _read_announced_url(process)
        yield url
    finally:
        process.terminate()
        async with asyncio.timeout(_PATIENCE_SECONDS):
            await process.communicate()
    if process.returncode != 0:
        raise AssertionError(f"the server left with {process.returncode} when it was told to")


async def _read_announced_url(process: asyncio.subprocess.Process) -> str:
    seen = b""
    while process.stderr is not None and (line := await process.stderr.readline()):
        seen += line
        for word in line.decode().split():
            if word.startswith("http://"):
                return word.rstrip(".,")
    raise AssertionError(f"the server never said where it listens: {seen.decode()[-500:]}")


async def find_accepted_foreign_requests(url: str) -> list[str]:
    """Say which requests in a stranger's name were not turned away (DNS rebinding)."""
    from aiohttp import ClientSession

    wrong = []
    async with ClientSession() as session:
        for header, (value, expected) in _FOREIGN.items():
            async with session.post(url, json={}, headers={header: value}) as response:
                if response.status != expected:
                    shown = f"`{header}: {value}` was answered {response.status}"
                    wrong.append(f"{shown}, expected {expected}")
    return wrong


async def _start(
    package: str, environ: Mapping[str, str], arguments: tuple[str, ...]
) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    paths = os.pathsep.join(filter(None, sys.path))
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", package, *arguments),
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        env={**os.environ, "PYTHONPATH": paths, **environ},
    )
