"""A round-robin load balancer: each request goes to the next backend, without affinity."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

CONNECT_SECONDS = 5.0
UNAVAILABLE = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CONNECTION = re.compile(rb"\r\nconnection:[^\r]*", re.IGNORECASE)


class Balancer:
    """Balancer that forwards each request to a backend on a new connection.

    A backend that refuses the connection is skipped. One that breaks off leaves the client with a
    response that breaks off, as with any proxy.
    """

    def __init__(self, ports: Sequence[int]) -> None:
        self.ports = list(ports)
        self.port = 0
        self._turns = itertools.count()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        backend: asyncio.StreamWriter | None = None
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = _LENGTH.search(head)
            body = await reader.readexactly(int(length[1])) if length else b""
            opened = await self._connect()
            if opened is None:
                writer.write(UNAVAILABLE)
                return
            answers, backend = opened
            one_request = _CONNECTION.sub(b"", head[:-2]) + b"Connection: close\r\n\r\n"
            backend.write(one_request + body)
            await self._copy(answers, reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            self._tasks.discard(task)
            for each in (writer, backend):
                if each is not None:
                    each.close()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        first = next(self._turns)
        for number in range(first, first + len(self.ports)):
            port = self.ports[number % len(self.ports)]
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(CONNECT_SECONDS):
                    return await asyncio.open_connection("127.0.0.1", port)
        return None

    async def _copy(
        self,
        answers: asyncio.StreamReader,
        client: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        """Copy the response until it ends or the client disconnects."""
        left = asyncio.ensure_future(client.read(1))  # a client of this balancer sends no more
        try:
            while True:
                part = asyncio.ensure_future(answers.read(65_536))
                await asyncio.wait({part, left}, return_when=asyncio.FIRST_COMPLETED)
                if not part.done():
                    part.cancel()
                    return
                if not (data := part.result()):
                    return
                writer.write(data)
                await writer.drain()
        finally:
            left.cancel()
            with contextlib.suppress(asyncio.CancelledError, OSError):
                await left


@asynccontextmanager
async def balancing(ports: Sequence[int]) -> AsyncIterator[Balancer]:
    """Serve a balancer on a free port."""
    balancer = Balancer(ports)
    server = await asyncio.start_server(balancer._serve, "127.0.0.1", 0, limit=2**24)
    balancer.port = server.sockets[0].getsockname()[1]
    try:
        yield balancer
    finally:
        server.close()
        tasks = list(balancer._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
