"""The asyncio half of the stdio transport. It reads and writes without threads.

It takes over from the cold loop (`server`) when the first message needs a handler.
"""

from __future__ import annotations

import asyncio
import gc
import os
from collections import deque
from typing import TYPE_CHECKING, Final

from msgspec.json import Encoder

from mcpgen.runtime.handlers.dispatcher import Dispatcher
from mcpgen.runtime.process.memory_budget import response_budget
from mcpgen.runtime.process.output_queue import queue_output
from mcpgen.runtime.process.watchdog import Watchdog
from mcpgen.runtime.protocol.events import Event
from mcpgen.runtime.protocol.server import ServerProtocol
from mcpgen.runtime.transports.json_input import make_hot_decoder
from mcpgen.runtime.transports.shutdown import (
    FINAL_WRITE_SECONDS,
    ShutdownSignals,
    exit_abandoning_handlers,
)
from mcpgen.runtime.transports.stdio.pipe import CHUNK_BYTES, Pipe

if TYPE_CHECKING:
    from mcpgen.runtime.package import ServerPackage

LINES_AT_ONCE: Final = 64  # before their answers are written, and counted as unwritten
MAX_UNWRITTEN_BYTES: Final = 4 * 1024 * 1024  # above this, reading waits for the client
LONG_BYTES: Final = 64 * 1024  # a longer message is written without joining: a copy costs more


def serve_hot(
    package: ServerPackage,
    pipe: Pipe,
    protocol: ServerProtocol,
    shutdown: ShutdownSignals,
    drain_timeout_seconds: float,
) -> int:
    """Continue where the cold loop stopped until the client disconnects; return the exit code."""
    queue_output()

    async def serve() -> None:
        dispatcher = package.make_dispatcher()
        gc.freeze()  # what was imported stays
        gc.enable()
        loop = StdioLoop(pipe, protocol, dispatcher)
        try:
            with Watchdog():
                all_have_ended = await loop.serve(shutdown, drain_timeout_seconds)
        finally:
            await dispatcher.aclose()
        if not all_have_ended:
            exit_abandoning_handlers()

    with asyncio.Runner(loop_factory=_new_event_loop) as runner:
        runner.run(serve())
    return 0


def _new_event_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop  # a fifth less CPU for each pipelined call
    except ImportError:  # Windows, PyPy
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


class StdioLoop:
    """Reader and writer of the pipe. On shutdown it loses no answer."""

    def __init__(self, pipe: Pipe, protocol: ServerProtocol, dispatcher: Dispatcher) -> None:
        self._pipe = pipe
        self._protocol = protocol
        self._dispatcher = dispatcher
        self._decode = make_hot_decoder()
        self._loop = asyncio.get_running_loop()
        self._unwritten: deque[bytes | memoryview] = deque()
        self._unwritten_bytes = 0
        self._counted_bytes = 0  # of those, already charged to the memory budget
        self._flush_is_due = False
        self._is_watching_write = False
        self._is_reading = False
        self._is_gone = False  # the client no longer reads
        self._shutdown = self._loop.create_future()
        self._written = asyncio.Event()
        protocol.encode = Encoder().encode

    async def serve(self, shutdown: ShutdownSignals, drain_timeout_seconds: float) -> bool:
        """Serve until the end of input or a signal, then finish the calls in flight.

        Return False if handlers were still running when the drain timeout expired.
        """
        pipe, protocol, dispatcher = self._pipe, self._protocol, self._dispatcher
        shutdown.set_callback(lambda: self._loop.call_soon_threadsafe(self._shut_down))
        os.set_blocking(pipe.write_fd, False)
        dispatcher.attach(protocol, self.flush)
        try:
            dispatcher.dispatch(protocol, pipe.events, self.flush)
            self._handle_lines()
            await self._shutdown
            self._stop_reading()
            dispatcher.forget_client(protocol)
            all_have_ended = await dispatcher.drain(0 if self._is_gone else drain_timeout_seconds)
            dispatcher.dispatch(protocol, protocol.close("the server is shutting down"), self.flush)
            self._write()
            await self._wait_until_written()
            return all_have_ended
        finally:
            shutdown.set_callback(None)
            dispatcher.detach(protocol)
            self._stop_reading()
            os.set_blocking(pipe.write_fd, True)

    def flush(self) -> None:
        """Schedule a write, after the handlers that are ready to run."""
        if not self._flush_is_due:
            self._flush_is_due = True
            self._loop.call_soon(self._write)

    # -- reading -------------------------------------------------------------------------------

    def _start_reading(self) -> None:
        if self._is_reading:
            return
        self._is_reading = True
        try:
            self._loop.add_reader(self._pipe.read_fd, self._read)
        except PermissionError:  # a regular file, which is always ready
            self._loop.call_soon(self._read)

    def _stop_reading(self) -> None:
        if self._is_reading:
            self._is_reading = False
            self._loop.remove_reader(self._pipe.read_fd)

    def _read(self) -> None:
        if not self._is_reading:
            return
        try:
            data = os.read(self._pipe.read_fd, CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError:  # a terminal that hung up
            data = b""
        pipe = self._pipe
        pipe.is_at_end = not data
        pipe.lines = pipe.buffer.feed(data) if data else pipe.buffer.finish()
        self._handle_lines()

    def _handle_lines(self) -> None:
        """Handle the waiting lines; stop reading while the server is busy."""
        pipe, protocol, dispatcher = self._pipe, self._protocol, self._dispatcher
        events: list[Event] = []
        room = dispatcher.room if self._may_receive() else 0
        for _ in range(LINES_AT_ONCE):
            if not pipe.lines or len(events) >= room:
                break
            events += pipe.receive(protocol, self._decode)
        dispatcher.dispatch(protocol, events, self.flush)
        self.flush()
        if pipe.lines:
            self._stop_reading()
        elif pipe.is_at_end:
            self._shut_down()
        else:
            self._start_reading()

    def _may_receive(self) -> bool:
        """Return whether lines may be handled now; handling them does not change it."""
        return self._unwritten_bytes <= MAX_UNWRITTEN_BYTES and not self._shutdown.done()

    # -- writing -------------------------------------------------------------------------------

    def _write(self) -> None:
        self._flush_is_due = False
        lines = [outgoing.data for outgoing in self._protocol.messages_to_send()]
        if lines:
            self._add_unwritten(lines)
        self._write_unwritten()
        if self._unwritten_bytes > LONG_BYTES or self._counted_bytes:
            response_budget.change_buffered(self._unwritten_bytes - self._counted_bytes)
            self._counted_bytes = self._unwritten_bytes
        if self._pipe.lines and self._may_receive() and self._dispatcher.room > 0:
            self._handle_lines()

    def _add_unwritten(self, lines: list[bytes]) -> None:
        if max(map(len, lines)) < LONG_BYTES:
            lines.append(b"")  # for the last line end
            joined = b"\n".join(lines)
            self._unwritten.append(joined)
            self._unwritten_bytes += len(joined)
            return
        for line in lines:
            size = len(line) + 1
            self._unwritten += (line, b"\n")
            self._unwritten_bytes += size
            if size > LONG_BYTES:
                self._pipe.grow(size)

    def _write_unwritten(self) -> None:
        unwritten = self._unwritten
        while unwritten and not self._is_gone:
            data: bytes | memoryview = unwritten[0]
            if len(data) < LONG_BYTES:
                data = b"".join(unwritten)
                unwritten.clear()
            else:
                unwritten.popleft()
            try:
                sent = os.write(self._pipe.write_fd, data)
            except BlockingIOError:
                sent = 0
            except OSError:
                self._lose_client()
                return
            self._unwritten_bytes -= sent
            if sent < len(data):
                unwritten.appendleft(memoryview(data)[sent:])
                break
        self._watch_write(bool(unwritten))
        if not unwritten:
            self._written.set()

    def _watch_write(self, is_needed: bool) -> None:
        if is_needed != self._is_watching_write:
            self._is_watching_write = is_needed
            if is_needed:
                self._loop.add_writer(self._pipe.write_fd, self._write)
            else:
                self._loop.remove_writer(self._pipe.write_fd)

    def _lose_client(self) -> None:
        """Drop all output and shut down: the client no longer reads."""
        self._is_gone = True
        self._unwritten.clear()
        self._unwritten_bytes = 0
        self._watch_write(False)
        self._written.set()
        self._shut_down()

    async def _wait_until_written(self) -> None:
        if self._unwritten:
            self._written.clear()
            try:
                async with asyncio.timeout(FINAL_WRITE_SECONDS):
                    await self._written.wait()
            except TimeoutError:
                self._lose_client()

    # -- shutdown ------------------------------------------------------------------------------

    def _shut_down(self) -> None:
        if not self._shutdown.done():
            self._shutdown.set_result(None)
