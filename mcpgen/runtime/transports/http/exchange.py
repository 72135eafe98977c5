"""One HTTP request and its response over ASGI, with a shortcut for ordinary exchanges."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Protocol, TypeAlias

from mcpgen.runtime.protocol.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    encode_json,
    error_message,
)
from mcpgen.runtime.transports.http.fair_share import identify_client
from mcpgen.runtime.transports.http.reply_stream import ReplyStream
from mcpgen.runtime.transports.http.request_head import Header, RequestHead

Scope: TypeAlias = dict[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[dict[str, Any]]]
Send: TypeAlias = Callable[[dict[str, Any]], Awaitable[None]]
AsgiApplication: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

WHOLE_MESSAGES: Final = "mcpgen.whole_messages"
"""Name of the ASGI extension with a `WholeMessages` object."""
REQUEST_HEAD: Final = "mcpgen.request_head"
"""Name of the ASGI extension with the cached `RequestHead` of a request."""

LONG_BODY_BYTES: Final = 64 * 1024  # longer bodies count as buffered while they arrive
CLOSE: Final[Header] = (b"connection", b"close")
_NO_CONTENT: Final = 204
_JSON: Final[Header] = (b"content-type", b"application/json")
_EVENT_STREAM: Final = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)


class WholeMessages(Protocol):
    """Shortcut past ASGI's events for a request body and a response in one piece."""

    client_network: str

    def take_body(self) -> bytes | None:
        """Return the body, or None if it must be received as events."""
        ...

    def reply(self, status: int, body: bytes) -> bool:
        """Answer with JSON or an empty body; return False if it must be sent as events."""
        ...

    def hold_body(self, size: int) -> None:
        """Record how much of a long body is buffered while the rest is read."""
        ...


class HttpError(Exception):
    """A rejected request: an HTTP status, and the text of a JSON-RPC error without an id."""

    def __init__(self, status: int, message: str, headers: Sequence[Header] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers


class HttpExchange:
    """A request and its response.

    `fields` are the header fields by lower-case name, repeated ones joined. `address` identifies
    the client (`identify_client`); "" if it is unknown.
    """

    __slots__ = (
        "_common",
        "_receive",
        "_send",
        "_whole",
        "address",
        "fields",
        "head",
        "is_started",
        "principal",
        "scope",
    )

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope = scope
        self.is_started = False  # the status is sent
        self.principal = ""  # the authenticated caller; "" if there is none
        extensions = scope.get("extensions") or {}
        self.head: RequestHead = extensions.get(REQUEST_HEAD) or RequestHead(scope["headers"])
        self.fields = self.head.fields
        self._receive = receive
        self._send = send
        self._whole: WholeMessages | None = extensions.get(WHOLE_MESSAGES)
        self._common: Sequence[Header] = ()  # fields of every response
        if self._whole is not None:
            self.address = self._whole.client_network
        else:
            client = scope.get("client")
            self.address = identify_client(client[0]) if client else ""

    def add_headers(self, headers: Sequence[Header]) -> None:
        """Add these header fields to the response, whatever its status."""
        self._common = headers
        self._whole = None  # the shortcut sends no additional fields

    def text(self, name: bytes) -> str | None:
        """Return a header field's value, trimmed, or None."""
        value = self.fields.get(name)
        return None if value is None else value.strip(b" \t").decode("latin-1")

    def take_body(self, max_bytes: int) -> bytes | None:
        """Return the body, once, if it is complete; None if `read_body` must wait for it.

        Raises:
            HttpError: it is longer than `max_bytes`.
        """
        body = self._whole.take_body() if self._whole is not None else None
        if body is not None and len(body) > max_bytes:
            raise _too_large(max_bytes)
        return body

    async def read_body(self, max_bytes: int) -> bytes:
        """Wait for the whole body and return it, once.

        Raises:
            HttpError: it is longer than `max_bytes`, or the client disconnected before its end.
        """
        announced = self.fields.get(b"content-length", b"")
        if len(announced) > 6 and announced.isdigit() and int(announced) > max_bytes:
            raise _too_large(max_bytes)
        body = self.take_body(max_bytes)
        if body is not None:
            return body
        connection: WholeMessages | None = self.scope.get("extensions", {}).get(WHOLE_MESSAGES)
        event = await self._receive()
        chunks = bytearray()
        try:
            while event["type"] == "http.request":
                chunks += event.get("body", b"")
                if len(chunks) > max_bytes:
                    raise _too_large(max_bytes)
                if not event.get("more_body"):
                    return bytes(chunks)
                if connection is not None and len(chunks) > LONG_BODY_BYTES:
                    connection.hold_body(len(chunks))
                event = await self._receive()
        finally:
            if connection is not None:
                connection.hold_body(0)
        raise HttpError(400, "incomplete request body: the connection ended", (CLOSE,))

    def try_reply(self, status: int, body: bytes = b"") -> bool:
        """Answer without waiting, if possible; return False if `reply` must be awaited."""
        return self._whole is not None and self._whole.reply(status, body)

    async def reply(
        self,
        status: int,
        body: bytes = b"",
        headers: Sequence[Header] = (),
    ) -> None:
        """Answer with JSON, or with an empty body."""
        has_content = status != _NO_CONTENT
        if has_content and not headers and self.try_reply(status, body):
            return
        fields = [*self._common, *headers]
        if has_content:  # RFC 9110, section 8.6: no Content-Length with status 204
            fields.append((b"content-length", b"%d" % len(body)))
        if body:
            fields.append(_JSON)
        await self._send({"type": "http.response.start", "status": status, "headers": fields})
        await self._send({"type": "http.response.body", "body": body})

    async def refuse(self, error: HttpError) -> None:
        """Answer with an HTTP status of 400 or more."""
        code = INTERNAL_ERROR if error.status >= 500 else INVALID_REQUEST
        body = encode_json(error_message(code, error.message))
        await self.reply(error.status, body, error.headers)

    async def reply_events(
        self, stream: ReplyStream, reader: int = 1, headers: Sequence[Header] = ()
    ) -> None:
        """Write a stream's events as they arrive, until it ends or has another reader."""
        self.is_started = True
        fields = [*_EVENT_STREAM, *self._common, *headers]
        await self._send({"type": "http.response.start", "status": 200, "headers": fields})
        if not stream.pending:
            await self._send({"type": "http.response.body", "body": b"", "more_body": True})
        while stream.reader == reader:
            is_ending = stream.is_ending
            if stream.pending:
                body = stream.take_pending()
                await self._send(
                    {"type": "http.response.body", "body": body, "more_body": not is_ending}
                )
                if is_ending:
                    return
            elif is_ending:
                break
            else:
                await stream.wait()
        await self._send({"type": "http.response.body", "body": b""})

    async def watch(self, stream: ReplyStream, reader: int = 1) -> None:
        """Wait until the client disconnects, then detach the stream."""
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if stream.reader == reader:
            stream.detach()


def _too_large(max_bytes: int) -> HttpError:
    return HttpError(413, f"the message is longer than {max_bytes} bytes", (CLOSE,))
