"""One HTTP request that is being answered, and its response."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from mcpgen.runtime.protocol.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    encode_json,
    error_message,
)
from mcpgen.runtime.transports.http.reply_stream import ReplyStream
from mcpgen.runtime.transports.http.request_head import Header, RequestHead

if TYPE_CHECKING:
    from mcpgen.runtime.auth.access import Access

LONG_BYTES: Final = 64 * 1024
"""A longer response body is written without joining, since a copy costs more; a longer request
body counts as buffered while it arrives."""
CLOSE: Final[Header] = (b"connection", b"close")
_STATUS_LINES: Final = {
    it.value: b"HTTP/1.1 %d %b\r\n" % (it.value, it.phrase.encode()) for it in HTTPStatus
}
_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_NO_CONTENT: Final = 204
_JSON: Final[Header] = (b"content-type", b"application/json")
_JSON_FOLLOWS: Final = b"content-type: application/json\r\n\r\n"
_EVENT_STREAM: Final = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)
_CONTROL_CHARACTER: Final = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


class ExchangeConnection(Protocol):
    """Interface of a connection that its exchanges use."""

    client_network: str
    is_write_paused: bool  # the client must read before more is written

    @property
    def date_field(self) -> bytes:
        """The Date header field of a response, with its line end."""

    def write(self, data: bytes) -> None:
        """Write bytes of a response."""

    async def wait_until_writable(self) -> None:
        """Wait until the client has read enough of what was written, or is gone."""

    def read_on(self) -> None:
        """Continue to read, since a body is wanted or a request is answered."""

    def close(self) -> None:
        """Close the connection once all data is written."""

    def hold_body(self, size: int) -> None:
        """Record how much of a long request body is buffered."""


class HttpError(Exception):
    """A rejected request: an HTTP status, and the text of a JSON-RPC error without an id."""

    def __init__(self, status: int, message: str, headers: Sequence[Header] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers


class HttpExchange:
    """A request and its response.

    `fields` are its header fields (`join_fields`). `address` identifies the client
    (`identify_client`); "" if it is unknown.
    """

    __slots__ = (
        "_body",
        "_common",
        "_connection",
        "_expects_continue",
        "_head",
        "_is_chunked",
        "_is_reading",
        "_task",
        "_waiter",
        "access",
        "address",
        "fields",
        "head",
        "is_complete",
        "is_disconnected",
        "is_ended",
        "is_persistent",
        "is_started",
        "more_body",
    )

    root_path = ""
    """The prefix under which another application mounts the endpoints: "/petstore"."""

    def __init__(
        self,
        connection: ExchangeConnection,
        head: RequestHead,
        fields: dict[bytes, bytes],
        body: bytes | bytearray = b"",
        *,
        more_body: bool = False,
        is_persistent: bool = True,
        expects_continue: bool = False,
    ) -> None:
        """Begin an exchange; with `more_body`, `body` is a `bytearray` that `add_body` extends."""
        self.head = head
        self.fields = fields
        self.address = connection.client_network
        self.access: Access | None = None  # None without authorization
        self.more_body = more_body  # the end of the body has not arrived
        self.is_persistent = is_persistent  # another request may follow on the connection
        self.is_started = False  # the response
        self.is_complete = False  # the response
        self.is_disconnected = False
        self.is_ended = False  # the server ends the stream that it writes
        self._connection = connection
        self._body = body
        self._expects_continue = expects_continue
        self._is_reading = False  # the body is wanted
        self._common: Sequence[Header] = ()  # fields of every response
        self._head = b""  # of the response, until the first part of its body is written
        self._is_chunked = False
        self._waiter: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None

    # -- called by the connection --------------------------------------------------------------

    def start(self, answer: Answer, running: set[HttpExchange]) -> None:
        """Answer the request in a task; `running` contains the exchange until the task ends."""
        running.add(self)  # an event loop keeps no task alive
        self._task = asyncio.get_running_loop().create_task(self._answer(answer, running))

    async def _answer(self, answer: Answer, running: set[HttpExchange]) -> None:
        try:
            await answer(self)
        finally:
            self._task = None
            running.discard(self)
            if not self.is_complete and not self.is_disconnected:
                self._connection.close()

    @property
    def accepts_body(self) -> bool:
        """Whether more of the body may be read now."""
        return self._is_reading or self.is_complete or len(self._body) <= LONG_BYTES

    def add_body(self, data: bytes, *, is_last: bool) -> None:
        """Add a part of the body; it is dropped if the request is already answered."""
        self.more_body = not is_last
        if not self.is_complete:
            self._body += data
            self._wake()

    def disconnect(self) -> None:
        """Record that the connection is lost, and release the body, which is not read any more."""
        self.is_disconnected = not self.is_complete
        self._body = b""  # the exchange may be part of a cycle, which is collected much later
        self._wake()

    @property
    def principal(self) -> str:
        """The authenticated caller; "" without authorization."""
        return "" if self.access is None else self.access.principal

    # -- the request ---------------------------------------------------------------------------

    def text(self, name: bytes) -> str | None:
        """Return a header field's value, trimmed, or None."""
        value = self.fields.get(name)
        return None if value is None else value.strip(b" \t").decode("latin-1")

    def take_body(self, max_bytes: int) -> bytes | None:
        """Return the body, once, if it is complete; None if `read_body` must wait for it.

        Raises:
            HttpError: it is longer than `max_bytes`.
        """
        if self.more_body or self.is_disconnected or self._expects_continue:
            return None
        if len(self._body) > max_bytes:
            raise too_large(max_bytes)
        body, self._body = bytes(self._body), b""
        return body

    async def read_body(self, max_bytes: int) -> bytes:
        """Wait for the whole body and return it, once.

        Raises:
            HttpError: it is longer than `max_bytes`, or the client disconnected before its end.
        """
        self.check_announced_length(max_bytes)
        connection = self._connection
        if self._expects_continue and not self.is_disconnected:
            connection.write(_CONTINUE)
        self._expects_continue = False
        self._is_reading = True
        try:
            while self.more_body and not self.is_disconnected and len(self._body) <= max_bytes:
                if len(self._body) > LONG_BYTES:
                    connection.hold_body(len(self._body))
                connection.read_on()
                await self._wait()
        finally:
            self._is_reading = False
            connection.hold_body(0)
        if self.is_disconnected:
            raise HttpError(400, "incomplete request body: the connection ended", (CLOSE,))
        body = self.take_body(max_bytes)
        if body is None:  # too long, and its end has not arrived
            raise too_large(max_bytes)
        return body

    def check_announced_length(self, max_bytes: int) -> None:
        """Check the length that the request announces, before its body is read.

        Raises:
            HttpError: it is longer than `max_bytes`.
        """
        announced = self.fields.get(b"content-length", b"")
        if len(announced) > 6 and announced.isdigit() and int(announced) > max_bytes:
            raise too_large(max_bytes)

    async def watch(self, stream: ReplyStream, reader: int = 1) -> None:
        """Wait until the client disconnects, or `end_stream`, then detach the stream."""
        while not (self.is_disconnected or self.is_complete or self.is_ended):
            await self._wait()
        if stream.reader == reader:
            stream.detach()

    # -- the response --------------------------------------------------------------------------

    def add_headers(self, headers: Sequence[Header]) -> None:
        """Add these header fields to the response, whatever its status."""
        self._common = headers

    def try_reply(self, status: int, body: bytes = b"") -> bool:
        """Answer without waiting, if possible; return False if `reply` must be awaited."""
        connection = self._connection
        if (
            self._common
            or not self.is_persistent
            or self.is_disconnected
            or self.head.method == "HEAD"
            or connection.is_write_paused
        ):
            return False
        self.is_started = True
        head = b"%b%bcontent-length: %d\r\n%b" % (
            _STATUS_LINES[status],
            connection.date_field,
            len(body),
            _JSON_FOLLOWS if body else b"\r\n",
        )
        self._write(head, body)
        self._complete()
        return True

    async def reply(
        self,
        status: int,
        body: bytes = b"",
        headers: Sequence[Header] = (),
    ) -> None:
        """Answer with JSON, with the media type in `headers`, or with an empty body."""
        has_content = status != _NO_CONTENT
        if has_content and not headers and self.try_reply(status, body):
            return
        fields = [*self._common, *headers]
        if has_content:  # RFC 9110, section 8.6: no Content-Length with status 204
            fields.append((b"content-length", b"%d" % len(body)))
        if body and not any(name == b"content-type" for name, _ in headers):
            fields.append(_JSON)
        self._begin_response(status, fields)
        await self._send(body, is_last=True)

    async def refuse(self, error: HttpError) -> None:
        """Answer with an HTTP status of 400 or more."""
        code = INTERNAL_ERROR if error.status >= 500 else INVALID_REQUEST
        body = encode_json(error_message(code, error.message))
        await self.reply(error.status, body, error.headers)

    async def reply_events(
        self, stream: ReplyStream, reader: int = 1, headers: Sequence[Header] = ()
    ) -> None:
        """Write a stream's events as they arrive, until it ends or has another reader."""
        self._is_chunked = True
        fields = [*_EVENT_STREAM, *self._common, *headers]
        self._begin_response(200, fields, [(b"transfer-encoding", b"chunked")])
        if not stream.pending:
            await self._send(b"")
        while stream.reader == reader:
            is_ending = stream.is_ending
            if stream.pending:
                await self._send(stream.take_pending(), is_last=is_ending)
                if is_ending:
                    return
            elif is_ending:
                break
            else:
                await stream.wait()
        await self._send(b"", is_last=True)

    def end_stream(self) -> None:
        """End the response of a stream that may continue without it."""
        self.is_ended = True
        self._wake()

    def _begin_response(
        self, status: int, fields: Iterable[Header], framing: Iterable[Header] = ()
    ) -> None:
        """Make the head, which is written together with the first part of the body."""
        self.is_started = True
        fields = list(fields)
        if CLOSE in fields:
            self.is_persistent = False
        elif not self.is_persistent:
            fields.append(CLOSE)
        fields += framing
        check_headers(fields)
        lines = [b"%b: %b\r\n" % field for field in fields]
        self._head = b"".join([_STATUS_LINES[status], self._connection.date_field, *lines, b"\r\n"])

    async def _send(self, body: bytes, *, is_last: bool = False) -> None:
        """Write a part of the body, and the head before the first part."""
        if self._connection.is_write_paused:
            await self._connection.wait_until_writable()
        if self.is_disconnected:
            return
        if self._is_chunked:
            body = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            body += b"0\r\n\r\n" if is_last else b""
        head, self._head = self._head, b""
        self._write(head, b"" if self.head.method == "HEAD" else body)
        if is_last:
            self._complete()

    def _write(self, head: bytes, body: bytes) -> None:
        """Write both at once, since two system calls wake the client twice."""
        if len(body) > LONG_BYTES:
            if head:
                self._connection.write(head)
            self._connection.write(body)
        elif head or body:
            self._connection.write(head + body)

    def _complete(self) -> None:
        self.is_complete = True
        self._body = b""
        self._wake()
        if self.is_persistent:
            self._connection.read_on()
        else:
            self._connection.close()

    async def _wait(self) -> None:
        """Wait until the body, the response or the connection has changed."""
        self._waiter = asyncio.get_running_loop().create_future()
        await self._waiter

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


Answer: TypeAlias = Callable[[HttpExchange], Awaitable[None]]


def check_headers(headers: Iterable[Header]) -> None:
    """Check the header fields of a response, which could contain text of others.

    Raises:
        ValueError: a value contains a control character.
    """
    if any(_CONTROL_CHARACTER.search(value) for _, value in headers):
        raise ValueError("control character in a response header")


def too_large(max_bytes: int) -> HttpError:
    """Return the error for a body that is longer than `max_bytes`."""
    return HttpError(413, f"the message is longer than {max_bytes} bytes", (CLOSE,))
