"""An MCP client on plain sockets that resumes streams where they broke off."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

SECONDS = 60.0


class BrokenOffError(Exception):
    """The connection ended before the response was complete."""


@dataclass
class WireResponse:
    """A response whose body is read from the socket."""

    status: int
    headers: dict[str, str]
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    _events: AsyncIterator[dict[str, str]] | None = None

    async def parts(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives; raise `BrokenOffError` if it is incomplete."""
        try:
            if "chunked" in self.headers.get("transfer-encoding", ""):
                while size := int(await self.reader.readuntil(b"\r\n"), 16):
                    yield (await self.reader.readexactly(size + 2))[:-2]
            else:
                yield await self.reader.readexactly(int(self.headers.get("content-length", 0)))
        except (asyncio.IncompleteReadError, OSError, ValueError) as error:
            raise BrokenOffError(str(error)) from None

    async def read(self) -> bytes:
        """Return the whole body and close the connection."""
        try:
            return b"".join([part async for part in self.parts()])
        finally:
            self.close()

    def events(self) -> AsyncIterator[dict[str, str]]:
        """Yield the server-sent events, without comments."""
        if self._events is None:
            self._events = self._read_events()
        return self._events

    async def _read_events(self) -> AsyncIterator[dict[str, str]]:
        rest = b""
        async for part in self.parts():
            *blocks, rest = (rest + part).split(b"\n\n")
            for block in blocks:
                lines = (line.partition(": ") for line in block.decode().split("\n"))
                event = {name.rstrip(":"): value for name, _, value in lines if name}
                if event:
                    yield event

    def close(self) -> None:
        self.writer.transport.abort()


async def send(
    url: str, method: str, headers: Mapping[str, str] | None = None, body: Any = None
) -> WireResponse:
    """Send a request on a new connection; return once the head of the response is read."""
    parts = urlsplit(url)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    data = b"" if body is None else json.dumps(body).encode()
    fields = {
        "Host": parts.netloc,
        "Accept": "application/json, text/event-stream",
        "Connection": "close",
        **({"Content-Type": "application/json"} if body is not None else {}),
        "Content-Length": str(len(data)),
        **(headers or {}),
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    writer: asyncio.StreamWriter | None = None
    try:
        async with asyncio.timeout(SECONDS):
            reader, writer = await asyncio.open_connection(parts.hostname, parts.port, limit=2**24)
            writer.write(f"{method} {target} HTTP/1.1\r\n{head}\r\n".encode() + data)
            received = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except (OSError, asyncio.IncompleteReadError) as error:
        if writer is not None:
            writer.transport.abort()
        raise BrokenOffError(str(error)) from None
    first, *lines = received.strip().split("\r\n")
    named = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    return WireResponse(int(first.split()[1]), named, reader, writer)


@dataclass
class WireClient:
    """A client with a legacy session."""

    url: str
    revision: str = "2025-11-25"
    session_id: str = ""
    first_event_id: str = ""  # of the stream that was read last
    last_event_id: str = ""
    resumed: int = 0  # connections that broke off and were continued
    messages: list[Any] = field(default_factory=list)  # that came besides answers

    @property
    def headers(self) -> dict[str, str]:
        named = {"Mcp-Session-Id": self.session_id} if self.session_id else {}
        has_header = self.session_id and self.revision > "2025-03-26"
        return {**named, **({"MCP-Protocol-Version": self.revision} if has_header else {})}

    async def initialize(self, capabilities: Any = None) -> None:
        """Open a session."""
        params = {
            "protocolVersion": self.revision,
            "capabilities": capabilities or {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
        response = await send(self.url, "POST", {}, message)
        text = await response.read()
        assert response.status == 200, (response.status, text)
        self.session_id = response.headers["mcp-session-id"]
        assert await self.notify("notifications/initialized") == 202

    async def notify(self, method: str, params: Any = None) -> int:
        message = {"jsonrpc": "2.0", "method": method}
        return await self.post(message | ({"params": params} if params else {}))

    async def post(self, message: Any) -> int:
        """Send a message without a response; return the status."""
        response = await send(self.url, "POST", self.headers, message)
        await response.read()
        return response.status

    async def request(self, method: str, params: Any = None, *, id: Any = 1) -> Any:
        """Send a request; return its response, on whatever connection it arrives.

        Raises:
            BrokenOffError: the connection broke off before the client knew where to resume.
        """
        self.first_event_id = self.last_event_id = ""
        message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}}
        response = await send(self.url, "POST", self.headers, message)
        if response.headers.get("content-type") != "text/event-stream":
            text = await response.read()
            assert response.status == 200, (response.status, text)
            return json.loads(text)
        return await self._read_answer(response, id)

    async def call(self, tool: str, /, *, id: Any = 1, **arguments: Any) -> Any:
        """Call a tool with a progress token."""
        params = {"name": tool, "arguments": arguments, "_meta": {"progressToken": id}}
        return await self.request("tools/call", params, id=id)

    async def _read_answer(self, response: WireResponse, id: Any) -> Any:
        while True:
            try:
                async for event in response.events():
                    self.last_event_id = event.get("id", self.last_event_id)
                    self.first_event_id = self.first_event_id or self.last_event_id
                    message = json.loads(event["data"]) if event.get("data") else {}
                    if message.get("id") == id and "method" not in message:
                        return message
                    self.messages.append(message)
            except BrokenOffError:
                pass
            finally:
                response.close()
            if not self.last_event_id:
                raise BrokenOffError("nothing says where to resume")
            response = await self._resume(self.last_event_id)
            self.resumed += 1

    async def replay(self, event_id: str) -> list[Any]:
        """Return the messages of a finished stream after an event."""
        while True:
            try:
                response = await self._resume(event_id)
                events = [event async for event in response.events()]
            except BrokenOffError:
                continue
            finally:
                response.close()
            return [json.loads(event["data"]) for event in events if event.get("data")]

    async def _resume(self, event_id: str) -> WireResponse:
        async with asyncio.timeout(SECONDS):
            while True:
                with contextlib.suppress(BrokenOffError):
                    response = await self.listen(event_id)
                    if response.status == 200:
                        return response
                    text = await response.read()
                    assert response.status in {502, 503}, (response.status, text)
                await asyncio.sleep(0.02)

    async def listen(self, last_event_id: str = "") -> WireResponse:
        """Open the GET stream, or resume a stream."""
        more = {"Last-Event-ID": last_event_id} if last_event_id else {}
        return await send(self.url, "GET", {**self.headers, **more})

    async def delete(self) -> int:
        response = await send(self.url, "DELETE", self.headers)
        response.close()
        return response.status
