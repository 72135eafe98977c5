"""A recording proxy on loopback that resolves every name to one port."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

CONNECTED = b"HTTP/1.1 200 Connection established\r\n\r\n"
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def listening(serve: Serve, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Serve on a free port, which is yielded; at the end, close all connections."""
    tasks: set[asyncio.Task[None]] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                await serve(reader, writer)
        finally:
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    def start(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.create_task(handle(reader, writer)))

    async with await asyncio.start_server(start, "127.0.0.1", 0, ssl=tls) as listener:
        try:
            yield listener.sockets[0].getsockname()[1]
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


class RecordingProxy:
    """A proxy that leads all tunnels and absolute-form requests to `target_port`.

    With an `answer`, it sends these bytes in place of its own and relays nothing.
    """

    def __init__(self, target_port: int, *, answer: bytes | None = None) -> None:
        self.heads: list[bytes] = []
        self.port = 0
        self.silent = False  # accepts requests, and never answers
        self._target_port = target_port
        self._answer = answer

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        head = await reader.readuntil(b"\r\n\r\n")
        self.heads.append(head)
        if self.silent:
            await reader.read()
        elif self._answer is not None:
            writer.write(self._answer)
            await reader.read()
        else:
            await self._relay(head, reader, writer)

    async def _relay(
        self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        from_api, to_api = await asyncio.open_connection("127.0.0.1", self._target_port)
        if head.startswith(b"CONNECT "):
            writer.write(CONNECTED)
        else:
            to_api.write(head)
        try:
            await asyncio.gather(_copy(reader, to_api), _copy(from_api, writer))
        finally:
            to_api.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def serving_proxy(
    target_port: int, *, answer: bytes | None = None, tls: ssl.SSLContext | None = None
) -> AsyncIterator[RecordingProxy]:
    """Run a proxy until the end of the block."""
    proxy = RecordingProxy(target_port, answer=answer)
    async with listening(proxy.serve, tls) as proxy.port:
        yield proxy
