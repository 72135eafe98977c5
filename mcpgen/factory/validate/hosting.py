"""Starting a generated server for an examination: its mock API, and its process over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

import msgspec

from mcpgen.factory.mock_api import serve_mock_api
from mcpgen.factory.wire.connection import UnreachableError
from mcpgen.factory.wire.targets import Target

START_SECONDS: Final = 60.0
_EXIT_SECONDS: Final = 10.0


@asynccontextmanager
async def host(target: Target, transports: Sequence[str]) -> AsyncIterator[dict[str, Target]]:
    """Yield the target of each transport.

    A generated package runs against a mock of its API, so that no examination reaches the real one
    or needs credentials; its server over HTTP is started and stopped here.

    Raises:
        UnreachableError: the server over HTTP did not start.
    """
    async with AsyncExitStack() as stack:
        if target.package is not None:
            _, settings = await stack.enter_async_context(serve_mock_api(target.package))
            target = target.for_mock(settings)
        targets = dict.fromkeys(transports, target)
        if target.package is not None and not target.url:
            for transport in transports:
                if transport in ("http", "sse"):
                    url = await stack.enter_async_context(_serve(target, transport))
                    targets[transport] = msgspec.structs.replace(target, url=url)
        yield targets


@asynccontextmanager
async def _serve(target: Target, transport: str) -> AsyncIterator[str]:
    """Run a generated server over HTTP on a free port; yield its URL."""
    pipe = asyncio.subprocess.PIPE
    options = ("--http", "--port", "0", *(("--sse",) if transport == "sse" else ()))
    process = await asyncio.create_subprocess_exec(
        *target.command,
        *options,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=pipe,
        env=target.environ(),
    )
    reading: asyncio.Task[None] | None = None
    try:
        url = await _read_url(process)
        reading = asyncio.create_task(_drain(process))
        yield url.removesuffix("/mcp") + "/sse" if transport == "sse" else url
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            async with asyncio.timeout(_EXIT_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
        if reading is not None:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)


async def _read_url(process: asyncio.subprocess.Process) -> str:
    seen = b""
    try:
        async with asyncio.timeout(START_SECONDS):
            while process.stderr is not None and (line := await process.stderr.readline()):
                seen += line
                for word in line.decode(errors="replace").split():
                    if word.startswith("http://"):
                        return word.rstrip(".,")
    except TimeoutError:
        pass
    shown = seen.decode(errors="replace")[-500:].strip()
    raise UnreachableError(f"the server did not print its URL: {shown}")


async def _drain(process: asyncio.subprocess.Process) -> None:
    while process.stderr is not None and await process.stderr.read(65536):
        continue
