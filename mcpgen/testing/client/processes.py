"""A server in a process of its own, over stdio and over HTTP, as its users start it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from mcpgen.runtime.content import JsonObject
from mcpgen.testing.client.client import Client
from mcpgen.testing.client.connections import HttpConnection

_TIMEOUT_SECONDS = 60.0
_FOREIGN = {"Host": ("rebound.example", 421), "Origin": ("https://rebound.example", 403)}
_LIST_ID = 7


async def list_tools_at_end_of_input(
    package: str, environ: Mapping[str, str], revision: str
) -> tuple[list[str], bool]:
    """Request the tools and close the input; return their names, and whether there are no more.

    Raises:
        AssertionError: there is no response, the output contains more than messages, or the exit
            code is not 0.
    """
    requests = b"".join(
        json.dumps(message).encode() + b"\n" for message in _build_list_requests(revision)
    )
    process = await _start(package, environ, ())
    async with asyncio.timeout(_TIMEOUT_SECONDS):
        output, errors = await process.communicate(requests)
    if process.returncode != 0:
        raise AssertionError(
            f"the server exited with {process.returncode}: {errors.decode()[-500:]}"
        )
    answers: dict[object, JsonObject] = {}
    for line in output.splitlines():
        try:
            message = json.loads(line)
        except ValueError:
            raise AssertionError(f"stdout contains an invalid message: {line[:200]!r}") from None
        answers[message.get("id")] = message
    if "result" not in answers.get(_LIST_ID, {}):
        raise AssertionError(f"tools/list was not answered before the server exited: {answers}")
    result = answers[_LIST_ID]["result"]
    return [tool["name"] for tool in result["tools"]], "nextCursor" not in result


def _build_list_requests(revision: str) -> list[JsonObject]:
    """Return the messages that request the tools, after a handshake if the revision has one."""
    client = Client(HttpConnection(""), revision)
    request = client.message("tools/list", {}, _LIST_ID)
    if client.is_modern:
        return [request]
    initialize = client.message("initialize", client.initialize_params(), 1)
    return [initialize, client.message("notifications/initialized"), request]


@asynccontextmanager
async def serve_over_http(package: str, environ: Mapping[str, str]) -> AsyncIterator[str]:
    """Serve over HTTP on a free port, without accounts of callers; yield the URL.

    Raises:
        AssertionError: the server did not print its URL, or its exit code is not 0.
    """
    arguments = (package, "--http", "--port", "0")
    process = await _start("mcpgen.testing.callers_credentials", environ, arguments)
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            url = await _read_announced_url(process)
        yield url
    finally:
        process.terminate()
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            await process.communicate()
    if process.returncode != 0:
        raise AssertionError(f"the server exited with {process.returncode} after SIGTERM")


async def _read_announced_url(process: asyncio.subprocess.Process) -> str:
    seen = b""
    while process.stderr is not None and (line := await process.stderr.readline()):
        seen += line
        for word in line.decode().split():
            if word.startswith("http://"):
                return word.rstrip(".,")
    raise AssertionError(f"the server did not print its URL: {seen.decode()[-500:]}")


async def find_accepted_foreign_requests(url: str) -> list[str]:
    """Describe requests of foreign hosts and origins that were accepted (DNS rebinding)."""
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
    module: str, environ: Mapping[str, str], arguments: tuple[str, ...]
) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    paths = os.pathsep.join(filter(None, sys.path))
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", module, *arguments),
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        env={**os.environ, "PYTHONPATH": paths, **environ},
    )
