"""One HTTP/1.1 connection, with limits on time, input and buffered output."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, cast

from mcpgen.contract.limits import DEFAULT_LIMITS, Limits
from mcpgen.runtime.http_syntax import ChunkedDecoder, MalformedMessageError
from mcpgen.runtime.transports.http.connection_limits import (
    CALLING,
    IDLE,
    STREAMING,
    ConnectionLimits,
    identify_client,
)
from mcpgen.runtime.transports.http.exchange import Answer, HttpExchange
from mcpgen.runtime.transports.http.latest_head import LatestHead
from mcpgen.runtime.transports.http.request_head import (
    ORDINARY,
    ParsedRequest,
    can_begin_request,
)

LINGER_SECONDS: Final = 5.0  # for the rest of a rejected request
UNREAD_SECONDS_WHEN_SHORT: Final = 2.0  # while a call waits for memory
UNREAD_STEP_BYTES: Final = 16 * 1024  # of a response, which a client must read in time
MAX_HEAD_BYTES: Final = 64 * 1024
MAX_CHUNKS: Final = 65_536  # of a body
SLICE_BYTES: Final = 16 * 1024  # of a chunked body that is decoded in one turn of the event loop
MAX_WIRE_RATIO: Final = 4  # of a body with its chunk headers and trailers to the longest message
BUSY: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)
_HEAD_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)
_MALFORMED: Final = b"Invalid HTTP request received."
_END_OF_HEAD: Final = b"\r\n\r\n"
_EMPTY_LINES: Final = re.compile(rb"(?:\r\n)*+")


@dataclass
class ServerState:
    """Common state of all connections of a server."""

    answer: Answer
    limits: ConnectionLimits
    settings: Limits = DEFAULT_LIMITS
    connections: set[Connection] = field(default_factory=set)
    running: set[HttpExchange] = field(default_factory=set)  # those whose tasks have not ended
    date_field: bytes = b""  # of responses, with its line end


class Connection(asyncio.Protocol):
    """A connection under the server's limits, closed when its client is stuck.

    The server calls `close_if_stuck` about once a second, so that requests need no timers.

    Input is processed in steps: one head, or one slice of a body, and only up to a request that is
    not answered yet. Neither a burst of tiny parts nor thousands of pipelined requests delay other
    connections.
    """

    def __init__(self, server: ServerState, *, on_lost: Callable[[], None]) -> None:
        self.client_network = ""
        self.used_at = time.monotonic()
        self.buffered_bytes = 0
        self._server = server
        self._limits = server.limits
        self._on_lost = on_lost
        self._exchange: HttpExchange | None = None  # the newest one
        self._head = LatestHead()
        self._body_left = 0  # of its body, if that is not chunked
        self._chunks: ChunkedDecoder | None = None
        self._wire_bytes = 0  # of its chunked body
        self._input = bytearray()  # not processed yet
        self._searched_bytes = 0  # of the input, which do not complete a head
        self._skipped_bytes = 0  # of empty lines before a head
        self._needs_data = False  # for the next step
        self._is_step_due = False
        self._is_reading = True
        self._unread_bytes = 0  # of a response that the client has not read
        self._written_bytes = 0  # by the latest write
        self._body_buffered = 0  # of a long request body that is still arriving
        self.is_write_paused = False  # the client must read before more is written
        self._became_writable: asyncio.Event | None = None  # None unless writing is paused
        self._is_lingering = False  # half-closed: nothing more is written, input is discarded
        self._phase: tuple[object, ...] = ()  # what the client owes; () for nothing
        self._phase_since = 0.0

    # -- called by the event loop --------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the connection, or reject it with status 503 if there are too many."""
        self.transport = cast("asyncio.Transport", transport)
        self._server.connections.add(self)
        peer = self.transport.get_extra_info("peername")
        self.client_network = identify_client(str(peer[0])) if isinstance(peer, tuple) else ""
        if not self._limits.add(self):
            self.transport.write(BUSY)
            self.transport.close()

    def connection_lost(self, _: Exception | None) -> None:
        """Unregister the connection and release its references."""
        self._server.connections.discard(self)
        self._input.clear()
        self._unread_bytes = 0
        self._limits.remove(self)
        self._end_write_pause()
        if self._exchange is not None:
            self._exchange.disconnect()
            self._exchange = None  # a reference cycle; the garbage collector runs rarely
        self._head = LatestHead()  # the former one may have secrets
        self._on_lost()

    def data_received(self, data: bytes) -> None:
        """Process received bytes. A request that arrives in one piece is not buffered."""
        if self._is_lingering:
            return
        self.used_at = time.monotonic()
        if not self._input and self._can_begin_request():
            head, end, body = data.partition(_END_OF_HEAD)
            whole = self._parse_whole(head, body) if end else None
            if whole is not None:
                self._begin(HttpExchange(self, whole.head, whole.fields, body))
                return
        self._input += data
        self._needs_data = False
        if len(self._input) > SLICE_BYTES:
            self.read_on()
        elif not self._is_step_due:
            self._take_step()

    def pause_writing(self) -> None:
        """Stop reading from a client that does not read its responses."""
        self.is_write_paused = True
        self._became_writable = asyncio.Event()
        # The transport may keep all of the written data until its last byte is sent.
        self._unread_bytes = max(self.transport.get_write_buffer_size(), self._written_bytes)
        self._pause_reading()
        self._count_buffer()

    def resume_writing(self) -> None:
        """Continue, since the client has read its response."""
        self._end_write_pause()
        self._unread_bytes = 0
        self._count_buffer()
        self.read_on()

    def _end_write_pause(self) -> None:
        self.is_write_paused = False
        if self._became_writable is not None:
            self._became_writable.set()
            self._became_writable = None

    # -- input ---------------------------------------------------------------------------------

    def read_on(self) -> None:
        """Continue with the buffered input, else with the socket."""
        if not self._can_take_step():
            if self._input or self._incoming is not None:
                self._pause_reading()
        elif self._input and not self._needs_data:
            self._pause_reading()
            if not self._is_step_due:
                self._is_step_due = True
                self._limits.parse_later(self)
        elif not self._is_reading and not self.transport.is_closing():
            self._is_reading = True
            self.transport.resume_reading()

    def parse_next(self) -> None:
        """Process the next step of the buffered input."""
        self._is_step_due = False
        if self.transport.is_closing():
            self._input.clear()
            self._count_buffer()
        else:
            self._take_step()

    def _take_step(self) -> None:
        """Process one head or one slice of a body, if possible, and continue."""
        if self._can_take_step():
            if self._incoming is not None:
                self._read_body(self._incoming)
            else:
                self._read_head()
        if self._input or self.buffered_bytes:
            self._count_buffer()
        self.read_on()

    def _can_take_step(self) -> bool:
        exchange = self._incoming
        if exchange is None:
            return self._can_begin_request()
        return not self.is_write_paused and exchange.accepts_body

    def _can_begin_request(self) -> bool:
        """Return whether the newest request was received and answered completely."""
        if self.is_write_paused:
            return False
        exchange = self._exchange
        return exchange is None or (exchange.is_complete and not exchange.more_body)

    @property
    def _incoming(self) -> HttpExchange | None:
        """The request whose body is arriving."""
        exchange = self._exchange
        return exchange if exchange is not None and exchange.more_body else None

    def _read_head(self) -> None:
        """Begin a request if the input has its complete head; reject one that is malformed."""
        received = self._input
        empty_lines = _EMPTY_LINES.match(received)
        if empty_lines is not None and empty_lines.end():
            self._skipped_bytes += empty_lines.end()
            del received[: empty_lines.end()]
        end = received.find(_END_OF_HEAD, max(0, self._searched_bytes - 3))
        size = self._head_bytes if end < 0 else self._skipped_bytes + end
        if size > MAX_HEAD_BYTES:
            self.write(_HEAD_TOO_LARGE)
            self.transport.close()
        elif end >= 0:
            head = bytes(received[:end])
            del received[: end + len(_END_OF_HEAD)]
            self._searched_bytes = self._skipped_bytes = 0
            self._begin_parsed(head)
        elif can_begin_request(received, self._searched_bytes):
            self._searched_bytes = len(received)
            self._needs_data = True
        else:
            self._reject()

    @property
    def _head_bytes(self) -> int:
        """Size of an incomplete head, with the empty lines before it."""
        return self._skipped_bytes + len(self._input)

    def _parse_whole(self, head: bytes, body: bytes) -> ParsedRequest | None:
        """Parse the head of a request that has arrived whole; None if it may not have."""
        if len(head) > SLICE_BYTES or not (body or head.startswith(b"GET ")):
            return None
        try:
            parsed = self._head.parse(head)
        except MalformedMessageError:  # or after empty lines, which may come before a request
            return None
        is_whole = parsed.content_length == len(body) and parsed.transfer == ORDINARY
        return parsed if is_whole else None

    def _begin_parsed(self, head: bytes) -> None:
        """Begin the request with this head and the first part of its body."""
        try:
            parsed = self._head.parse(head)
        except MalformedMessageError:
            self._reject()
            return
        transfer = parsed.transfer
        self._chunks = ChunkedDecoder() if transfer.is_chunked else None
        self._body_left, self._wire_bytes = parsed.content_length, 0
        exchange = HttpExchange(
            self,
            parsed.head,
            parsed.fields,
            bytearray(),
            more_body=transfer.is_chunked or parsed.content_length > 0,
            is_persistent=transfer.is_persistent,
            expects_continue=transfer.expects_continue,
        )
        self._begin(exchange)
        if exchange.more_body and self._input:
            self._read_body(exchange)

    def _begin(self, exchange: HttpExchange) -> None:
        if self._limits.asks_to_close:
            exchange.is_persistent = False
        self._exchange = exchange
        exchange.start(self._server.answer, self._server.running)

    def _read_body(self, exchange: HttpExchange) -> None:
        """Read the next part of the body; reject one that is malformed or has too many chunks."""
        received = self._input
        size = len(received)
        try:
            if self._chunks is not None:
                data = self._chunks.feed(received, SLICE_BYTES)
                is_last = self._chunks.is_complete
            else:
                data = bytes(received[: self._body_left])
                del received[: self._body_left]
                self._body_left -= len(data)
                is_last = self._body_left == 0
        except MalformedMessageError:
            self._reject()
            return
        self._needs_data = len(received) == size
        self._wire_bytes += size - len(received)
        exchange.add_body(data, is_last=is_last)
        if self._chunks is not None and (
            self._wire_bytes > MAX_WIRE_RATIO * self._server.settings.max_message_bytes
            or self._chunks.chunk_count > MAX_CHUNKS
        ):
            self.abort()

    def _pause_reading(self) -> None:
        if self._is_reading and not self.transport.is_closing():
            self._is_reading = False
            self.transport.pause_reading()

    def _reject(self) -> None:
        """Answer a malformed request with status 400 and close the connection."""
        self._input.clear()
        exchange = self._incoming
        if exchange is not None:
            exchange.disconnect()  # so that it is not answered as well
        if exchange is None or not exchange.is_started:
            self.write(
                b"HTTP/1.1 400 Bad Request\r\n%bcontent-type: text/plain; charset=utf-8\r\n"
                b"content-length: %d\r\nconnection: close\r\n\r\n%b"
                % (self.date_field, len(_MALFORMED), _MALFORMED)
            )
        self.transport.close()

    # -- output --------------------------------------------------------------------------------

    @property
    def date_field(self) -> bytes:
        """The Date header field of a response, with its line end."""
        return self._server.date_field

    def write(self, data: bytes) -> None:
        """Write bytes of a response."""
        self._written_bytes = len(data)
        self.transport.write(data)

    async def wait_until_writable(self) -> None:
        """Wait until the client has read enough of what was written, or is gone."""
        if self._became_writable is not None:
            await self._became_writable.wait()

    # -- memory and closing --------------------------------------------------------------------

    def hold_body(self, size: int) -> None:
        """Record how much of a long request body is buffered."""
        self._body_buffered = size
        self._count_buffer()

    def _count_buffer(self) -> None:
        size = self._unread_bytes + self._body_buffered + len(self._input)
        self._limits.hold(self, size)

    def state(self) -> int:
        """Return IDLE, STREAMING or CALLING (`connection_limits`)."""
        exchange = self._exchange
        if exchange is None or exchange.is_complete or exchange.more_body:
            return IDLE
        return STREAMING if exchange.is_started else CALLING

    def close(self) -> None:
        """Close the connection once all data is written.

        If the client is still sending, half-close first: an immediate close would reset the
        connection, and the response could be lost.
        """
        exchange = self._exchange
        if exchange is not None and exchange.is_complete and exchange.more_body:
            self._is_lingering = True
            self._input.clear()
            self.transport.write_eof()
            self.read_on()
        else:
            self.transport.close()

    def abort(self) -> None:
        """Close the connection at once."""
        self._input.clear()
        if self._exchange is not None:
            self._exchange.disconnect()
        self.transport.abort()

    def shut_down(self) -> None:
        """Close the connection, after the request that is being answered."""
        if self._exchange is None or self._exchange.is_complete:
            self.transport.close()
        else:
            self._exchange.is_persistent = False

    def close_if_stuck(self, now: float) -> None:
        """Close the connection if its client has made no progress within the time limit."""
        phase, limit = self._find_client_phase()
        if phase != self._phase:
            self._phase, self._phase_since = phase, now
            if self.is_write_paused:
                self.used_at = time.monotonic()  # the client reads
        elif phase and now - self._phase_since >= limit:
            self.transport.abort()

    def _find_client_phase(self) -> tuple[tuple[object, ...], float]:
        """Return what the client owes and its time limit in seconds; () if it owes nothing."""
        exchange, settings = self._exchange, self._server.settings
        if self._is_lingering:
            return ("end",), LINGER_SECONDS
        if self.is_write_paused:
            steps = self.transport.get_write_buffer_size() // UNREAD_STEP_BYTES
            seconds = settings.write_timeout_seconds
            if self._limits.is_memory_short:
                seconds = min(seconds, UNREAD_SECONDS_WHEN_SHORT)
            return ("unread", steps), seconds
        if exchange is not None and exchange.more_body:
            return ("body", exchange), settings.body_timeout_seconds
        if exchange is not None and not exchange.is_complete:
            return (), 0.0
        if exchange is not None and self._head_bytes == 0:
            return ("idle", exchange), settings.keep_alive_seconds
        return ("head", exchange), settings.head_timeout_seconds
