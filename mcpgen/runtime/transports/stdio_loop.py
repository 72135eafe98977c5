"""The hot half of stdio: handlers at work under asyncio, without a thread or a task per message."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from typing import TYPE_CHECKING, Final

from msgspec.json import Encoder

from mcpgen.runtime.calls import CallRunner
from mcpgen.runtime.protocol.server import ServerProtocol
from mcpgen.runtime.transports.departure import (
    LAST_WORDS_SECONDS,
    Departure,
    leave_handlers_behind,
)
from mcpgen.runtime.transports.json_input import hot_decoder
from mcpgen.runtime.transports.stdio import CHUNK_BYTES, Pipe

if TYPE_CHECKING:
    from mcpgen.runtime.package import ServerPackage

LINES_AT_ONCE: Final = 64  # before what they came to is written, and counted as unwritten
MAX_UNWRITTEN_BYTES: Final = 4 * 1024 * 1024  # more, and reading waits for the client
LONG_BYTES: Final = 64 * 1024  # what is longer is written where it lies: copying it costs more


def serve_hot(
    package: ServerPackage,
    pipe: Pipe,
    protocol: ServerProtocol,
    departure: Departure,
    drain_timeout_seconds: float,
) -> int:
    """Go on where the cold loop stopped, until the client leaves; gives the exit code."""
    with asyncio.Runner(loop_factory=_new_event_loop) as runner:
        return runner.run(_serve(package, pipe, protocol, departure, drain_timeout_seconds))


def _new_event_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop  # a fifth less CPU for each pipelined call
    except ImportError:  # not on Windows, nor on every Python
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


async def _serve(
    package: ServerPackage,
    pipe: Pipe,
    protocol: ServerProtocol,
    departure: Departure,
    drain_timeout_seconds: float,
) -> int:
    runner = package.make_runner()
    loop = StdioLoop(pipe, protocol, runner)
    try:
        all_have_ended = await loop.serve(departure, drain_timeout_seconds)
    finally:
        await runner.aclose()
    if not all_have_ended:
        leave_handlers_behind()
    return 0


class StdioLoop:
    """Reads requests, writes answers, and leaves without losing one."""

    def __init__(self, pipe: Pipe, protocol: ServerProtocol, runner: CallRunner) -> None:
        self._pipe = pipe
        self._protocol = protocol
        self._runner = runner
        self._decode = hot_decoder()
        self._loop = asyncio.get_running_loop()
        self._unwritten: deque[bytes | memoryview] = deque()
        self._unwritten_bytes = 0
        self._flush_is_due = False
        self._is_watching_write = False
        self._is_reading = False
        self._is_gone = False  # the client no longer reads
        self._leaving = self._loop.create_future()
        self._written = asyncio.Event()
        protocol.encode = Encoder().encode

    async def serve(self, departure: Departure, drain_timeout_seconds: float) -> bool:
        """Serve until the end of input or a signal, then finish what is in flight.

        False if handlers were still at work when the time to finish was over.
        """
        pipe, protocol, runner = self._pipe, self._protocol, self._runner
        departure.when_asked(lambda: self._loop.call_soon_threadsafe(self._leave))
        os.set_blocking(pipe.write_fd, False)
        runner.attach(protocol, self.flush)
        try:
            runner.take(protocol, pipe.events, self.flush)
            self._handle_lines()
            await self._leaving
            self._stop_reading()
            runner.forget_client(protocol)
            all_have_ended = await runner.drain(0 if self._is_gone else drain_timeout_seconds)
            runner.take(protocol, protocol.close("the server is shutting down"), self.flush)
            self._write()
            await self._wait_until_written()
            return all_have_ended
        finally:
            departure.when_asked(None)
            runner.detach(protocol)
            self._stop_reading()
            os.set_blocking(pipe.write_fd, True)

    def flush(self) -> None:
        """Write what is ready, once the handlers that are ready have run."""
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
        except PermissionError:  # a regular file, which is ready at all times
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
        """Handle the lines that wait; stop reading while there is too much to do."""
        pipe, protocol, runner = self._pipe, self._protocol, self._runner
        for _ in range(LINES_AT_ONCE):
            if not pipe.lines or self._is_busy() or self._leaving.done():
                break
            runner.take(protocol, pipe.receive(protocol, self._decode), self.flush)
        self.flush()
        if pipe.lines:
            self._stop_reading()
        elif pipe.is_at_end:
            self._leave()
        else:
            self._start_reading()

    def _is_busy(self) -> bool:
        return self._runner.is_full or self._unwritten_bytes > MAX_UNWRITTEN_BYTES

    # -- writing -------------------------------------------------------------------------------

    def _write(self) -> None:
        self._flush_is_due = False
        for outgoing in self._protocol.messages_to_send():
            self._unwritten += (outgoing.data, b"\n")
            self._unwritten_bytes += len(outgoing.data) + 1
            if len(outgoing.data) >= LONG_BYTES:
                self._pipe.make_room(len(outgoing.data) + 1)
        self._write_unwritten()
        if self._pipe.lines and not self._is_busy() and not self._leaving.done():
            self._handle_lines()

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
        """Stop everything: nobody will read an answer."""
        self._is_gone = True
        self._unwritten.clear()
        self._unwritten_bytes = 0
        self._watch_write(False)
        self._written.set()
        self._leave()

    async def _wait_until_written(self) -> None:
        if self._unwritten:
            self._written.clear()
            try:
                await asyncio.wait_for(self._written.wait(), LAST_WORDS_SECONDS)
            except TimeoutError:
                self._lose_client()

    # -- leaving -------------------------------------------------------------------------------

    def _leave(self) -> None:
        if not self._leaving.done():
            self._leaving.set_result(None)
