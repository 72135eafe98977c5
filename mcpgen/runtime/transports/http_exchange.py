"""One HTTP request and its answer, in the terms of ASGI: headers in, bodies in and out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Protocol, TypeAlias

from mcpgen.runtime.protocol.call import error_message
from mcpgen.runtime.protocol.jsonrpc import INTERNAL_ERROR, INVALID_REQUEST, encode_json
from mcpgen.runtime.transports.reply_stream import ReplyStream
from mcpgen.runtime.transports.request_head import Header, RequestHead

Scope: TypeAlias = dict[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[dict[str, Any]]]
Send: TypeAlias = Callable[[dict[str, Any]], Awaitable[None]]

WHOLE_MESSAGES: Final = "mcpgen.whole_messages"
"""Names an ASGI extension, `WholeMessages`, that a server may have."""
REQUEST_HEAD: Final = "mcpgen.request_head"
"""Names another: the `RequestHead` of a request whose header fields the server has seen before."""

CLOSE: Final[Header] = (b"connection", b"close")
_NO_CONTENT: Final = 204
_JSON: Final[Header] = (b"content-type", b"application/json")
_EVENT_STREAM: Final = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)


class WholeMessages(Protocol):
    """A request's body and its response in one piece each, where they are ordinary enough."""

    def take_body(self, scope: Scope) -> bytes | None:
        """Give the body, or None: it must be received as events."""
        ...

    def reply(self, scope: Scope, status: int, body: bytes) -> bool:
        """Answer with JSON, or an empty body; False: the response must be sent as events."""
        ...


class RefusedError(Exception):
    """The request is answered with this HTTP status, and a JSON-RPC error without an id."""

    def __init__(self, status: int, message: str, headers: Sequence[Header] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers


class HttpExchange:
    """A request being answered. `fields` are its headers by lower-case name, repeats joined."""

    __slots__ = (
        "_receive",
        "_send",
        "_usual",
        "_whole",
        "fields",
        "head",
        "is_started",
        "principal",
        "scope",
    )

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope = scope
        self.is_started = False  # the status is sent
        self.principal = ""  # whom the request was authenticated as; "" for nobody
        extensions = scope.get("extensions") or {}
        self.head: RequestHead = extensions.get(REQUEST_HEAD) or RequestHead(scope["headers"])
        self.fields = self.head.fields
        self._receive = receive
        self._send = send
        self._whole: WholeMessages | None = extensions.get(WHOLE_MESSAGES)
        self._usual: Sequence[Header] = ()  # in every answer, whatever it is

    def answer_with(self, headers: Sequence[Header]) -> None:
        """Put these header fields into the answer, whatever it will be."""
        self._usual = headers
        self._whole = None  # whose answers have none

    def text(self, name: bytes) -> str | None:
        """Give a header's value, trimmed, or None."""
        value = self.fields.get(name)
        return None if value is None else value.strip(b" \t").decode("latin-1")

    def body_at_hand(self, max_bytes: int) -> bytes | None:
        """Give the body, once, where all of it is there; else None: it must be read.

        Raises:
            RefusedError: it is longer than `max_bytes`.
        """
        body = self._whole.take_body(self.scope) if self._whole is not None else None
        if body is not None and len(body) > max_bytes:
            raise _too_large(max_bytes)
        return body

    async def read_body(self, max_bytes: int) -> bytes:
        """Give the whole body, once.

        Raises:
            RefusedError: it is longer than `max_bytes`, or the client left before its end.
        """
        announced = self.fields.get(b"content-length", b"")
        if len(announced) > 6 and announced.isdigit() and int(announced) > max_bytes:
            raise _too_large(max_bytes)
        body = self.body_at_hand(max_bytes)
        if body is not None:
            return body
        event = await self._receive()
        chunks = bytearray()
        while event["type"] == "http.request":
            chunks += event.get("body", b"")
            if len(chunks) > max_bytes:
                raise _too_large(max_bytes)
            if not event.get("more_body"):
                return bytes(chunks)
            event = await self._receive()
        raise RefusedError(400, "the connection ended before the body did", (CLOSE,))

    def reply_at_once(self, status: int, body: bytes = b"") -> bool:
        """Answer as `reply` does if nothing has to be waited for; False: `reply` must."""
        return self._whole is not None and self._whole.reply(self.scope, status, body)

    async def reply(
        self,
        status: int,
        body: bytes = b"",
        headers: Sequence[Header] = (),
    ) -> None:
        """Answer with JSON, or with an empty body."""
        has_content = status != _NO_CONTENT
        if has_content and not headers and self.reply_at_once(status, body):
            return
        fields = [*self._usual, *headers]
        if has_content:  # RFC 9110, 8.6: never the length of what cannot be
            fields.append((b"content-length", b"%d" % len(body)))
        if body:
            fields.append(_JSON)
        await self._send({"type": "http.response.start", "status": status, "headers": fields})
        await self._send({"type": "http.response.body", "body": body})

    async def refuse(self, error: RefusedError) -> None:
        """Answer with an HTTP status of 400 or more."""
        code = INTERNAL_ERROR if error.status >= 500 else INVALID_REQUEST
        body = encode_json(error_message(code, error.message))
        await self.reply(error.status, body, error.headers)

    async def reply_events(
        self, stream: ReplyStream, reader: int = 1, headers: Sequence[Header] = ()
    ) -> None:
        """Write a stream's events as they come, until it ends or has another reader."""
        self.is_started = True
        fields = [*_EVENT_STREAM, *self._usual, *headers]
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
        """Return when the client has gone; the stream is detached by then."""
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if stream.reader == reader:
            stream.detach()


def _too_large(max_bytes: int) -> RefusedError:
    return RefusedError(413, f"a message has at most {max_bytes} bytes", (CLOSE,))
