"""One TCP connection: uvicorn's, which does not wait for ever and does not take any amount."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, cast

import uvicorn
from uvicorn.server import ServerState

try:
    from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as _HttpProtocol
except ImportError:  # PyPy
    from uvicorn.protocols.http.h11_impl import (  # type: ignore[assignment]  # alike, for us
        H11Protocol as _HttpProtocol,
    )

from mcpgen.runtime.transports.http_exchange import REQUEST_HEAD, WHOLE_MESSAGES, Scope
from mcpgen.runtime.transports.json_input import MAX_MESSAGE_BYTES
from mcpgen.runtime.transports.known_heads import END_OF_HEAD, KnownHead, KnownHeads

if TYPE_CHECKING:
    from uvicorn._types import HTTPScope

HEAD_SECONDS: Final = 10.0
BODY_SECONDS: Final = 30.0
LINGER_SECONDS: Final = 5.0  # for the rest of a request that is refused
UNREAD_SECONDS: Final = 30.0  # how long a client may read nothing of what is sent
MAX_HEAD_BYTES: Final = 64 * 1024
MAX_WIRE_BYTES: Final = 4 * MAX_MESSAGE_BYTES  # of a body with its chunk headers and trailers
MAX_CONNECTIONS: Final = 12_000
_SPARE_DESCRIPTORS: Final = 200  # for the upstream, and whatever handlers open
_BUSY: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)
_JSON_FOLLOWS: Final = b"content-type: application/json\r\n\r\n"
_HEAD_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)


class HeadJoiner:
    """A transport that sends the head of a response together with what follows it.

    uvicorn writes them one after the other: twice the system calls, and a client that is woken
    twice. A response whose body comes later writes b"" to have its head sent.

    It closes in two steps where the client still sends: closed at once, the connection would be
    reset, and the response could be lost with it.
    """

    __slots__ = ("_head", "_sends_on", "_transport", "is_lingering")

    def __init__(self, transport: asyncio.Transport, sends_on: Callable[[], bool]) -> None:
        self._transport = transport
        self._sends_on = sends_on  # tells whether the client still sends what it was answered to
        self._head = b""
        self.is_lingering = False  # nothing more is written, and what comes is thrown away

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        """As the transport's; spelled out because each request asks."""
        return self.is_lingering or self._transport.is_closing()

    def write(self, data: bytes) -> None:
        """Write, or keep the head of a response until its body comes."""
        if self._head:
            data, self._head = self._head + data, b""
        elif data.startswith(b"HTTP/1.1 ") and not data.startswith(b"HTTP/1.1 1"):
            self._head = data
            return
        self._transport.write(data)

    def close(self) -> None:
        """Close the connection when all is written."""
        if self._head:
            self.write(b"")
        if not self.is_lingering and self._sends_on():
            self.is_lingering = True
            self._transport.write_eof()
        else:
            self._transport.close()


class Connection(_HttpProtocol):
    """A connection that is refused when there are too many, and closed when its client is stuck.

    Time is looked at from outside (`close_if_stuck`, about once a second), so that a request
    costs no timer. An ordinary exchange passes whole (`WholeMessages`): ASGI's events for it would
    cost about as much as a tool call does.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        max_connections: int,
        heads: KnownHeads,
        *,
        on_lost: Callable[[], None],
    ) -> None:
        super().__init__(config=config, server_state=server_state, app_state={})
        self._max_connections = max_connections
        self._heads = heads
        self._is_between_requests = False  # and one has come
        self._on_lost = on_lost
        self._head_bytes = 0
        self._body_bytes = 0
        self._phase: tuple[object, ...] = ()  # what the client is slow with; () for nothing
        self._phase_since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        """Serve the connection, unless it is one too many."""
        super().connection_made(transport)
        self._write = transport.write
        self._joiner = HeadJoiner(transport, self._sends_on)
        self.transport = cast("asyncio.Transport", self._joiner)
        if len(self.connections) > self._max_connections:
            transport.write(_BUSY)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection, and say so."""
        super().connection_lost(exc)
        if self.scope is not None:
            self.scope.pop("extensions", None)  # or only the collector would free this connection
        self._on_lost()

    def data_received(self, data: bytes) -> None:
        """Take bytes, unless the request they belong to has had enough."""
        if self._joiner.is_lingering:
            return
        cycle = self.cycle
        if self._is_between_requests and cycle.response_complete and cycle.keep_alive:
            self._receive_request(data)
        else:
            self._parse(data)

    def _receive_request(self, data: bytes) -> None:
        """Take the next request. One that comes whole with a known head needs no parser."""
        head, end, body = data.partition(END_OF_HEAD)
        known = self._heads.find(head) if end else None
        if known is not None and known.body_bytes == len(body):
            self._begin(known, body)
            return
        former = self.cycle
        self._parse(data)
        cycle = self.cycle
        is_whole = cycle is not former and self._is_between_requests and cycle.body == body
        if is_whole and cycle.keep_alive:
            self._heads.add(head, cast("Scope", self.scope), len(body))

    def _parse(self, data: bytes) -> None:
        cycle = self.cycle
        in_body = cycle is not None and cycle.more_body and not cycle.response_complete
        super().data_received(data)
        if self.cycle is not cycle:
            self._head_bytes = self._body_bytes = 0
        elif in_body:
            self._body_bytes += len(data)
            if self._body_bytes > MAX_WIRE_BYTES:
                self.transport.close()
        else:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
                self.transport.write(_HEAD_TOO_LARGE)
                self.transport.close()

    def on_message_begin(self) -> None:
        """Begin a request, whose body and response may pass whole."""
        super().on_message_begin()
        self._is_between_requests = False
        scope: Scope = cast("Scope", self.scope)  # which ASGI lets servers extend
        scope["extensions"] = {WHOLE_MESSAGES: self}

    def on_message_complete(self) -> None:
        """Note that a request has come whole."""
        super().on_message_complete()
        self._is_between_requests = True

    def _begin(self, known: KnownHead, body: bytes) -> None:
        """Begin a request as uvicorn does, with what its head was found to say before."""
        self._unset_keepalive_if_required()
        self._head_bytes = self._body_bytes = 0
        scope = {
            **known.scope,
            "client": self.client,
            "server": self.server,
            "state": {},
            "extensions": {WHOLE_MESSAGES: self, REQUEST_HEAD: known.head},
        }
        self.scope = cast("HTTPScope", scope)
        cycle = self.cycle = RequestResponseCycle(
            scope=self.scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=self.access_log,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=False,
            keep_alive=True,
            on_response=self.on_response_complete,
        )
        cycle.body += body
        cycle.more_body = False
        cycle.message_event.set()
        self._start_asgi_task(cycle, self.app)

    def on_url(self, url: bytes) -> None:
        """Take the request target. One that names a host counts as another Host header."""
        if not self.url and not url.startswith(b"/"):
            self.headers.append((b"host", url))
        super().on_url(url)

    def on_response_complete(self) -> None:
        """Send a head that no body took along, as of an answer to HEAD; go on with what waits."""
        if not self.transport.is_closing():
            self.transport.write(b"")
        super().on_response_complete()

    def take_body(self, scope: Scope) -> bytes | None:
        """Give the body of a request that is all there, else None."""
        cycle = self.cycle
        if (
            cycle.scope is not scope
            or cycle.more_body
            or cycle.disconnected
            or cycle.waiting_for_100_continue
        ):
            return None
        body = bytes(cycle.body)
        cycle.body.clear()
        cycle.message_event.clear()
        if self.flow.read_paused:
            self.flow.resume_reading()
        return body

    def reply(self, scope: Scope, status: int, body: bytes) -> bool:
        """Answer with JSON, or nothing; False where uvicorn must, for it is no ordinary answer."""
        cycle = self.cycle
        if (
            cycle.scope is not scope
            or cycle.response_started
            or cycle.disconnected
            or not cycle.keep_alive
            or self.flow.write_paused
            or scope["method"] == "HEAD"
        ):
            return False
        cycle.response_started = cycle.response_complete = True
        cycle.message_event.set()
        (_, date), *_ = self.server_state.default_headers
        head = b"%bdate: %b\r\ncontent-length: %d\r\n" % (STATUS_LINE[status], date, len(body))
        self._write(head + (_JSON_FOLLOWS if body else b"\r\n") + body)
        if self.flow.read_paused:
            self.flow.resume_reading()
        return True

    def close_if_stuck(self, now: float) -> None:
        """Close the connection if its client has been slow with the same thing for too long."""
        phase, limit = self._client_is_due()
        if phase != self._phase:
            self._phase, self._phase_since = phase, now
        elif phase and now - self._phase_since >= limit:
            self.transport.abort()

    def _sends_on(self) -> bool:
        cycle = self.cycle
        if cycle is None or not cycle.response_complete or not cycle.more_body:
            return False
        self.flow.resume_reading()
        return not cycle.disconnected

    def _client_is_due(self) -> tuple[tuple[object, ...], float]:
        """Give what is awaited from the client, and for how long; () where it is our turn."""
        cycle: Any = self.cycle
        if self._joiner.is_lingering:
            return ("end",), LINGER_SECONDS
        if self.flow.write_paused:
            return ("unread", self.transport.get_write_buffer_size()), UNREAD_SECONDS
        if cycle is None:
            return ("head",), HEAD_SECONDS
        if cycle.response_complete:
            if self.timeout_keep_alive_task is not None:
                return (), 0.0  # uvicorn's own timer runs
            if self._head_bytes == 0:
                return ("idle", cycle), self.timeout_keep_alive
            return ("head", cycle), HEAD_SECONDS
        if cycle.more_body:
            return ("body", cycle), BODY_SECONDS
        return (), 0.0


def max_connections() -> int:
    """Give how many connections the process can have, by the descriptors that it may open."""
    try:
        import resource
    except ImportError:  # Windows, where sockets are no descriptors
        return MAX_CONNECTIONS
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return max(1, min(MAX_CONNECTIONS, soft - min(_SPARE_DESCRIPTORS, soft // 2)))
