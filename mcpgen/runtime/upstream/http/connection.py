"""A connection to an API that sends and receives bytes, with flow control in both directions."""

from __future__ import annotations

import asyncio
import select
from typing import Final, cast

SLICE_BYTES: Final = 64 * 1024
"""Bytes that are processed before the event loop may run other tasks."""
_MAX_BUFFERED_BYTES: Final = 256 * 1024  # received and unread; above it, reading is paused


class Connection(asyncio.Protocol):
    """A connection that carries one request at a time.

    `received` contains the bytes that are not processed yet. A byte or an end of input between two
    requests aborts the connection: later responses could not be trusted.
    """

    def __init__(self) -> None:
        self.received = bytearray()
        self.idle_since = 0.0
        self.idle_seconds = 0.0  # how long it may stay idle
        self._transport: asyncio.Transport  # set before the event loop returns the connection
        self._is_in_use = True
        self._has_ended = False
        self.has_failed = False  # it ended with an error, so the received data may be incomplete
        self._is_reading_paused = False
        self._is_writing_paused = False
        self._waiter: asyncio.Future[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._bytes_without_pause = 0

    # Called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is not a subclass

    def data_received(self, data: bytes) -> None:
        """Buffer received bytes, or abort if no request was sent."""
        if not self._is_in_use:
            self.abort()
            return
        self.received += data
        is_full = len(self.received) > _MAX_BUFFERED_BYTES
        if is_full and not (self._is_reading_paused or self._transport.is_closing()):
            self._transport.pause_reading()
            self._is_reading_paused = True
        self._wake()

    def eof_received(self) -> None:
        """Record the end of input; returning None closes the transport."""
        self._has_ended = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """Record the end of the connection."""
        self.has_failed = exc is not None
        self._has_ended = True
        self._wake()

    def pause_writing(self) -> None:
        """Stop writing because the API does not read."""
        self._is_writing_paused = True

    def resume_writing(self) -> None:
        """Continue to write."""
        self._is_writing_paused = False
        self._wake()

    # Called by the connector

    @property
    def transport(self) -> asyncio.Transport:
        """The transport, for an upgrade to TLS."""
        return self._transport

    def replace_transport(self, transport: asyncio.Transport) -> None:
        """Continue on the TLS transport that an upgrade returned."""
        self._transport = transport

    # Called by the pool

    @property
    def is_open(self) -> bool:
        """Whether both directions are open, as far as the event loop knows."""
        return not (self._has_ended or self._transport.is_closing())

    def take(self) -> bool:
        """Begin a request; return whether the connection is still usable."""
        if not self.is_open or self.received or self._is_readable():
            self.abort()
            return False
        self._is_in_use = True
        return True

    def keep(self) -> bool:
        """End a request; return whether the connection can be reused."""
        self._is_in_use = False
        if not self.is_open or self.received or self._is_writing_paused:
            self.abort()
            return False
        if self._is_reading_paused:
            self._resume_reading()
        self.idle_since = self._loop.time()
        return True

    def abort(self) -> None:
        """Close the socket at once."""
        self._has_ended = True
        self._transport.abort()
        self._wake()

    def _is_readable(self) -> bool:
        """Return whether the socket has input that the event loop has not delivered yet."""
        socket = self._transport.get_extra_info("socket")
        if hasattr(select, "poll"):
            poll = select.poll()
            poll.register(socket.fileno(), select.POLLIN)
            return bool(poll.poll(0))
        return bool(select.select([socket.fileno()], [], [], 0)[0])

    # Called by an exchange

    async def write(self, data: bytes) -> bool:
        """Send bytes as fast as the API reads them; return whether all were sent.

        It stops early if the API answers or closes the connection before it has read everything.
        """
        for start in range(0, len(data), SLICE_BYTES):
            while self._is_writing_paused and self.is_open and not self.received:
                await self._wait()
            if self.received or not self.is_open:
                return False
            self._transport.write(
                data if len(data) <= SLICE_BYTES else data[start : start + SLICE_BYTES]
            )
        return True

    async def wait_for_data(self) -> bool:
        """Wait for more bytes; return False if the API closed the connection instead."""
        if self._is_reading_paused and len(self.received) < _MAX_BUFFERED_BYTES:
            self._resume_reading()
        size = len(self.received)
        while len(self.received) == size:
            if self._has_ended:
                return False
            await self._wait()
        return True

    async def yield_after(self, size: int) -> None:
        """Count processed bytes, and yield to the event loop after every slice."""
        self._bytes_without_pause += size
        if self._bytes_without_pause >= SLICE_BYTES:
            self._bytes_without_pause = 0
            await asyncio.sleep(0)

    async def _wait(self) -> None:
        self._bytes_without_pause = 0
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _resume_reading(self) -> None:
        if not self._transport.is_closing():
            self._transport.resume_reading()
        self._is_reading_paused = False
