"""One HTTP request and its answer, in the terms of ASGI: headers in, bodies in and out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from typing import Any, Final, Protocol, TypeAlias

from mcpgen.runtime.protocol.call import error_message
from mcpgen.runtime.protocol.jsonrpc import INTERNAL_ERROR, INVALID_REQUEST, encode_json
from mcpgen.runtime.protocol.routing_headers import RoutingHeaders
from mcpgen.runtime.transports.reply_stream import ReplyStream

Scope: TypeAlias = dict[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[dict[str, Any]]]
Send: TypeAlias = Callable[[dict[str, Any]], Awaitable[None]]
Header: TypeAlias = tuple[bytes, bytes]

WHOLE_MESSAGES: Final = "mcpgen.whole_messages"
"""Names an ASGI extension, `WholeMessages`, that a server may have."""

CLOSE: Final[Header] = (b"connection", b"close")
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
        "_whole",
        "fields",
        "is_started",
        "principal",
        "routing",
        "scope",
    )

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope = scope
        self.is_started = False  # the status is sent
        self.principal = ""  # whom the request was authenticated as; "" for nobody
        headers: list[Header] = scope["headers"]
        self.fields = dict(headers)
        if len(self.fields) != len(headers):
            self.fields = _joined(headers)
        self.routing = RoutingHeaders(headers)
        self._receive = receive
        self._send = send
        extensions = scope.get("extensions")
        self._whole: WholeMessages | None = extensions and extensions.get(WHOLE_MESSAGES)

    def text(self, name: bytes) -> str | None:
        """Give a header's value, trimmed, or None."""
        value = self.fields.get(name)
        return None if value is None else value.strip(b" \t").decode("latin-1")

    async def read_body(self, max_bytes: int) -> bytes:
        """Give the whole body.

        Raises:
            RefusedError: it is longer than `max_bytes`, or the client left before its end.
        """
        announced = self.fields.get(b"content-length", b"")
        if len(announced) > 6 and announced.isdigit() and int(announced) > max_bytes:
            raise _too_large(max_bytes)
        body = self._whole.take_body(self.scope) if self._whole is not None else None
        if body is not None:
            if len(body) > max_bytes:
                raise _too_large(max_bytes)
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

    async def reply(
        self,
        status: int,
        body: bytes = b"",
        headers: Sequence[Header] = (),
    ) -> None:
        """Answer with JSON, or with an empty body."""
        whole = self._whole
        if whole is not None and not headers and whole.reply(self.scope, status, body):
            return
        fields = [(b"content-length", b"%d" % len(body)), *headers]
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
        await self._send(
            {"type": "http.response.start", "status": 200, "headers": [*_EVENT_STREAM, *headers]}
        )
        if not stream.pending:
            await self._send({"type": "http.response.body", "body": b"", "more_body": True})
        while stream.reader == reader:
            is_ending = stream.is_ending
            if stream.pending:
                body = b"".join(stream.pending)
                stream.pending.clear()
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


@lru_cache(maxsize=256)
def accepts(accept: bytes | None, *media_types: str) -> bool:
    """Tell whether an Accept header takes all of these media types (RFC 9110, section 12.5.1)."""
    if accept is None:
        return True
    refused: set[str] = set()
    taken: set[str] = set()
    for item in accept.decode("latin-1").lower().split(","):
        media_range, *parameters = (part.strip() for part in item.split(";"))
        weight = next((it.removeprefix("q=") for it in parameters if it.startswith("q=")), "1")
        (refused if weight.strip("0.") == "" else taken).add(media_range)
    return all(_takes(media_type, taken, refused) for media_type in media_types)


def _takes(media_type: str, taken: set[str], refused: set[str]) -> bool:
    kind, _, _ = media_type.partition("/")
    for media_range in (media_type, f"{kind}/*", "*/*"):  # narrowest first
        if media_range in refused:
            return False
        if media_range in taken:
            return True
    return False


@lru_cache(maxsize=256)
def is_json(content_type: bytes | None) -> bool:
    """Tell whether a Content-Type says JSON, and in UTF-8 where it names a charset."""
    if content_type is None:
        return False
    media_type, *parameters = (
        part.strip() for part in content_type.decode("latin-1").lower().split(";")
    )
    charsets = [it.removeprefix("charset=").strip('"') for it in parameters if "charset=" in it]
    return media_type == "application/json" and set(charsets) <= {"utf-8", "utf8"}


def _joined(headers: Sequence[Header]) -> dict[bytes, bytes]:
    """Join what comes twice, as for list headers; any other then has a value that fits nothing."""
    fields: dict[bytes, bytes] = {}
    for name, value in headers:
        fields[name] = fields[name] + b", " + value if name in fields else value
    return fields


def _too_large(max_bytes: int) -> RefusedError:
    return RefusedError(413, f"a message has at most {max_bytes} bytes", (CLOSE,))
