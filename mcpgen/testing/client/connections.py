"""Connections to a server: a child process over stdio, and Streamable HTTP.

Both have the interface of `transports.memory.MemoryConnection`: `send`, `receive` and `close`, with
decoded JSON-RPC messages.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.protocol.routing_headers import NAMED_BY

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

_MAX_LINE = 64 * 1024 * 1024
_CLOSE_SECONDS = 5.0
_STDERR_SHOWN = 4000


class ConnectionLostError(Exception):
    """The server sent an invalid message, or closed the connection."""


class Connection(Protocol):
    """The client's end of a connection to a server."""

    async def send(self, message: Any) -> None:
        """Send a message to the server."""

    async def receive(self) -> Any:
        """Wait for the server's next message and return it, decoded."""

    async def close(self) -> None:
        """Close the connection and release its resources."""


class StdioConnection:
    """A connection to a server in a child process, with one message per line."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self._stderr = b""
        self._listening = asyncio.create_task(self._collect_stderr())

    @classmethod
    async def start(
        cls, command: Sequence[str], environ: Mapping[str, str] | None = None
    ) -> StdioConnection:
        """Start the server; `environ` replaces the environment of this process."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, stderr=pipe, env=environ, limit=_MAX_LINE
        )
        return cls(process)

    @property
    def stderr(self) -> str:
        """The end of the server's standard error so far."""
        return self._stderr.decode(errors="replace")

    async def send(self, message: Any) -> None:
        """Write one line; bytes are written unchanged.

        Raises:
            ConnectionLostError: the server has exited.
        """
        if self.process.stdin is None:
            raise ConnectionLostError("the server has no standard input")
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        try:
            self.process.stdin.write(data + b"\n")
            await self.process.stdin.drain()
        except ConnectionError:
            raise await self._make_exit_error() from None

    async def receive(self) -> Any:
        """Read one line.

        Raises:
            ConnectionLostError: the output ended, or the line is not JSON.
        """
        if self.process.stdout is None:
            raise ConnectionLostError("the server has no standard output")
        line = await self.process.stdout.readline()
        if not line:
            raise await self._make_exit_error()
        try:
            return json.loads(line)
        except ValueError:
            raise ConnectionLostError(
                f"the server wrote an invalid message: {line[:200]!r}"
            ) from None

    async def close(self) -> None:
        """Close the server's input and wait until it exits; kill it after a timeout."""
        if self.process.stdin is not None:
            self.process.stdin.close()
            with contextlib.suppress(ConnectionError):
                await self.process.stdin.wait_closed()
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self.process.wait()
        except TimeoutError:
            self.process.kill()
            await self.process.wait()
        await self._listening

    async def _make_exit_error(self) -> ConnectionLostError:
        """Return an error with the end of the server's standard error."""
        await asyncio.wait([self._listening], timeout=_CLOSE_SECONDS)
        return ConnectionLostError(
            f"the server closed the connection; stderr: {self.stderr.strip()}"
        )

    async def _collect_stderr(self) -> None:
        if self.process.stderr is None:
            return
        while chunk := await self.process.stderr.read(65536):
            self._stderr = (self._stderr + chunk)[-_STDERR_SHOWN:]


class HttpConnection:
    """A connection over Streamable HTTP. Every message is a POST of its own.

    It keeps the session of a legacy server, and sends the routing headers of modern revisions.
    `last_status` is that of the latest response.
    """

    def __init__(self, url: str, headers: Mapping[str, str] | None = None) -> None:
        self.url = url
        self.headers = dict(headers or {})
        self.last_status = 0
        self._session: ClientSession | None = None
        self._received: asyncio.Queue[Any] = asyncio.Queue()
        self._posts: set[asyncio.Task[None]] = set()

    async def send(self, message: Any) -> None:
        """Post a message; `receive` returns the messages of the response."""
        if self._session is None:
            from aiohttp import ClientSession  # takes long to import

            self._session = ClientSession()
        post = asyncio.create_task(self._post(self._session, message))
        self._posts.add(post)
        post.add_done_callback(self._posts.discard)
        if "id" not in message:
            await post  # a notification has no response, and the next message depends on it

    async def receive(self) -> Any:
        """Wait for the next message of any stream.

        Raises:
            ConnectionLostError: a response was not a valid message.
        """
        received = await self._received.get()
        if isinstance(received, ConnectionLostError):
            raise received
        return received

    async def close(self) -> None:
        """Delete the legacy session, if there is one, and close every stream."""
        for post in tuple(self._posts):
            post.cancel()
        await asyncio.gather(*self._posts, return_exceptions=True)
        if self._session is None:
            return
        if "Mcp-Session-Id" in self.headers:
            async with self._session.delete(self.url, headers=self.headers) as response:
                self.last_status = response.status
        await self._session.close()

    async def _post(self, session: ClientSession, message: JsonObject) -> None:
        from aiohttp import ClientError

        headers = {
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            **build_routing_headers(message),
            **self.headers,
        }
        data = json.dumps(message).encode()
        try:
            async with session.post(self.url, data=data, headers=headers) as response:
                self.last_status = response.status
                session_id = response.headers.get("Mcp-Session-Id")
                if session_id is not None and message.get("method") == "initialize":
                    self.headers["Mcp-Session-Id"] = session_id
                async for received in _read_messages(response):
                    self._received.put_nowait(received)
        except ClientError as error:
            self._received.put_nowait(ConnectionLostError(f"the POST failed: {error}"))


def build_routing_headers(message: JsonObject) -> dict[str, str]:
    """Return the headers that repeat values of a modern request's body (MCP 2026-07-28)."""
    params = message.get("params", {})
    revision = params.get("_meta", {}).get("io.modelcontextprotocol/protocolVersion")
    if revision is None:
        return {}
    headers = {"MCP-Protocol-Version": revision, "Mcp-Method": message["method"]}
    name = params.get(NAMED_BY.get(message["method"], ""))
    if name is not None:
        headers["Mcp-Name"] = _encode_header_value(name)
    return headers


def _encode_header_value(text: str) -> str:
    if text.isascii() and text.isprintable() and text == text.strip():
        return text
    return f"=?base64?{b64encode(text.encode()).decode()}?="


async def _read_messages(response: ClientResponse) -> AsyncIterator[Any]:
    """Yield the JSON-RPC messages of a response: one JSON value, or an event stream."""
    kind = response.content_type
    if kind == "text/event-stream":
        async for data in _read_events(response):
            yield json.loads(data)
        return
    body = await response.read()
    if not body and response.status == 202:
        return
    try:
        yield json.loads(body)
    except ValueError:
        shown = body[:200].decode(errors="replace")
        yield ConnectionLostError(f"HTTP {response.status} without a message: {shown}")


async def _read_events(response: ClientResponse) -> AsyncIterator[str]:
    """Yield the data of each event that has data (WHATWG, "Server-sent events")."""
    data: list[str] = []
    rest = b""
    async for chunk in response.content.iter_any():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            text = line.rstrip(b"\r").decode()
            if text.startswith("data:"):
                data.append(text.removeprefix("data:").removeprefix(" "))
            elif not text:
                if any(data):
                    yield "\n".join(data)
                data = []
