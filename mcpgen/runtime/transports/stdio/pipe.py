"""The stdio pipe: both ends, and its input split into lines in bounded memory."""

from __future__ import annotations

import os
import sys

from mcpgen.contract.limits import DEFAULT_LIMITS
from mcpgen.runtime.protocol.events import Event
from mcpgen.runtime.protocol.jsonrpc import INVALID_REQUEST
from mcpgen.runtime.protocol.server import ServerProtocol
from mcpgen.runtime.transports.json_input import Decode, UndecodableError, find_leading_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, TypeAlias

CHUNK_BYTES: Final = 64 * 1024
"""Default capacity of a pipe. A larger read buffer would be mapped anew for each read."""
MAX_PIPE_BYTES: Final = 1024 * 1024
"""The largest size that Linux grants to an unprivileged process."""


Line: TypeAlias = "bytes | TruncatedLine"
"""One line without its line end."""


class TruncatedLine(bytes):
    """The beginning of a line that was too long; the rest of it was dropped."""


class LineBuffer:
    """Bytes in, lines out. A line over the bound is dropped as it arrives and reported once."""

    def __init__(self, max_line_bytes: int = DEFAULT_LIMITS.max_message_bytes) -> None:
        self.max_line_bytes: Final = max_line_bytes
        self._parts: list[bytes] = []
        self._size = 0
        self._is_skipping = False

    def feed(self, data: bytes) -> list[Line]:
        """Add the bytes of one read and return the complete lines, without blank ones.

        A single read is far shorter than the bound, so only a line that spans several reads can
        exceed it.
        """
        first, *whole = data.split(b"\n")
        lines: list[Line] = []
        self._append(first, lines)
        if whole:
            rest = whole.pop()
            if not self._is_skipping:
                whole.insert(0, self._take())
            self._is_skipping = False
            lines += filter(bytes.strip, whole)
            self._append(rest, lines)
        return lines

    def finish(self) -> list[Line]:
        """Return the line after the last line end, at the end of input."""
        line = self._take()
        return [line] if line and not line.isspace() else []

    def _append(self, piece: bytes, lines: list[Line]) -> None:
        if self._is_skipping or not piece:
            return
        self._parts.append(piece)
        self._size += len(piece)
        if self._size > self.max_line_bytes:
            lines.append(TruncatedLine(self._parts[0]))
            self._parts, self._size, self._is_skipping = [], 0, True

    def _take(self) -> bytes:
        parts, self._parts, self._size = self._parts, [], 0
        return parts[0] if len(parts) == 1 else b"".join(parts)


class Pipe:
    """Both ends of the pipe, out of the reach of handlers, and the input that waits."""

    def __init__(
        self,
        read_fd: int,
        write_fd: int,
        max_line_bytes: int = DEFAULT_LIMITS.max_message_bytes,
    ) -> None:
        self.read_fd = read_fd
        self.write_fd = write_fd
        self.buffer = LineBuffer(max_line_bytes)
        self.lines: list[Line] = []
        self.events: list[Event] = []  # of a message that the cold loop received but cannot handle
        self.is_at_end = False
        self._size = CHUNK_BYTES

    @classmethod
    def take_over(cls, max_line_bytes: int = DEFAULT_LIMITS.max_message_bytes) -> Pipe:
        """Reserve stdin and stdout for messages.

        Anything else that writes to fd 1 (`print`, a C library, a child process) reaches stderr,
        and a child process reads an empty stdin.
        """
        pipe = cls(os.dup(0), os.dup(1), max_line_bytes)
        for fd in (pipe.read_fd, pipe.write_fd):
            os.set_blocking(fd, True)  # the parent process may have made them non-blocking
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(2, 1)
        os.close(null)
        return pipe

    def grow(self, size: int) -> None:
        """Enlarge the pipe so that it holds a message of `size` bytes, if the system allows it.

        Each part that must wait for the client costs two task switches and two turns of the event
        loop. A page of 1,000 tools needs 1 switch instead of 33.
        """
        if sys.platform == "linux" and self._size < size <= MAX_PIPE_BYTES:
            import fcntl  # for long messages only

            self._size = size
            try:
                fcntl.fcntl(self.write_fd, fcntl.F_SETPIPE_SZ, size)
            except OSError:  # not a pipe, or the user has too many large ones
                return

    def receive(self, protocol: ServerProtocol, decode: Decode) -> list[Event]:
        """Pass the oldest waiting line to the core; return the events that need a handler."""
        line = self.lines.pop(0)
        if type(line) is TruncatedLine:
            text = f"a line is over {self.buffer.max_line_bytes} bytes"
            protocol.refuse(INVALID_REQUEST, text, id=find_leading_id(line))
            return []
        try:
            message = decode(line)
        except UndecodableError as error:
            protocol.refuse(error.code, error.message, id=error.id)
            return []
        return protocol.receive(message)
