"""Decompression of response bodies in pieces of bounded size."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Final

from mcpgen.runtime.upstream.errors import LOST_IN_BODY, DisconnectedError, MalformedResponseError

PIECE_BYTES: Final = 64 * 1024


class Decompressor:
    """Decoder of one content coding; the base class decodes a body without one."""

    def feed(self, data: bytes) -> Iterable[bytes]:
        """Decompress the next bytes of the body, in pieces of at most `PIECE_BYTES`."""
        return (data,)

    def finish(self) -> None:
        """Check that the body is complete."""


def make_decompressor(content_encoding: str) -> Decompressor:
    """Return the decoder for the value of a `Content-Encoding` field.

    Raises:
        MalformedResponseError: the request did not allow this coding.
    """
    coding = content_encoding.strip().lower()
    if coding in {"", "identity"}:
        return Decompressor()
    if coding in {"gzip", "x-gzip", "deflate"}:
        return _Inflater(coding.removeprefix("x-"))
    raise MalformedResponseError(
        "answered with an unsupported Content-Encoding, so its body cannot be read."
    )


class _Inflater(Decompressor):
    """gzip, with one or several members, and deflate."""

    def __init__(self, coding: str) -> None:
        self._window_bits: int | None = 31 if coding == "gzip" else None
        self._stream: zlib._Decompress | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        is_full = False
        while data or is_full:
            if self._stream is None:
                if self._window_bits is None:
                    # "deflate" means zlib's format, and some servers send it without that envelope.
                    self._window_bits = 15 if data[0] & 0x0F == 8 else -15
                self._stream = zlib.decompressobj(self._window_bits)
            try:
                piece = self._stream.decompress(data, PIECE_BYTES)
            except zlib.error:
                raise MalformedResponseError(
                    "answered with a body that cannot be decompressed."
                ) from None
            yield piece
            data = self._stream.unconsumed_tail or self._stream.unused_data
            # A full piece may leave output inside the decompressor although no input is left.
            is_full = len(piece) == PIECE_BYTES and not self._stream.eof
            if self._stream.eof:
                self._stream = None

    def finish(self) -> None:
        if self._stream is not None:
            raise DisconnectedError(LOST_IN_BODY)
