"""HTTP requests that no HTTP client sends: wrong lengths, halves of bodies, and no HTTP at all."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import urlsplit

from mcpgen.factory.wire.connection import ConnectionLostError

_CONNECT_SECONDS: Final = 10.0
_MAX_RESPONSE_BYTES: Final = 1024 * 1024
_PORTS: Final = {"http": 80, "https": 443}


class RawHttp:
    """One TCP connection to the server of a URL; bytes are sent and received unchanged."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, url: str) -> RawHttp:
        """Connect, with TLS for `https`.

        Raises:
            ConnectionLostError: the server does not accept the connection.
        """
        parts = urlsplit(url)
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                streams = await asyncio.open_connection(
                    parts.hostname,
                    parts.port or _PORTS[parts.scheme],
                    ssl=parts.scheme == "https" or None,
                )
        except (OSError, TimeoutError) as error:
            raise ConnectionLostError(
                f"cannot connect to {parts.netloc}: {error or 'no connection in time'}"
            ) from None
        return cls(*streams)

    async def send(self, data: bytes) -> bool:
        """Send bytes; return False if the server has closed the connection, as it may."""
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError:
            return False
        return True

    async def read_response(self, timeout_seconds: float) -> bytes:
        """Return what arrives until the head and the declared body are complete, or time is over.

        An event stream is read until its first event.
        """
        received = b""
        with contextlib.suppress(TimeoutError, OSError):
            async with asyncio.timeout(timeout_seconds):
                while not _is_complete(received) and len(received) < _MAX_RESPONSE_BYTES:
                    chunk = await self._reader.read(65536)
                    if not chunk:
                        break
                    received += chunk
        return received

    def abort(self) -> None:
        """Close the connection at once, and drop all data that was not sent or read."""
        self._writer.transport.abort()


def format_request(
    method: str, url: str, headers: Mapping[str, str] | Iterable[tuple[str, str]]
) -> bytes:
    """Return the head of a request, with the blank line at its end."""
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    lines = [f"{method} {target} HTTP/1.1", f"Host: {parts.netloc.rpartition('@')[2]}"]
    lines += [f"{name}: {value}" for name, value in pairs]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8")


def read_status(response: bytes) -> int:
    """Return the status code of a response; 0 if there is none."""
    words = response.split(b"\r\n", 1)[0].split(b" ")
    is_status = len(words) > 1 and words[0].startswith(b"HTTP/") and words[1].isdigit()
    return int(words[1]) if is_status else 0


def read_body(response: bytes) -> bytes:
    """Return what follows the head of a response."""
    return response.partition(b"\r\n\r\n")[2]


def _is_complete(response: bytes) -> bool:
    head, separator, body = response.partition(b"\r\n\r\n")
    if not separator:
        return False
    for line in head.lower().split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name == b"content-length" and value.strip().isdigit():
            return len(body) >= int(value.strip())
        if name == b"transfer-encoding" and b"chunked" in value:
            return body.endswith(b"0\r\n\r\n") or b"\n\n" in body or b"\r\n\r\n" in body
    return read_status(response) in {202, 204, 304}
