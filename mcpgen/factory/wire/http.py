"""Connections over Streamable HTTP: each message is a POST; responses are JSON or events."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from mcpgen.factory.wire.connection import (
    Connection,
    ConnectionLostError,
    Pending,
    encode,
)
from mcpgen.factory.wire.frames import (
    MAX_FRAME_BYTES,
    Frame,
    HttpHead,
    Recording,
    as_headers,
    decode,
)
from mcpgen.factory.wire.targets import Target

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

_ACCEPT = "application/json, text/event-stream"
_NAMED = {"prompts/get": "name", "resources/read": "uri", "tools/call": "name"}
_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_HEAD_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Exchange:
    """An HTTP request and its response, for checks of HTTP itself."""

    request: Frame
    response: Frame
    is_complete: bool  # False: the body had not ended in time

    @property
    def status(self) -> int:
        """The status code."""
        return self.response.http.status if self.response.http else 0

    def header(self, name: str) -> str | None:
        """Return a header of the response."""
        return self.response.http.header(name) if self.response.http else None


class HttpConnection(Connection):
    """A connection to one MCP endpoint, with the session of a legacy server."""

    transport: ClassVar[str] = "http"

    def __init__(self, target: Target, recording: Recording, revision: str) -> None:
        super().__init__(recording, revision)
        self.url = target.url
        self.headers = dict(target.headers)
        self.session_id: str | None = None
        self.version_header: str | None = None  # sent with every message after `initialize`
        self._client: ClientSession | None = None
        self._streams: set[asyncio.Task[None]] = set()

    @classmethod
    async def open(cls, target: Target, recording: Recording, revision: str) -> HttpConnection:
        """Return a connection; nothing is sent before the first message."""
        return cls(target, recording, revision)

    def standard_headers(self, message: Any = None) -> dict[str, str]:
        """Return the headers of a POST: the target's own, and those that the revision requires."""
        headers = {"Accept": _ACCEPT, "Content-Type": "application/json"}
        if self.version_header is not None:
            headers["MCP-Protocol-Version"] = self.version_header
        if self.session_id is not None:
            headers["Mcp-Session-Id"] = self.session_id
        return {**headers, **build_routing_headers(message), **self.headers}

    async def start(self, message: Any, headers: Mapping[str, str] | None = None) -> Pending:
        """Post a message and return when the head of the response has arrived.

        `headers` replaces the standard headers.
        """
        sent = self.standard_headers(message) if headers is None else dict(headers)
        raw = encode(message)
        pending = self.make_pending(message, raw, HttpHead("POST", self.url, as_headers(sent)))
        arrived = asyncio.Event()
        pending.stream = asyncio.create_task(self._post(pending, raw, sent, arrived))
        self._streams.add(pending.stream)
        pending.stream.add_done_callback(self._streams.discard)
        try:
            async with asyncio.timeout(_HEAD_SECONDS):
                await arrived.wait()
        except TimeoutError:
            pending.abandon()
            raise ConnectionLostError(
                f"no HTTP response within {_HEAD_SECONDS:g} seconds"
            ) from None
        if self.lost:
            raise ConnectionLostError(self.lost)
        return pending

    async def fetch(
        self,
        method: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        url: str = "",
        timeout_seconds: float = 10.0,
    ) -> Exchange:
        """Send any HTTP request; read the response's body until it ends or the time is over.

        Raises:
            ConnectionLostError: there is no HTTP response.
        """
        from aiohttp import ClientError

        address = url or self.url
        sent = dict(headers or {})
        client = self._get_client()
        request = Frame(
            "sent",
            0.0,
            body,
            decode(body)[0] if body else None,
            revision=self.revision,
            connection=self.number,
            http=HttpHead(method, address, as_headers(sent)),
        )
        self.recording.add(request)
        received = b""
        is_complete = False
        try:
            async with asyncio.timeout(timeout_seconds):
                response = await client.request(
                    method, address, headers=sent, data=body or None, allow_redirects=False
                )
        except (ClientError, OSError, TimeoutError) as error:
            raise ConnectionLostError(f"{method} {address}: {error or 'no response'}") from None
        try:
            async with asyncio.timeout(timeout_seconds):
                async for chunk in response.content.iter_any():
                    received += chunk
                    if len(received) > MAX_FRAME_BYTES:
                        break
                else:
                    is_complete = True
        except (ClientError, TimeoutError):
            is_complete = False
        finally:
            response.close()
        message, fault = decode(received) if received else (None, "")
        frame = Frame(
            "received",
            0.0,
            received,
            message,
            fault,
            request,
            self.revision,
            self.number,
            _head_of(response),
        )
        self.recording.add(frame)
        return Exchange(request, frame, is_complete)

    async def open_stream(self) -> Pending:
        """Open the stream of messages that belong to no request (GET), if the server has one."""
        sent = self.standard_headers()
        del sent["Content-Type"]
        sent["Accept"] = "text/event-stream"
        pending = self.make_pending(b"", b"", HttpHead("GET", self.url, as_headers(sent)))
        arrived = asyncio.Event()
        pending.stream = asyncio.create_task(self._get(pending, sent, arrived))
        self._streams.add(pending.stream)
        pending.stream.add_done_callback(self._streams.discard)
        await asyncio.wait({asyncio.ensure_future(arrived.wait())}, timeout=_HEAD_SECONDS)
        return pending

    async def close(self) -> None:
        """End the session and close every stream."""
        await self.stop_answers()
        for stream in tuple(self._streams):
            stream.cancel()
        await asyncio.gather(*self._streams, return_exceptions=True)
        if self._client is None:
            return
        if self.session_id is not None:
            headers = self.standard_headers()
            del headers["Content-Type"]
            try:
                await self.fetch("DELETE", headers=headers, timeout_seconds=3.0)
            except ConnectionLostError:
                self.lost = "the connection is closed"
        await self._client.close()
        self.lose("the connection is closed")

    def _get_client(self) -> ClientSession:
        if self._client is None:
            from aiohttp import ClientSession, ClientTimeout, DummyCookieJar

            self._client = ClientSession(
                cookie_jar=DummyCookieJar(), timeout=ClientTimeout(total=None, connect=10.0)
            )
        return self._client

    async def _post(
        self, pending: Pending, raw: bytes, headers: Mapping[str, str], arrived: asyncio.Event
    ) -> None:
        from aiohttp import ClientError

        try:
            async with self._get_client().post(
                self.url, data=raw, headers=headers, allow_redirects=False
            ) as response:
                pending.head = _head_of(response)
                if pending.request.method == "initialize" and response.status == 200:
                    self.session_id = response.headers.get("Mcp-Session-Id")
                arrived.set()
                await self._read(pending, response)
        except (ClientError, OSError) as error:
            if pending.head is None:
                self.lose(f"cannot post to {self.url}: {error}")
        finally:
            arrived.set()
            pending.resolve(None)

    async def _get(
        self, pending: Pending, headers: Mapping[str, str], arrived: asyncio.Event
    ) -> None:
        from aiohttp import ClientError

        try:
            async with self._get_client().get(
                self.url, headers=headers, allow_redirects=False
            ) as response:
                pending.head = _head_of(response)
                arrived.set()
                if response.content_type == "text/event-stream":
                    await self._read(pending, response)
        except (ClientError, OSError):
            return
        finally:
            arrived.set()

    async def _read(self, pending: Pending, response: ClientResponse) -> None:
        """Receive the messages of a response; one without a message is a frame with its body."""
        if response.content_type == "text/event-stream":
            async for data in read_events(response):
                self.receive(data.encode(), http=pending.head, stream=pending)
            return
        pending.body = await response.content.read(MAX_FRAME_BYTES)
        frame = self.receive(pending.body, http=pending.head, stream=pending)
        # An error response may omit the id of a request that the server could not read.
        if "error" in frame.body and "id" not in frame.body:
            pending.resolve(frame)


def _head_of(response: ClientResponse) -> HttpHead:
    return HttpHead(
        response.method,
        str(response.url),
        as_headers(tuple(response.headers.items())),
        response.status,
    )


def build_routing_headers(message: Any) -> dict[str, str]:
    """Return the headers that repeat values of a modern request's body (MCP 2026-07-28)."""
    if not isinstance(message, dict):
        return {}
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    if not isinstance(params, dict) or not isinstance(meta, dict) or _VERSION_KEY not in meta:
        return {}
    headers = {"MCP-Protocol-Version": str(meta[_VERSION_KEY]), "Mcp-Method": message["method"]}
    name = params.get(_NAMED.get(message["method"], ""))
    if isinstance(name, str):
        headers["Mcp-Name"] = encode_header_value(name)
    return headers


def encode_header_value(text: str) -> str:
    """Return a value for `Mcp-Name` or `Mcp-Param-*`, in base64 where it is not header-safe."""
    is_plain = text.isascii() and text.isprintable() and text == text.strip()
    if is_plain and not text.startswith("=?base64?"):
        return text
    return f"=?base64?{b64encode(text.encode()).decode()}?="


async def read_events(response: ClientResponse) -> AsyncIterator[str]:
    """Yield the data of each event that has data (WHATWG, "Server-sent events")."""
    data: list[str] = []
    rest = b""
    async for chunk in response.content.iter_any():
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > MAX_FRAME_BYTES:
            return
        for line in lines:
            text = line.rstrip(b"\r").decode("utf-8", "replace")
            if text.startswith("data:"):
                data.append(text.removeprefix("data:").removeprefix(" "))
            elif not text:
                if any(data):
                    yield "\n".join(data)
                data = []
