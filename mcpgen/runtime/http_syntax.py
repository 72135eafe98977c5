"""Fields and chunked coding of HTTP/1.1, parsed without I/O (RFC 9112, sections 5 and 7.1)."""

from __future__ import annotations

import re
from typing import Final

_VALUE: Final = rb"[\t\x20-\x7e\x80-\xff]*"
_IS_VALUE: Final = re.compile(_VALUE).fullmatch
_FIELD: Final = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):(" + _VALUE + rb")")


class MalformedMessageError(ValueError):
    """A request or response that is not valid HTTP/1.1."""


def parse_field(line: bytes) -> tuple[bytes, bytes]:
    """Parse a field line into its name and its trimmed value.

    Raises:
        MalformedMessageError: it is not a valid field line.
    """
    field = _FIELD.fullmatch(line)
    if field is None:
        raise MalformedMessageError("invalid field line")
    return field[1], field[2].strip(b" \t")


def trim_value(text: bytes) -> bytes | None:
    """Return the value that is written so in a field line; None if no value can be written so."""
    return text.strip(b" \t") if _IS_VALUE(text) else None


MAX_CHUNK_LINE_BYTES: Final = 1024  # a chunk's size with its extensions
MAX_TRAILER_BYTES: Final = 8 * 1024
_CHUNK_LINE: Final = re.compile(rb"([0-9a-fA-F]{1,15})(?:[ \t]*;[\t\x20-\x7e\x80-\xff]*)?\r\n")


class LongLineError(MalformedMessageError):
    """A line with a chunk size and its extensions, or the trailer fields, are too long."""


class ChunkedDecoder:
    """Decoder of chunked content. Extensions and trailer fields are checked and dropped."""

    def __init__(self) -> None:
        self.is_complete = False
        self.chunk_count = 0  # of the chunks that have begun
        self._left = 0  # of the current chunk, with the CRLF that ends it
        self._is_in_trailer = False
        self._trailer_bytes = 0

    def feed(self, received: bytearray, limit: int) -> bytes:
        """Remove up to `limit` bytes from the start of `received` and return their content.

        It stops at an incomplete line, which stays in `received`, and at the end of the body.

        Raises:
            LongLineError: a line exceeds its bound.
            MalformedMessageError: the coding is malformed.
        """
        content = bytearray()
        at, end = 0, min(len(received), limit)
        while at < end and not self.is_complete:
            if self._left > 2:
                size = min(self._left - 2, end - at)
                content += received[at : at + size]
                self._left -= size
                at += size
                continue
            if self._left:
                if received[at] != b"\0\r\n"[-self._left]:
                    raise MalformedMessageError("malformed chunk")
                self._left -= 1
                at += 1
                continue
            line_end = received.find(b"\n", at, at + MAX_CHUNK_LINE_BYTES * 8)
            if line_end < 0:
                self._check_unfinished_line(len(received) - at)
                break
            self._process_line(bytes(received[at : line_end + 1]))
            at = line_end + 1
        del received[:at]
        return bytes(content)

    def _check_unfinished_line(self, size: int) -> None:
        most = MAX_TRAILER_BYTES if self._is_in_trailer else MAX_CHUNK_LINE_BYTES
        if size > most:
            raise LongLineError("chunk extension or trailer fields are too long")

    def _process_line(self, line: bytes) -> None:
        if self._is_in_trailer:
            self._process_trailer_line(line)
            return
        if len(line) > MAX_CHUNK_LINE_BYTES:
            raise LongLineError("chunk extension or trailer fields are too long")
        match = _CHUNK_LINE.fullmatch(line)
        if match is None:
            raise MalformedMessageError("malformed chunk")
        size = int(match[1], 16)
        if size:
            self._left = size + 2
            self.chunk_count += 1
        else:
            self._is_in_trailer = True

    def _process_trailer_line(self, line: bytes) -> None:
        if line == b"\r\n":
            self.is_complete = True
            return
        self._trailer_bytes += len(line)
        if self._trailer_bytes > MAX_TRAILER_BYTES:
            raise LongLineError("chunk extension or trailer fields are too long")
        if not line.endswith(b"\r\n"):
            raise MalformedMessageError("malformed chunk")
        parse_field(line[:-2])
