"""Cuts a byte stream into lines, in bounded memory."""

from __future__ import annotations

from typing import Final, TypeAlias

from mcpgen.runtime.transports.json_input import MAX_MESSAGE_BYTES

Line: TypeAlias = "bytes | None"
"""One line without its end; None stands for one that was too long and is gone."""


class LineBuffer:
    """Bytes in, lines out. A line over the bound is dropped as it comes, and told once."""

    def __init__(self, max_line_bytes: int = MAX_MESSAGE_BYTES) -> None:
        self._max_line_bytes: Final = max_line_bytes
        self._parts: list[bytes] = []
        self._size = 0
        self._is_skipping = False

    def feed(self, data: bytes) -> list[Line]:
        """Take what was read and give the lines that are complete, without blank ones."""
        *whole, rest = data.split(b"\n")
        lines: list[Line] = []
        for piece in whole:
            self._append(piece, lines)
            if not self._is_skipping:
                line = self._take()
                if line:
                    lines.append(line)
            self._is_skipping = False
        self._append(rest, lines)
        return lines

    def finish(self) -> list[Line]:
        """Give what came after the last line end, at the end of input."""
        line = self._take()
        return [line] if line else []

    def _append(self, piece: bytes, lines: list[Line]) -> None:
        if self._is_skipping or not piece:
            return
        self._parts.append(piece)
        self._size += len(piece)
        if self._size > self._max_line_bytes:
            self._parts, self._size, self._is_skipping = [], 0, True
            lines.append(None)

    def _take(self) -> bytes:
        parts, self._parts, self._size = self._parts, [], 0
        return (parts[0] if len(parts) == 1 else b"".join(parts)).strip() if parts else b""
