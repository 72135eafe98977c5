"""MCP over stdin and stdout: one message a line, and nothing but messages on stdout.

A server starts cold: a plain loop reads, and answers what needs no handler (the handshake,
discovery, `tools/list`) before asyncio, the validator or the HTTP client are imported. The first
message that needs a handler hands the pipe over to `stdio_loop`, with every byte already read;
what it needs is imported before it comes, if the client pauses.
"""

from __future__ import annotations

import os
import signal
import sys

from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.protocol.jsonrpc import INVALID_REQUEST
from mcpgen.runtime.protocol.messages import Event
from mcpgen.runtime.protocol.server import ServerProtocol
from mcpgen.runtime.transports.departure import LAST_WORDS_SECONDS, Departure
from mcpgen.runtime.transports.json_input import (
    MAX_MESSAGE_BYTES,
    Decode,
    UndecodableError,
    decode_cold,
    leading_id,
)
from mcpgen.runtime.transports.line_buffer import CutLine, Line, LineBuffer
from mcpgen.runtime.transports.warming import import_while_idle, modules_of_calls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from mcpgen.runtime.package import ServerPackage

CHUNK_BYTES: Final = 64 * 1024  # what a pipe holds; larger buffers are mapped anew for each read
MAX_ROOM_BYTES: Final = 1024 * 1024  # what Linux lets a pipe hold for anyone
DRAIN_TIMEOUT_SECONDS: Final = 30.0


class Pipe:
    """Both ends of the pipe, out of the reach of handlers, and what was read but not handled."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self.read_fd = read_fd
        self.write_fd = write_fd
        self.buffer = LineBuffer()
        self.lines: list[Line] = []
        self.events: list[Event] = []  # of a message that the cold loop took but cannot handle
        self.is_at_end = False
        self._room = CHUNK_BYTES

    @classmethod
    def take_over(cls) -> Pipe:
        """Keep stdin and stdout for messages alone.

        Whatever else writes to fd 1 (a print, a C library, a child process) reaches stderr, and
        a child process reads an empty stdin.
        """
        pipe = cls(os.dup(0), os.dup(1))
        for fd in (pipe.read_fd, pipe.write_fd):
            os.set_blocking(fd, True)  # whoever started the server may have had it otherwise
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 0)
        os.dup2(2, 1)
        os.close(nowhere)
        return pipe

    def make_room(self, size: int) -> None:
        """Let the pipe hold a message of this size whole, where the system can.

        Each part that must wait for the client costs two switches of task, and the event loop two
        turns: a page of 1,000 tools goes out in 1 switch where it was 33.
        """
        if sys.platform == "linux" and self._room < size <= MAX_ROOM_BYTES:
            import fcntl  # for long messages only

            self._room = size
            try:
                fcntl.fcntl(self.write_fd, fcntl.F_SETPIPE_SZ, size)
            except OSError:  # no pipe, or its owner has too many large ones
                return

    def receive(self, protocol: ServerProtocol, decode: Decode) -> list[Event]:
        """Take the oldest line that waits; what it asks for is in the outbox or in the events."""
        line = self.lines.pop(0)
        if type(line) is CutLine:
            text = f"a line is over {MAX_MESSAGE_BYTES} bytes"
            protocol.refuse(INVALID_REQUEST, text, id=leading_id(line))
            return []
        try:
            message = decode(line)
        except UndecodableError as error:
            protocol.refuse(error.code, error.message, id=error.id)
            return []
        return protocol.receive(message)


class _Leaving(Exception):  # noqa: N818  (a signal, and no error)
    """SIGTERM or SIGINT came."""


def serve_stdio(
    package: ServerPackage, *, drain_timeout_seconds: float = DRAIN_TIMEOUT_SECONDS
) -> int:
    """Serve one client on stdin and stdout until it leaves; gives the exit code.

    Raises:
        ConfigurationError: the system is one where asyncio cannot wait for a pipe.
    """
    if sys.platform == "win32":
        raise ConfigurationError(
            "stdio is not served on Windows yet, where asyncio cannot wait for a pipe; "
            "start the server with --http"
        )
    pipe = Pipe.take_over()
    protocol = ServerProtocol(package.offering)
    departure = Departure()
    try:
        needs_handlers = _serve_cold(pipe, protocol, departure)
        if not needs_handlers:
            _close_listens(pipe, protocol)
    except (_Leaving, BrokenPipeError):
        return 0  # nothing is in flight in the cold loop, and the client does not read
    if not needs_handlers:
        return 0
    departure.when_asked(None)
    signal.alarm(0)  # a signal that came meanwhile gives the call the time of a drain
    from mcpgen.runtime.transports.stdio_loop import serve_hot

    return serve_hot(package, pipe, protocol, departure, drain_timeout_seconds)


def _serve_cold(pipe: Pipe, protocol: ServerProtocol, departure: Departure) -> bool:
    """Answer what needs no handler; True when one is needed, False at the end."""
    unimported = modules_of_calls()
    has_client = False
    departure.when_asked(_leave_soon)
    while not departure.is_asked:
        has_client = has_client or bool(pipe.lines)
        while pipe.lines and not departure.is_asked:
            pipe.events = pipe.receive(protocol, decode_cold)
            if protocol.calls_in_flight():
                return True
            _write_all(pipe, protocol)
        if pipe.is_at_end:
            return False
        try:
            departure.when_asked(_leave_now)
            if has_client:
                import_while_idle(pipe.read_fd, unimported)
            data = os.read(pipe.read_fd, CHUNK_BYTES)
            departure.when_asked(_leave_soon)
        except _Leaving:
            return False
        pipe.is_at_end = not data
        pipe.lines = pipe.buffer.feed(data) if data else pipe.buffer.finish()
    return False


def _close_listens(pipe: Pipe, protocol: ServerProtocol) -> None:
    """Answer each open `subscriptions/listen`, the only requests that the cold loop leaves open."""
    if protocol.open_listens:
        protocol.close("the server is shutting down")
        _leave_soon()
        _write_all(pipe, protocol)


def _leave_now(*_: object) -> None:
    raise _Leaving


def _leave_soon() -> None:
    """Let the client read what is being written, but not wait for it for ever."""
    signal.signal(signal.SIGALRM, _leave_now)
    signal.alarm(LAST_WORDS_SECONDS)


def _write_all(pipe: Pipe, protocol: ServerProtocol) -> None:
    for outgoing in protocol.messages_to_send():
        pipe.make_room(len(outgoing.data) + 1)
        # Apart, since a copy of a long page with its line end costs four times what writing does.
        for data in (outgoing.data, b"\n"):
            unwritten = memoryview(data)
            while unwritten:
                unwritten = unwritten[os.write(pipe.write_fd, unwritten) :]
