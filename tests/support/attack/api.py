"""An API that misbehaves as a test requires, on its own thread and event loop."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Awaitable, Callable

from tests.support.attack.documents import HEALTHY_PATH

Behaviour = Callable[["Exchange"], Awaitable[None]]


class Exchange:
    """One request to the API, and the socket for any kind of response."""

    def __init__(
        self,
        head: bytes,
        body: bytes,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.head = head
        self.body = body
        self.reader = reader
        self.writer = writer

    @property
    def method(self) -> str:
        return self.head.split(b" ", 1)[0].decode()

    @property
    def target(self) -> str:
        """The path with the query string."""
        return self.head.split(b" ", 2)[1].decode()

    def headers(self, name: str) -> list[str]:
        """Return all values of a header field, in order."""
        fields = (line.partition(b":") for line in self.head.split(b"\r\n")[1:])
        return [
            value.strip().decode()
            for key, _, value in fields
            if key.decode().lower() == name.lower()
        ]

    async def send(self, data: bytes) -> None:
        """Write bytes as they are."""
        self.writer.write(data)
        await self.writer.drain()

    async def answer(
        self,
        value: object,
        *,
        status: int = 200,
        content_type: str = "application/json",
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        """Send a valid HTTP response; bytes and text are sent unchanged, other values as JSON."""
        await self.send(response(value, status=status, content_type=content_type, headers=headers))


def response(
    value: object,
    *,
    status: int = 200,
    content_type: str = "application/json",
    headers: tuple[tuple[str, str], ...] = (),
) -> bytes:
    """Return the bytes of a valid HTTP response."""
    if isinstance(value, bytes):
        body = value
    else:
        body = value.encode() if isinstance(value, str) else json.dumps(value).encode()
    fields = [("Content-Type", content_type), ("Content-Length", str(len(body))), *headers]
    lines = "".join(f"{name}: {text}\r\n" for name, text in fields)
    return f"HTTP/1.1 {status} Status\r\n{lines}\r\n".encode() + body


class HostileApi:
    """An API that serves `GET /healthy/{id}` correctly, and other paths as tests decide.

    A behaviour is a coroutine function that gets the `Exchange`. When it returns, the next request
    of the connection is read; when it raises, the connection is closed.
    """

    def __init__(self) -> None:
        self.behaviours: dict[str, Behaviour] = {}
        self.requests: Counter[str] = Counter()  # by path
        self.exchanges: list[Exchange] = []
        self.connections = 0
        self.read_bodies = True  # of requests, before they are answered
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._port = 0
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def port(self) -> int:
        return self._port

    def on(self, path: str, behaviour: Behaviour) -> None:
        """Set the behavior for requests of a path (without its query)."""
        self.behaviours[path] = behaviour

    def __enter__(self) -> HostileApi:
        self._thread.start()
        starting = asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._server = asyncio.run_coroutine_threadsafe(starting, self._loop).result(10)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _close(self) -> None:
        self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()
        serving = asyncio.all_tasks() - {asyncio.current_task()}
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        try:
            while True:
                await self._answer_next(reader, writer)
        except (OSError, EOFError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _answer_next(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        exchange = Exchange(head, b"", reader, writer)
        length = int((exchange.headers("content-length") or ["0"])[0])
        if self.read_bodies:
            exchange.body = await reader.readexactly(length)
        path = exchange.target.partition("?")[0]
        self.requests[path] += 1
        self.exchanges.append(exchange)
        await self._answer(path, exchange)

    async def _answer(self, path: str, exchange: Exchange) -> None:
        if path in self.behaviours:
            await self.behaviours[path](exchange)
        elif path.startswith(HEALTHY_PATH):
            await exchange.answer({"id": path.removeprefix(HEALTHY_PATH)})
        else:
            await exchange.answer({"title": "No such path"}, status=404)
