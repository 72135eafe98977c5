"""Servers that the official suite and the validator examine over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from tests.support.paths import EXAMPLES
from tests.support.running_server import running
from tests.validate.correct.table import PYTHON_SDKS, TYPESCRIPT_SDKS, Correct

EVERYTHING: Final = "everything-mcp"
SDK_SERVERS: Final = (*PYTHON_SDKS, *TYPESCRIPT_SDKS)
_START_SECONDS: Final = 60.0
_EXIT_SECONDS: Final = 10.0
_RETRY_SECONDS: Final = 0.1


@asynccontextmanager
async def serve_everything() -> AsyncIterator[str]:
    """Serve everything-mcp with a mock of its API; yield the URL."""
    async with running(EXAMPLES / EVERYTHING) as server:
        yield server.url


@asynccontextmanager
async def serve_sdk(server: Correct) -> AsyncIterator[str]:
    """Serve a small SDK server over HTTP; yield the URL."""
    port = _find_free_port()
    is_python = server in PYTHON_SDKS
    options = ("--port", str(port)) if is_python else (str(port),)
    process = await asyncio.create_subprocess_exec(
        *server.command,
        *options,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        await _wait_until_listening(process, port)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await asyncio.wait_for(process.wait(), _EXIT_SECONDS)


def _find_free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


async def _wait_until_listening(process: asyncio.subprocess.Process, port: int) -> None:
    async with asyncio.timeout(_START_SECONDS):
        while True:
            assert process.returncode is None, "the server has ended"
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(_RETRY_SECONDS)
                continue
            writer.close()
            return
