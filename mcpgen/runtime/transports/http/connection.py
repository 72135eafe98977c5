"""One HTTP/1.1 connection: uvicorn's protocol with limits on time, input and buffered output."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sized
from typing import TYPE_CHECKING, Any, Final, cast

import uvicorn
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.server import ServerState

try:
    from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as _HttpProtocol
except ImportError:  # PyPy
    from uvicorn.protocols.http.h11_impl import (  # type: ignore[assignment]  # same interface
        H11Protocol as _HttpProtocol,
    )

from mcpgen.runtime.transports.http.connection_limits import (
    CALLING,
    IDLE,
    STREAMING,
    ConnectionLimits,
)
from mcpgen.runtime.transports.http.exchange import REQUEST_HEAD, WHOLE_MESSAGES, Scope
from mcpgen.runtime.transports.http.fair_share import identify_client
from mcpgen.runtime.transports.http.known_heads import END_OF_HEAD, KnownHead, KnownHeads
from mcpgen.runtime.transports.json_input import MAX_MESSAGE_BYTES

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application, HTTPScope

HEAD_SECONDS: Final = 10.0
BODY_SECONDS: Final = 30.0
LINGER_SECONDS: Final = 5.0  # for the rest of a rejected request
UNREAD_SECONDS: Final = 30.0  # for a client to read `UNREAD_STEP_BYTES` of a response
UNREAD_SECONDS_WHEN_SHORT: Final = 2.0  # while a call waits for memory
UNREAD_STEP_BYTES: Final = 16 * 1024
MAX_HEAD_BYTES: Final = 64 * 1024
MAX_FIELDS: Final = 200  # of a head
MAX_CHUNKS: Final = 65_536  # of a body
LONG_BYTES: Final = 64 * 1024  # a longer body is written without joining: a copy costs more
SLICE_BYTES: Final = 16 * 1024  # of input that is parsed in one turn of the event loop
MAX_WIRE_BYTES: Final = 4 * MAX_MESSAGE_BYTES  # of a body with its chunk headers and trailers
BUSY: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)
_BODY_FIELDS: Final = {b"content-length", b"transfer-encoding"}
_JSON_FOLLOWS: Final = b"content-type: application/json\r\n\r\n"
_HEAD_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)


class HeadJoiner:
    """A transport that writes the head of a response together with the next data.

    uvicorn writes them separately, which doubles the system calls and wakes the client twice. To
    send a head whose body comes later, write b"".

    If the client is still sending, `close` half-closes first: an immediate close would reset the
    connection, and the response could be lost.
    """

    __slots__ = ("_head", "_sends_on", "_transport", "is_lingering", "written_bytes")

    def __init__(self, transport: asyncio.Transport, sends_on: Callable[[], bool]) -> None:
        self._transport = transport
        self._sends_on = sends_on  # whether the client still sends a request already answered
        self._head = b""
        self.is_lingering = False  # half-closed: nothing more is written, input is discarded
        self.written_bytes = 0  # of the latest write

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        """Return whether the transport is closing; defined here because each request calls it."""
        return self.is_lingering or self._transport.is_closing()

    def write(self, data: bytes) -> None:
        """Write data; hold back the head of a response until its body is written."""
        if self._head:
            data, self._head = self._head + data, b""
        elif data.startswith(b"HTTP/1.1 ") and not data.startswith(b"HTTP/1.1 1"):
            self._head = data
            return
        self.written_bytes = len(data)
        self._transport.write(data)

    def close(self) -> None:
        """Close the connection once all data is written."""
        if self._head:
            self.write(b"")
        if not self.is_lingering and self._sends_on():
            self.is_lingering = True
            self._transport.write_eof()
        else:
            self._transport.close()

    def forget_connection(self) -> None:
        """Drop the reference to the connection, which is closed."""
        self._sends_on = bool


def _do_nothing() -> None:
    pass


class InputFlow(FlowControl):
    """uvicorn's read flow control, which first processes the input that was already read."""

    def __init__(self, transport: asyncio.Transport, read_on: Callable[[], None]) -> None:
        super().__init__(transport)
        self._read_on = read_on

    def resume_reading(self) -> None:
        """Continue with the buffered input, else resume reading."""
        if self.read_paused:
            self._read_on()

    def resume_now(self) -> None:
        """Resume reading from the socket."""
        super().resume_reading()

    def forget_connection(self) -> None:
        """Drop the reference to the connection, which is closed."""
        self._read_on = _do_nothing


class Connection(_HttpProtocol):
    """A connection under the server's limits, closed when its client is stuck.

    The server calls `close_if_stuck` about once a second, so that requests need no timers. An
    ordinary exchange bypasses ASGI's events (`WholeMessages`), which cost about as much as a tool
    call.

    Input is parsed in slices, and only up to a request that is not answered yet: neither a burst
    of tiny parts nor thousands of pipelined requests delay other connections.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        limits: ConnectionLimits,
        heads: KnownHeads,
        *,
        on_lost: Callable[[], None],
    ) -> None:
        super().__init__(config=config, server_state=server_state, app_state={})
        self._limits = limits
        self._heads = heads
        self.client_network = ""
        self.used_at = time.monotonic()
        self.held_bytes = 0
        self._unsent_bytes = 0  # of a response that the client has not read
        self._body_buffered = 0  # of a long request body that is still arriving
        self._unparsed = b""
        self._is_parsing_due = False
        self._chunks = 0
        # Requests after the one that is being answered; h11 has no such queue.
        self._queued: Sized = getattr(self, "pipeline", ())
        self._is_between_requests = False  # after at least one complete request
        self._on_lost = on_lost
        self._head_bytes = 0
        self._body_bytes = 0
        self._phase: tuple[object, ...] = ()  # what the client owes; () for nothing
        self._phase_since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        """Register the connection, or reject it with status 503 if there are too many."""
        super().connection_made(transport)
        self._write = transport.write
        self._joiner = HeadJoiner(transport, self._sends_on)
        self.transport = cast("asyncio.Transport", self._joiner)
        self.flow = self._flow = InputFlow(transport, self._read_on)
        self.client_network = identify_client(self.client[0]) if self.client else ""
        if not self._limits.add(self):
            transport.write(BUSY)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Unregister the connection and release its references."""
        super().connection_lost(exc)
        self._unparsed = b""
        self._limits.remove(self)
        # Break the reference cycles, since the garbage collector runs rarely.
        self._joiner.forget_connection()
        self._flow.forget_connection()
        if self._queued:
            self.pipeline.clear()
        if self.scope is not None:
            self.scope.pop("extensions", None)
        self._on_lost()

    def data_received(self, data: bytes) -> None:
        """Process received bytes, or queue them behind an unanswered request."""
        if self._joiner.is_lingering:
            return
        self.used_at = time.monotonic()
        if self._is_between_requests:
            cycle = self.cycle
            if self._unparsed or not cycle.response_complete or self._flow.write_paused:
                self._parse_later(data)
            elif cycle.keep_alive:
                self._receive_request(data)
            else:
                self._parse_whole(data)
        else:
            self._parse_whole(data)

    def _receive_request(self, data: bytes) -> None:
        """Process the next request; a complete one with a known head needs no parser."""
        head, end, body = data.partition(END_OF_HEAD)
        known = self._heads.find(head) if end else None
        if known is not None and known.body_bytes == len(body):
            self._begin(known, body)
            return
        former = self.cycle
        self._parse_whole(data)
        cycle = self.cycle
        is_whole = cycle is not former and self._is_between_requests and cycle.body == body
        if is_whole and cycle.keep_alive:
            self._heads.add(head, cast("Scope", self.scope), len(body))

    def _parse_whole(self, data: bytes) -> None:
        """Parse the input at once, unless it is long or may contain several requests."""
        if self._unparsed or len(data) > SLICE_BYTES or data.count(END_OF_HEAD) > 1:
            self._parse_later(data)
        else:
            self._parse(data)

    def _parse_later(self, data: bytes) -> None:
        """Buffer the input, and stop reading until it is parsed."""
        self._unparsed += data
        self._count_held()
        self._flow.pause_reading()
        self._read_on()

    def _read_on(self) -> None:
        """Continue with the input: first the buffered input, then the socket."""
        if self._unparsed:
            if not self._is_parsing_due and not self._has_to_answer():
                self._is_parsing_due = True
                self._limits.parse_later(self)
        elif not self._queued and not self._flow.write_paused:
            self._flow.resume_now()

    def _has_to_answer(self) -> bool:
        """Return whether a complete request is unanswered, or its answer unread."""
        if self._flow.write_paused or self._queued:
            return True
        return self._is_between_requests and not self.cycle.response_complete

    def parse_next(self) -> None:
        """Parse the next slice of the buffered input."""
        self._is_parsing_due = False
        if self.transport.is_closing():
            self._unparsed = b""
        elif not self._has_to_answer():
            size = self._slice_size()
            piece, self._unparsed = self._unparsed[:size], self._unparsed[size:]
            self._parse(piece)
            self._read_on()
        self._count_held()

    def _slice_size(self) -> int:
        """Return the size of the next slice, which ends with its request where that is known."""
        cycle = self.cycle
        if cycle is None or not cycle.more_body:
            end = self._unparsed.find(END_OF_HEAD, 0, SLICE_BYTES)
            return SLICE_BYTES if end < 0 else end + len(END_OF_HEAD)
        announced = next((value for name, value in self.headers if name == b"content-length"), b"")
        left = int(announced) - self._body_bytes if announced.isdigit() else 0
        return min(left, SLICE_BYTES) if left > 0 else SLICE_BYTES

    def _count_held(self) -> None:
        size = self._unsent_bytes + self._body_buffered + len(self._unparsed)
        self._limits.hold(self, size)

    def _parse(self, data: bytes) -> None:
        cycle = self.cycle
        in_body = cycle is not None and cycle.more_body and not cycle.response_complete
        super().data_received(data)
        if self._chunks > MAX_CHUNKS:
            self.transport.close()
        elif self.cycle is not cycle:
            self._head_bytes = self._body_bytes = 0
        elif in_body:
            self._body_bytes += len(data)
            if self._body_bytes > MAX_WIRE_BYTES or len(self.headers) > MAX_FIELDS:  # or trailers
                self.transport.close()
        else:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
                self.transport.write(_HEAD_TOO_LARGE)
                self.transport.close()

    def on_message_begin(self) -> None:
        """Begin a request and offer it the `WholeMessages` extension."""
        super().on_message_begin()
        self._is_between_requests = False
        self._chunks = 0
        scope: Scope = cast("Scope", self.scope)  # which ASGI lets servers extend
        scope["extensions"] = {WHOLE_MESSAGES: self}

    def on_headers_complete(self) -> None:
        """Begin to answer the request.

        An upgrade request is answered like any other, but its body would be parsed as the next
        request.

        Raises:
            ValueError: too many header fields, or an upgrade with a body. uvicorn answers 400.
        """
        if len(self.headers) > MAX_FIELDS:
            raise ValueError("too many header fields")
        if self.parser.should_upgrade() and not _BODY_FIELDS.isdisjoint(dict(self.headers)):
            raise ValueError("an upgrade with a body")
        super().on_headers_complete()

    def on_chunk_header(self) -> None:
        """Count the chunks of a body: each costs far more than a byte."""
        self._chunks += 1

    def on_message_complete(self) -> None:
        """Record that a request is complete."""
        super().on_message_complete()
        self._is_between_requests = True

    def _begin(self, known: KnownHead, body: bytes) -> None:
        """Begin a request as uvicorn does, with the parsed form of its known head."""
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
            keep_alive=not self._limits.asks_to_close,
            on_response=self.on_response_complete,
        )
        cycle.body += body
        cycle.more_body = False
        cycle.message_event.set()
        super()._start_asgi_task(cycle, self.app)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        if self._limits.asks_to_close:
            cycle.keep_alive = False
        super()._start_asgi_task(cycle, app)

    def on_url(self, url: bytes) -> None:
        """Process the request target; an absolute one counts as another Host header."""
        if not self.url and not url.startswith(b"/"):
            self.headers.append((b"host", url))
        super().on_url(url)

    def on_response_complete(self) -> None:
        """Send a head without a body, as in an answer to HEAD; continue with the queued input."""
        if not self.transport.is_closing():
            self.transport.write(b"")
        super().on_response_complete()
        self._flow.resume_reading()

    def pause_writing(self) -> None:
        """Stop reading from a client that does not read its responses."""
        super().pause_writing()
        buffered = self.transport.get_write_buffer_size()
        # The transport may keep all of the written data until its last byte is sent.
        self._unsent_bytes = max(buffered, self._joiner.written_bytes)
        self._flow.pause_reading()
        self._count_held()

    def resume_writing(self) -> None:
        """Continue, since the client has read its response."""
        super().resume_writing()
        self._unsent_bytes = 0
        self._count_held()
        self._flow.resume_reading()

    def hold_body(self, size: int) -> None:
        """Record how much of a long request body is buffered."""
        self._body_buffered = size
        self._count_held()

    def state(self) -> int:
        """Return IDLE, STREAMING or CALLING (`connection_limits`)."""
        cycle = self.cycle
        if cycle is None or cycle.response_complete or cycle.more_body:
            return IDLE
        return STREAMING if cycle.response_started else CALLING

    def abort(self) -> None:
        """Close the connection at once."""
        self._unparsed = b""
        self.transport.abort()

    def take_body(self, scope: Scope) -> bytes | None:
        """Return the body if it is complete, else None."""
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
        """Answer with JSON or an empty body; return False if uvicorn must send the response."""
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
        if len(body) > LONG_BYTES:
            self._joiner.written_bytes = len(body)
            self._write(head + _JSON_FOLLOWS)
            self._write(body)
        else:
            self._write(head + (_JSON_FOLLOWS if body else b"\r\n") + body)
        if self.flow.read_paused:
            self.flow.resume_reading()
        return True

    def close_if_stuck(self, now: float) -> None:
        """Close the connection if its client has made no progress within the time limit."""
        phase, limit = self._find_client_phase()
        if phase != self._phase:
            self._phase, self._phase_since = phase, now
            if self._flow.write_paused:
                self.used_at = time.monotonic()  # the client reads
        elif phase and now - self._phase_since >= limit:
            self.transport.abort()

    def _sends_on(self) -> bool:
        cycle = self.cycle
        if cycle is None or not cycle.response_complete or not cycle.more_body:
            return False
        self.flow.resume_reading()
        return not cycle.disconnected

    def _find_client_phase(self) -> tuple[tuple[object, ...], float]:
        """Return what the client owes and its time limit in seconds; () if it owes nothing."""
        cycle: Any = self.cycle
        if self._joiner.is_lingering:
            return ("end",), LINGER_SECONDS
        if self.flow.write_paused:
            steps = self.transport.get_write_buffer_size() // UNREAD_STEP_BYTES
            is_short = self._limits.is_memory_short
            return ("unread", steps), UNREAD_SECONDS_WHEN_SHORT if is_short else UNREAD_SECONDS
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
