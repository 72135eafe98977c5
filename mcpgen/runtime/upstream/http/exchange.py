"""Exchange of one request and its response on a connection, with bounds on every part."""

from __future__ import annotations

import asyncio
from typing import Final

from mcpgen.runtime.http_syntax import ChunkedDecoder, LongLineError, MalformedMessageError
from mcpgen.runtime.process.memory_budget import LARGE_RESPONSE_BYTES, response_budget
from mcpgen.runtime.upstream.errors import (
    LOST_BEFORE_HEAD,
    LOST_IN_BODY,
    DisconnectedError,
    MalformedResponseError,
    ResponseTooLargeError,
    UpstreamError,
)
from mcpgen.runtime.upstream.http.connection import SLICE_BYTES, Connection
from mcpgen.runtime.upstream.http.decompression import make_decompressor
from mcpgen.runtime.upstream.http.messages import (
    HttpRequest,
    HttpResponse,
    find_field,
    is_stream,
    join_fields,
)
from mcpgen.runtime.upstream.http.response_head import (
    AMBIGUOUS_END,
    ResponseHead,
    find_head_end,
    parse_head,
)

MAX_INFORMATIONAL: Final = 8  # 1xx responses before the final one
MAX_RATIO: Final = 100
MAX_OVERHEAD_BYTES: Final = 1024 * 1024
"""Bytes on the wire beyond four times the content: framing, empty compressed parts."""
MAX_STREAM_LINES: Final = 100_000  # of a stream, comments and empty ones included
_SMALLEST_BOMB: Final = 1024 * 1024  # below this, a high ratio is only a repetitive text
_COMPRESSED_SLICE_BYTES: Final = 16 * 1024  # may hold hundreds of empty gzip members


async def exchange(
    connection: Connection, head: bytes, request: HttpRequest
) -> tuple[HttpResponse, bool]:
    """Send a request, read its response, and return also whether the connection is reusable.

    `head` is the encoded head of the request. The caller sets the deadline.

    Raises:
        UpstreamError: there is no usable response.
    """
    _check_is_fresh(connection)
    body = request.body or b""
    if len(head) + len(body) <= SLICE_BYTES:
        is_sent = await connection.write(head + body)
    else:
        is_sent = await connection.write(head) and await connection.write(body)
    try:
        response_head = await _read_head(connection, request.method)
    except MalformedResponseError as error:
        # These may be the last bytes of an earlier response that was too long.
        error.is_transient = connection.idle_since > 0
        raise
    reader = BodyReader(connection, response_head, request.max_response_bytes)
    is_cut_off = False
    if is_stream(find_field(response_head.headers, "content-type")):
        is_cut_off = await reader.listen(request.stream_seconds)
    else:
        await reader.read()
    response = HttpResponse(
        response_head.status, response_head.headers, bytes(reader.content), is_cut_off
    )
    return response, is_sent and not is_cut_off and response_head.is_persistent


def _check_is_fresh(connection: Connection) -> None:
    """Check that the API did not close the connection or send data before the request."""
    error: UpstreamError
    if connection.received:
        error = MalformedResponseError("answered before the request was sent.")
    elif not connection.is_open:
        error = DisconnectedError(LOST_BEFORE_HEAD)
    else:
        return
    error.request_sent = False
    error.is_transient = True
    raise error


async def _read_head(connection: Connection, method: str) -> ResponseHead:
    """Read heads until the head of the final response."""
    for _ in range(MAX_INFORMATIONAL + 1):
        head = parse_head(await _receive_head(connection), method)
        if head.status == 101:
            raise MalformedResponseError(
                "answered by switching to a protocol that was not requested (status 101)."
            )
        if head.status >= 200:
            return head
    raise MalformedResponseError(
        f"answered with more than {MAX_INFORMATIONAL} interim responses (status 1xx)."
    )


async def _receive_head(connection: Connection) -> bytes:
    received, searched = connection.received, 0
    while True:
        if len(received) > searched:
            end = find_head_end(received, searched)
            if end >= 0:
                head = bytes(received[: end - 4])
                del received[:end]
                return head
            searched = len(received)
        if not await connection.wait_for_data():
            raise DisconnectedError(LOST_BEFORE_HEAD)


class BodyReader:
    """Reader of one response body; `content` is the decompressed part so far."""

    def __init__(self, connection: Connection, head: ResponseHead, max_bytes: int) -> None:
        self.content = bytearray()
        self._connection = connection
        self._head = head
        self._max_bytes = max_bytes
        encoding = join_fields(head.headers, "content-encoding") if head.has_body else ""
        self._is_plain = encoding.strip().lower() in {"", "identity"}
        self._decompressor = make_decompressor(encoding)
        self._chunks = ChunkedDecoder() if head.is_chunked else None
        self._left = head.content_length  # None if the body ends otherwise
        self._wire_bytes = 0
        self._is_reserved = False  # memory for a large response
        self._lines_left: int | None = None  # None if the body is no stream

    async def read(self) -> None:
        """Read to the end.

        Raises:
            ResponseTooLargeError: the body exceeds the bound.
        """
        announced = self._left
        if self._is_plain and announced is not None and announced > self._max_bytes:
            raise _make_size_error(self._max_bytes, f"it announced {announced:,} bytes")
        if self._is_plain and announced is not None:
            await self._reserve(announced, announced)
        if self._head.has_body:
            await self._fill()

    async def listen(self, seconds: float) -> bool:
        """Read a stream for `seconds`, within the bounds; return whether it is unfinished."""
        self._lines_left = MAX_STREAM_LINES
        if not self._head.has_body:
            return False
        try:
            async with asyncio.timeout(seconds) as patience:
                await self._fill()
        except TimeoutError:
            if not patience.expired():
                raise
        except ResponseTooLargeError:
            del self.content[self._max_bytes :]
        except _TooManyLinesError:
            pass
        else:
            return False
        return True

    async def _fill(self) -> None:
        while not self._is_at_end():
            if not self._connection.received and not await self._connection.wait_for_data():
                is_until_end = self._chunks is None and self._left is None
                if is_until_end and not self._connection.has_failed:
                    break  # the end of the connection is the end of the body
                raise DisconnectedError(LOST_IN_BODY)
            before, size = len(self._connection.received), len(self.content)
            piece = self._take_piece()
            taken = before - len(self._connection.received)
            self._wire_bytes += taken
            self._decompress(piece)
            await self._reserve(len(self.content), self._max_bytes)
            if not taken and not await self._connection.wait_for_data():
                raise DisconnectedError(LOST_IN_BODY)
            await self._connection.yield_after(taken + len(self.content) - size)
        self._decompressor.finish()

    async def _reserve(self, size: int, most: int) -> None:
        """Reserve memory once, for at most this many bytes, if the response is large."""
        if size > LARGE_RESPONSE_BYTES and not self._is_reserved:
            self._is_reserved = True
            await response_budget.reserve(most)

    def _is_at_end(self) -> bool:
        return self._left == 0 or (self._chunks is not None and self._chunks.is_complete)

    def _take_piece(self) -> bytes:
        received = self._connection.received
        limit = SLICE_BYTES if self._is_plain else _COMPRESSED_SLICE_BYTES
        if self._chunks is not None:
            try:
                return self._chunks.feed(received, limit)
            except LongLineError:
                raise MalformedResponseError(
                    "answered with a chunk extension or trailer fields that are too long."
                ) from None
            except MalformedMessageError:
                raise MalformedResponseError(AMBIGUOUS_END) from None
        if self._left is not None:
            limit = min(limit, self._left)
        piece = bytes(received[:limit])
        del received[:limit]
        if self._left is not None:
            self._left -= len(piece)
        return piece

    def _decompress(self, data: bytes) -> None:
        for piece in self._decompressor.feed(data):
            self.content += piece
            if self._lines_left is not None:
                self._lines_left -= piece.count(b"\n") + piece.count(b"\r") + piece.count(b"\x1e")
                if self._lines_left < 0:
                    raise _TooManyLinesError
            if len(self.content) > self._max_bytes:
                raise _make_size_error(self._max_bytes, "the rest was not read")
            if len(self.content) > max(self._wire_bytes * MAX_RATIO, _SMALLEST_BOMB):
                raise ResponseTooLargeError(
                    f"answered with {self._wire_bytes:,} compressed bytes that unpack to more than "
                    f"{MAX_RATIO} times as many; the rest was not read."
                )
        if self._wire_bytes > len(self.content) * 4 + MAX_OVERHEAD_BYTES:
            raise MalformedResponseError(
                f"answered with {self._wire_bytes:,} bytes that contain almost no data; the rest "
                "was not read."
            )


class _TooManyLinesError(Exception):
    """Raised when a stream has more lines than the limit."""


def _make_size_error(bound: int, detail: str) -> ResponseTooLargeError:
    return ResponseTooLargeError(
        f"answered with more than {bound:,} bytes; {detail}. Request less: a smaller page, fewer "
        "fields or a filter."
    )
