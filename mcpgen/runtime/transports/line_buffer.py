"""Cuts a byte stream into lines, in bounded memory."""

from __future__ import annotations

from mcpgen.runtime.transports.json_input import MAX_MESSAGE_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, TypeAlias

Line: TypeAlias = "bytes | CutLine"
"""One line without its end."""


class CutLine(bytes):
    """The beginning of a line that was too long; the rest of it is gone."""


class LineBuffer:
    """Bytes in, lines out. A line over the bound is dropped as it comes, and told once."""

    def __init__(self, max_line_bytes: int = MAX_MESSAGE_BYTES) -> None:
        self._max_line_bytes: Final = max_line_bytes
        self._parts: list[bytes] = []
        self._size = 0
        self._is_skipping = False

    def feed(self, data: bytes) -> list[Line]:
        """Take what was read and give the lines that are complete, without blank ones.

        What is read at once is far shorter than the bound, so that only what is put together
        from several reads can be over it.
        """
        first, *whole = data.split(b"\n")
        lines: list[Line] = []
        self._append(first, lines)
        if whole:
            rest = whole.pop()
            if not self._is_skipping:
                lines.append(self._take())
            self._is_skipping = False
            lines += whole
            self._append(rest, lines)
        return [line for line in lines if line and not line.isspace()]

    def finish(self) -> list[Line]:
        """Give what came after the last line end, at the end of input."""
        line = self._take()
        return [line] if line and not line.isspace() else []

    def _append(self, piece: bytes, lines: list[Line]) -> None:
        if self._is_skipping or not piece:
            return
        self._parts.append(piece)
        self._size += len(piece)
        if self._size > self._max_line_bytes:
            lines.append(CutLine(self._parts[0]))
            self._parts, self._size, self._is_skipping = [], 0, True

    def _take(self) -> bytes:
        parts, self._parts, self._size = self._parts, [], 0
        return parts[0] if len(parts) == 1 else b"".join(parts)
