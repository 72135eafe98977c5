"""Connections over Streamable HTTP: each message is a POST; responses are JSON or events."""

from __future__ import annotations

import asyncio
import contextlib
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from mcpgen.factory.wire.connection import (
    Connection,
    ConnectionLostError,
    Pending,
    encode,
)
from mcpgen.factory.wire.events import read_events
from mcpgen.factory.wire.frames import (
    MAX_FRAME_BYTES,
    Frame,
    HttpHead,
    Recording,
    as_headers,
    decode,
    iterate_messages,
)
from mcpgen.factory.wire.targets import Target
from mcpgen.jsonschema.types import JsonObject

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

_MODERN = "2026-07-28"
_ACCEPT = "application/json, text/event-stream"
_NAMED = {"prompts/get": "name", "resources/read": "uri", "tools/call": "name"}
_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_FIRST_HEAD_SECONDS = 30.0  # the server may still be starting
_HEAD_SECONDS = 12.0
_GET_SECONDS = 5.0
_MAX_RETRY_SECONDS = 3.0
_MAX_RESUMPTIONS = 3


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
        self._parameters: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
        self._head_seconds = _FIRST_HEAD_SECONDS
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
        is_notification = isinstance(message, dict) and "method" in message and "id" not in message
        if self.revision == _MODERN and is_notification:
            headers |= {"MCP-Protocol-Version": _MODERN, "Mcp-Method": str(message["method"])}
        routing = {**build_routing_headers(message), **self._build_parameter_headers(message)}
        return {**headers, **routing, **self.headers}

    def learn_tools(self, tools: Iterable[Any]) -> None:
        """Remember which arguments of calls are repeated in headers (`x-mcp-header`)."""
        for tool in tools:
            if isinstance(tool, dict) and isinstance(tool.get("name"), str):
                self._parameters[tool["name"]] = list(find_parameter_headers(tool))

    def _build_parameter_headers(self, message: Any) -> dict[str, str]:
        params = message.get("params") if isinstance(message, dict) else None
        if self.revision != _MODERN or not isinstance(params, dict):
            return {}
        headers = {}
        for header, path in self._parameters.get(str(params.get("name")), ()):
            value: Any = params.get("arguments")
            for name in path:
                value = value.get(name) if isinstance(value, dict) else None
            if isinstance(value, str | int):  # bool is an int
                headers[header] = encode_header_value(format_header_value(value))
        return headers

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
            async with asyncio.timeout(self._head_seconds):
                await arrived.wait()
        except TimeoutError:
            pending.abandon()
            raise ConnectionLostError(
                f"no HTTP response within {self._head_seconds:g} seconds"
            ) from None
        self._head_seconds = _HEAD_SECONDS
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
        received = bytearray()
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
                is_complete = await _read_body(response, received)
        except (ClientError, TimeoutError):
            is_complete = False
        finally:
            response.close()
        body = bytes(received)
        message, fault = decode(body) if body else (None, "")
        frame = Frame(
            "received",
            0.0,
            body,
            message,
            fault,
            request,
            self.revision,
            self.number,
            head_of(response),
        )
        self.recording.add(frame)
        return Exchange(request, frame, is_complete)

    def get_headers(self) -> dict[str, str]:
        """Return the headers of a GET for an event stream."""
        sent = self.standard_headers()
        del sent["Content-Type"]
        return {**sent, "Accept": "text/event-stream"}

    async def open_stream(
        self,
        last_event_id: str | None = None,
        *,
        is_replay: bool = False,
        timeout_seconds: float = _GET_SECONDS,
    ) -> Pending:
        """Open the stream of messages that belong to no request, or resume a stream (GET).

        The messages of a replay were received before; they are not recorded again. The head of the
        pending response is None if none has arrived in time.
        """
        sent = self.get_headers()
        if last_event_id is not None:
            sent["Last-Event-ID"] = last_event_id
        pending = self.make_pending(b"", b"", HttpHead("GET", self.url, as_headers(sent)))
        pending.is_replay = is_replay
        arrived = asyncio.Event()
        pending.stream = asyncio.create_task(self._get(pending, sent, arrived))
        self._streams.add(pending.stream)
        pending.stream.add_done_callback(self._streams.discard)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                await arrived.wait()
        return pending

    def receive(
        self, raw: bytes, *, http: HttpHead | None = None, stream: Pending | None = None
    ) -> Frame:
        """Receive a frame as other transports do; learn from lists of tools."""
        frame = super().receive(raw, http=http, stream=stream)
        for message in iterate_messages(frame):
            result = message.get("result")
            tools = result.get("tools") if isinstance(result, dict) else None
            self.learn_tools(tools if isinstance(tools, list) else ())
        return frame

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
        self._client = self._client or make_client()
        return self._client

    async def _post(
        self, pending: Pending, raw: bytes, headers: Mapping[str, str], arrived: asyncio.Event
    ) -> None:
        from aiohttp import ClientError

        try:
            async with self._get_client().post(
                self.url, data=raw, headers=headers, allow_redirects=False
            ) as response:
                pending.head = head_of(response)
                if pending.request.method == "initialize" and response.status == 200:
                    self.session_id = response.headers.get("Mcp-Session-Id")
                arrived.set()
                await self._read(pending, response)
            await self._resume(pending)
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
                pending.head = head_of(response)
                arrived.set()
                if response.content_type == "text/event-stream":
                    await self._read(pending, response)
        except (ClientError, OSError):
            return
        finally:
            arrived.set()

    async def _resume(self, pending: Pending) -> None:
        """Reconnect to an event stream whose connection the server closed before the response."""
        for _ in range(_MAX_RESUMPTIONS):
            last = next((it.id for it in reversed(pending.events) if it.id), None)
            if self.revision == _MODERN or last is None or pending.is_answered:
                return
            retry = next((it.retry for it in reversed(pending.events) if it.retry), "0")
            await asyncio.sleep(min(_parse_milliseconds(retry), _MAX_RETRY_SECONDS))
            async with self._get_client().get(
                self.url, headers={**self.get_headers(), "Last-Event-ID": last}
            ) as response:
                pending.resumed += 1
                if response.content_type != "text/event-stream":
                    return
                await self._read(pending, response)

    def _receive_data(self, data: bytes, pending: Pending) -> Frame:
        if not pending.is_replay:
            return self.receive(data, http=pending.head, stream=pending)
        message, fault = decode(data)
        return Frame(
            "received", 0.0, data, message, fault, pending.request, self.revision, self.number
        )

    async def _read(self, pending: Pending, response: ClientResponse) -> None:
        """Receive the messages of a response; one without a message is a frame with its body."""
        if response.content_type == "text/event-stream":
            async for event in read_events(response):
                pending.events.append(event)
                if event.data:
                    event.frame = self._receive_data(event.data.encode(), pending)
            return
        received = bytearray()
        await _read_body(response, received)
        pending.body = bytes(received)
        frame = self.receive(pending.body, http=pending.head, stream=pending)
        # An error response may omit the id of a request that the server could not read.
        if "error" in frame.body and "id" not in frame.body:
            pending.resolve(frame)
        pending.bare = frame


def make_client() -> ClientSession:
    """Return an HTTP client that keeps no cookies and ends no stream by itself."""
    from aiohttp import ClientSession, ClientTimeout, DummyCookieJar

    timeout = ClientTimeout(total=None, connect=10.0)
    return ClientSession(cookie_jar=DummyCookieJar(), timeout=timeout)


async def _read_body(response: ClientResponse, received: bytearray) -> bool:
    """Append the body of a response, which may arrive in many parts; return whether it ended."""
    async for chunk in response.content.iter_any():
        received += chunk
        if len(received) > MAX_FRAME_BYTES:
            return False
    return True


def head_of(response: ClientResponse) -> HttpHead:
    """Return the head of a response."""
    return HttpHead(
        response.method,
        str(response.url),
        as_headers(tuple(response.headers.items())),
        response.status,
    )


def _parse_milliseconds(text: str) -> float:
    return int(text) / 1000 if text.isascii() and text.isdigit() else 0.0


def find_parameter_headers(tool: JsonObject) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the header and the property path of each argument that headers repeat."""
    pending: list[tuple[Any, tuple[str, ...]]] = [(tool.get("inputSchema"), ())]
    while pending:
        schema, path = pending.pop()
        properties = schema.get("properties") if isinstance(schema, dict) else None
        for name, described in properties.items() if isinstance(properties, dict) else ():
            header = described.get("x-mcp-header") if isinstance(described, dict) else None
            if isinstance(header, str) and header:
                yield f"Mcp-Param-{header}", (*path, name)
            pending.append((described, (*path, name)))


def format_header_value(value: str | int) -> str:
    """Return an argument as text for a header."""
    return str(value).lower() if isinstance(value, bool) else str(value)


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
