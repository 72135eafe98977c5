"""A request that is being answered: its body and its response, as ASGI events or in one piece."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, Final, Protocol

from mcpgen.runtime.transports.http.exchange import AsgiApplication, Scope
from mcpgen.runtime.transports.http.request_head import Header

LONG_BYTES: Final = 64 * 1024  # a longer body is written without joining: a copy costs more
MAX_UNREAD_BODY_BYTES: Final = 64 * 1024  # of a request; above this, reading waits for the handler
CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_STATUS_LINES: Final = {
    it.value: b"HTTP/1.1 %d %b\r\n" % (it.value, it.phrase.encode()) for it in HTTPStatus
}
_JSON_FOLLOWS: Final = b"content-type: application/json\r\n\r\n"
_CONTROL_CHARACTER: Final = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_WITHOUT_CONTENT: Final = frozenset({204, 304})


class RequestConnection(Protocol):
    """Interface of a connection that its requests use."""

    client_network: str

    @property
    def is_write_paused(self) -> bool:
        """Whether the client must read before more is written."""
        ...

    @property
    def date_field(self) -> bytes:
        """The Date header field of a response, with its line end."""
        ...

    def write(self, data: bytes) -> None:
        """Write bytes of a response."""
        ...

    async def wait_until_writable(self) -> None:
        """Wait until the client has read enough of what was written, or is gone."""
        ...

    def read_on(self) -> None:
        """Continue to read, after a body was taken or a request answered."""
        ...

    def close(self) -> None:
        """Close the connection once all data is written."""
        ...

    def hold_body(self, size: int) -> None:
        """Record how much of a long request body is buffered."""
        ...


class AsgiRequest:
    """A request and its response.

    `receive` and `send` are those of ASGI. An ordinary exchange uses `take_body` and `reply`
    instead (`WholeMessages`), since ASGI's events cost about as much as a tool call.
    """

    __slots__ = (
        "_body",
        "_connection",
        "_expects_continue",
        "_has_unread_body",
        "_head",
        "_is_chunked",
        "_is_head_request",
        "_task",
        "_waiter",
        "client_network",
        "is_complete",
        "is_disconnected",
        "is_persistent",
        "is_started",
        "more_body",
    )

    def __init__(
        self,
        connection: RequestConnection,
        method: str,
        body: bytes = b"",
        *,
        more_body: bool = False,
        is_persistent: bool = True,
        expects_continue: bool = False,
    ) -> None:
        self.client_network = connection.client_network
        self.is_persistent = is_persistent  # another request may follow on the connection
        self.more_body = more_body  # the end of the body has not arrived
        self.is_started = False  # the response
        self.is_complete = False  # the response
        self.is_disconnected = False
        self._connection = connection
        self._is_head_request = method == "HEAD"
        self._expects_continue = expects_continue
        self._body = body  # the part that has arrived and was not taken
        self._has_unread_body = not more_body  # or the unread end of an empty body
        self._waiter: asyncio.Future[None] | None = None
        self._head = b""  # of the response, until its body is written
        self._is_chunked = False
        self._task: asyncio.Task[None] | None = None

    def start(self, application: AsgiApplication, scope: Scope, running: set[AsgiRequest]) -> None:
        """Answer the request in a task; `running` contains the request until the task ends."""
        running.add(self)  # an event loop keeps no task alive
        loop = asyncio.get_running_loop()
        self._task = loop.create_task(self._answer(application, scope, running))

    async def _answer(
        self, application: AsgiApplication, scope: Scope, running: set[AsgiRequest]
    ) -> None:
        try:
            await application(scope, self.receive, self.send)
        finally:
            self._task = None
            running.discard(self)
            if not self.is_complete and not self.is_disconnected:
                self._connection.close()

    # -- called by the connection --------------------------------------------------------------

    @property
    def accepts_body(self) -> bool:
        """Whether more of the body may be read now."""
        return self.is_complete or len(self._body) <= MAX_UNREAD_BODY_BYTES

    def add_body(self, data: bytes, *, is_last: bool) -> None:
        """Add a part of the body; it is dropped if the request is already answered."""
        self.more_body = not is_last
        if self.is_complete:
            return
        self._body += data
        if data or is_last:
            self._has_unread_body = True
            self._wake()

    def disconnect(self) -> None:
        """Record that the connection is lost."""
        self.is_disconnected = not self.is_complete
        self._wake()

    # -- called by the application -------------------------------------------------------------

    def take_body(self) -> bytes | None:
        """Return the body if it is complete, else None."""
        if self.more_body or self.is_disconnected or self._expects_continue:
            return None
        body, self._body = self._body, b""
        self._has_unread_body = False
        return body

    def hold_body(self, size: int) -> None:
        """Record how much of a long body is buffered while the rest is read."""
        self._connection.hold_body(size)

    def reply(self, status: int, body: bytes) -> bool:
        """Answer with JSON or an empty body; return False if `send` must be used."""
        connection = self._connection
        if (
            self.is_started
            or self.is_disconnected
            or self._is_head_request
            or not self.is_persistent
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

    async def receive(self) -> dict[str, Any]:
        """Wait for a part of the body, or for the end of the request or its connection."""
        if self._expects_continue and not self.is_disconnected:
            self._expects_continue = False
            self._connection.write(CONTINUE)
        while not (self._has_unread_body or self.is_complete or self.is_disconnected):
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        if self.is_complete or self.is_disconnected:
            return {"type": "http.disconnect"}
        body, self._body = self._body, b""
        self._has_unread_body = False
        if self.more_body:
            self._connection.read_on()
        return {"type": "http.request", "body": body, "more_body": self.more_body}

    async def send(self, message: dict[str, Any]) -> None:
        """Send the start of the response or a part of its body, if the client is connected."""
        if self._connection.is_write_paused:
            await self._connection.wait_until_writable()
        if self.is_disconnected:
            return
        if message["type"] == "http.response.start":
            self._begin_response(message["status"], message["headers"])
            return
        body, more_body = message["body"], message.get("more_body", False)
        if self._is_head_request:
            body = b""
        elif self._is_chunked:
            body = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            body += b"" if more_body else b"0\r\n\r\n"
        head, self._head = self._head, b""
        if head or body:
            self._write(head, body)
        if not more_body:
            self._complete()

    def _begin_response(self, status: int, headers: Iterable[Header]) -> None:
        """Make the head, which is written together with the first part of the body."""
        self.is_started = True
        self._expects_continue = False
        lines = [_STATUS_LINES[status], self._connection.date_field]
        names = set()
        for name, value in headers:
            if _CONTROL_CHARACTER.search(value):
                raise ValueError(f"control character in the response header {name!r}")
            names.add(name)
            lines.append(b"%b: %b\r\n" % (name, value))
            if name == b"connection" and value == b"close":
                self.is_persistent = False
        if not self.is_persistent and b"connection" not in names:
            lines.append(b"connection: close\r\n")
        is_delimited = b"content-length" in names or status in _WITHOUT_CONTENT
        if not is_delimited and not self._is_head_request:
            self._is_chunked = True
            lines.append(b"transfer-encoding: chunked\r\n")
        self._head = b"".join([*lines, b"\r\n"])

    def _write(self, head: bytes, body: bytes) -> None:
        """Write both at once, since two system calls wake the client twice."""
        if len(body) > LONG_BYTES:
            if head:
                self._connection.write(head)
            self._connection.write(body)
        else:
            self._connection.write(head + body)

    def _complete(self) -> None:
        self.is_complete = True
        self._body = b""
        self._wake()
        if self.is_persistent:
            self._connection.read_on()
        else:
            self._connection.close()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
