"""Listener for the redirect of a browser to this machine (RFC 8252, section 7.3)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Final
from urllib.parse import parse_qsl, urlsplit

PATH: Final = "/callback"
READ_SECONDS: Final = 10.0
_MAX_HEAD: Final = 16 * 1024
_MAX_PARAMETERS: Final = 20
_PAGE: Final = """\
<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>
<body style="font: 1.1em system-ui; margin: 4em auto; max-width: 32em"><h1>{title}</h1><p>{text}\
"""
_HEAD: Final = (
    "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {length}\r\n"
    "content-security-policy: default-src 'none'; style-src 'unsafe-inline'\r\n"
    "referrer-policy: no-referrer\r\ncache-control: no-store\r\nconnection: close\r\n\r\n"
)

Parameters = Mapping[str, str]


class RedirectListener:
    """Listener on a free port of 127.0.0.1, for the redirect that belongs to a request."""

    def __init__(self, is_expected: Callable[[Parameters], bool]) -> None:
        """Wait for parameters for which `is_expected` is true; others are refused."""
        self._is_expected = is_expected
        self._received: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        self.redirect_uri = ""

    @asynccontextmanager
    async def listen(self) -> AsyncIterator[RedirectListener]:
        """Listen until the end of the block."""
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0, limit=_MAX_HEAD)
        port = server.sockets[0].getsockname()[1]
        self.redirect_uri = f"http://127.0.0.1:{port}{PATH}"
        try:
            yield self
        finally:
            server.close()

    async def wait(self) -> dict[str, str]:
        """Return the parameters of the redirect."""
        return await asyncio.shield(self._received)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(READ_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                status, title, text = self._accept(head)
                body = _PAGE.format(title=title, text=text).encode()
                writer.write(_HEAD.format(status=status, length=len(body)).encode() + body)
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # not a browser; it may try again
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    def _accept(self, head: bytes) -> tuple[str, str, str]:
        """Return the response to a request: its status, and the title and text of its page."""
        method, _, rest = head.partition(b"\r\n")[0].decode("latin-1").partition(" ")
        try:
            target = urlsplit(rest.partition(" ")[0])
            pairs = parse_qsl(target.query, max_num_fields=_MAX_PARAMETERS)
        except ValueError:
            return "400 Bad Request", "Invalid request", "The login continues."
        if method != "GET" or target.path != PATH:
            return "404 Not Found", "Not found", "The login continues."
        parameters = dict(pairs)
        # A repeated parameter, or the redirect of another request, ends no login.
        if len(parameters) != len(pairs) or not self._is_expected(parameters):
            return "400 Bad Request", "Another request", "This is not the login that is waited for."
        if not self._received.done():
            self._received.set_result(parameters)
        if "error" in parameters:
            return "200 OK", "Not logged in", "Access was not granted. You can close this page."
        return "200 OK", "Logged in", "You can close this page, and return to the terminal."
