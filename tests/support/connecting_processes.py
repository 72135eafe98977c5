"""The world of `connecting` with servers in separate processes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mcpgen.runtime.upstream.http.sender import HttpSender
from tests.support.connecting import (
    People,
    Provider,
    Replica,
    World,
    find_free_port,
    make_environ,
)
from tests.support.paths import REPOSITORY
from tests.support.replica_processes import ServerProcess

HTTP = ("animals_mcp", "--http")
ASGI = ("uvicorn", "animals_mcp.asgi:app")
_SERVES = r"(?:served at|running on) http"
WAIT_SECONDS = 60.0


class ConnectServer:
    """A server whose users connect accounts; it can be killed and started again."""

    def __init__(
        self, world: World, source: Path, port: int, command: Sequence[str], **settings: str
    ) -> None:
        """`source` has the package, and `command` is a module with its arguments."""
        self.base_url = f"http://127.0.0.1:{port}"
        self._command = [sys.executable, "-m", *command, "--port", str(port)]
        self._environ = {
            **os.environ,
            **make_environ(world, EXCHANGE_TOKEN_URL=f"{world.provider.origin}/token", **settings),
            "PYTHONPATH": os.pathsep.join([str(source), str(REPOSITORY)]),
        }
        self.process: ServerProcess | None = None

    async def start(self) -> None:
        """Start the server and wait until it is ready."""
        process = await asyncio.create_subprocess_exec(
            *self._command,
            env=self._environ,
            stdin=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        self.process = ServerProcess(process)
        await self.process.until_logged(_SERVES)

    def kill(self) -> None:
        """Kill the server with SIGKILL."""
        if self.process is not None:
            self.process.kill()

    async def kill_and_start(self) -> None:
        """Kill the server, wait for its end and start it again."""
        await self.stop(signal.SIGKILL)
        await self.start()

    async def stop(self, number: int = signal.SIGTERM) -> None:
        """Stop the server, unless it has ended."""
        if self.process is not None:
            self.process.kill(number)
            try:
                await self.process.end()
            finally:
                self.process.kill()


@asynccontextmanager
async def running_servers(
    source: Path, *commands: Sequence[str], **settings: str
) -> AsyncIterator[tuple[World, list[ConnectServer]]]:
    """Run one server per command, with a shared store in the setting STATE_URL."""
    async with AsyncExitStack() as stack:
        provider, people, sender = Provider(), People(), HttpSender("test")
        for issuer in (provider, people):
            await issuer.start()
            stack.push_async_callback(issuer.stop)
        ports = [find_free_port() for _ in commands]
        replicas = [Replica(f"http://127.0.0.1:{port}") for port in ports]
        world = World(provider, people, replicas, sender, f"{replicas[0].base_url}/mcp")
        servers = [
            ConnectServer(world, source, port, command, **settings)
            for port, command in zip(ports, commands, strict=True)
        ]
        stack.push_async_callback(lambda: world.sender.aclose())  # a test may replace it
        for server in servers:
            stack.push_async_callback(server.stop)
        async with asyncio.TaskGroup() as starting:
            for server in servers:
                starting.create_task(server.start())
        yield world, servers


class EventStream:
    """The GET stream of a legacy session, for messages that belong to no request."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    async def read(self, method: str) -> dict[str, Any]:
        """Wait for a notification."""
        while True:
            line = await self.read_line(b"data: ")
            if method.encode() in line:
                event: dict[str, Any] = json.loads(line.removeprefix(b"data: "))
                return event

    async def read_line(self, start: bytes) -> bytes:
        """Wait for a line with this prefix."""
        async with asyncio.timeout(WAIT_SECONDS):
            async for line in self._reader:
                if line.startswith(start):
                    return line
        raise AssertionError("the stream ended")


@asynccontextmanager
async def open_event_stream(base: str, session: Mapping[str, str]) -> AsyncIterator[EventStream]:
    """Open the GET stream of a session at one server, and wait until it is open."""
    port = urlsplit(base).port
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    fields = {"host": f"127.0.0.1:{port}", "accept": "text/event-stream", **session}
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    writer.write(f"GET /mcp HTTP/1.1\r\n{lines}\r\n".encode())
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), head
        yield EventStream(reader)
    finally:
        writer.close()


async def open_session(world: World, user: str, revision: str, base: str) -> dict[str, str]:
    """Open a session of a legacy client that can open URLs; return its headers."""
    token = {"authorization": f"Bearer {world.token(user)}"}
    can = {"elicitation": {"url": {}, "form": {}}} if revision == "2025-11-25" else {}
    params = {
        "protocolVersion": revision,
        "capabilities": can,
        "clientInfo": {"name": "test", "version": "1"},
    }
    message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    accept = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    body = json.dumps(message).encode()
    response = await world.send("POST", f"{base}/mcp", body, {**accept, **token})
    session = {
        **token,
        "mcp-session-id": response.header("mcp-session-id"),
        "mcp-protocol-version": revision,
    }
    told = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
    await world.send("POST", f"{base}/mcp", told, {**accept, **session})
    return session


CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "list_pets", "arguments": {}},
}
