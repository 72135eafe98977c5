"""Streamable HTTP under an ASGI server (ASGI 3.0, HTTP message format 2.5)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Final, TypeAlias

from mcpgen.contract.limits import Limits
from mcpgen.runtime.transports.http.connection_limits import (
    CALLING,
    IDLE,
    STREAMING,
    ConnectionLimits,
    identify_client,
)
from mcpgen.runtime.transports.http.exchange import (
    CLOSE,
    LONG_BYTES,
    HttpError,
    HttpExchange,
    check_headers,
    too_large,
)
from mcpgen.runtime.transports.http.host_check import is_loopback
from mcpgen.runtime.transports.http.request_head import Header, RequestHead, join_fields
from mcpgen.runtime.transports.http.streamable import RETRY_AFTER, StreamableHttp

Message: TypeAlias = MutableMapping[str, Any]
Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

_DISCONNECT: Final = "http.disconnect"
_BUSY: Final = HttpError(503, "too many requests are in flight", (RETRY_AFTER,))


class AsgiEndpoint:
    """The endpoints of `StreamableHttp` as an ASGI application of HTTP requests.

    Requests are answered on any path below the prefix under which it is mounted (`root_path`).
    Unless `allows_remote`, requests on other addresses than loopback are rejected.
    """

    def __init__(
        self,
        app: StreamableHttp,
        limits: ConnectionLimits,
        *,
        allows_remote: bool,
        env_prefix: str = "",
    ) -> None:
        """Serve the endpoints; `env_prefix` is that of the settings that a refusal names."""
        self._app = app
        self.limits = limits
        self._allows_remote = allows_remote
        self._not_local = HttpError(
            403,
            "the server accepts requests from this machine only, since anyone who reaches it could"
            f" call the tools; to allow others, set {env_prefix}ALLOW_REMOTE=1",
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = _Request(scope, self.limits)
        exchange = AsgiExchange(request, receive, send, self._app.limits)
        if not self.limits.add(request):
            await exchange.refuse(_BUSY)
            return
        try:
            server = scope.get("server")
            if self._allows_remote or server is None or _is_local(server):
                await self._app.answer(exchange)
            else:
                await exchange.refuse(self._not_local)
            if request.is_aborted and not exchange.is_sent:
                exchange.is_disconnected = False  # the client is still there
                await exchange.refuse(_BUSY)
        finally:
            self.limits.remove(request)
            exchange.finish()


def _is_local(server: Iterable[Any]) -> bool:
    """Return whether requests arrive at a loopback address, or at a Unix socket."""
    host, port = server
    return port is None or is_loopback(str(host))


class _Request:
    """A request as `ConnectionLimits` and its exchange see it: its own connection."""

    is_write_paused = False
    date_field = b""  # the ASGI server has its own

    def __init__(self, scope: Scope, limits: ConnectionLimits) -> None:
        self.scope = scope
        self.client_network = _find_client_network(scope.get("client"))
        self.used_at = time.monotonic()
        self.buffered_bytes = 0
        self.is_aborted = False  # to make room
        self.exchange: AsgiExchange | None = None
        self._limits = limits

    def state(self) -> int:
        """Return IDLE, STREAMING or CALLING (`connection_limits`)."""
        if self.exchange is None or self.exchange.more_body:
            return IDLE
        return STREAMING if self.exchange.is_started else CALLING

    def abort(self) -> None:
        """End the exchange as if the client had disconnected."""
        self.is_aborted = True
        if self.exchange is not None:
            self.exchange.disconnect()

    def hold_body(self, size: int) -> None:
        """Record how much of a long body is buffered."""
        self._limits.hold(self, size)

    # What only connections have that the server reads and writes itself.

    def parse_next(self) -> None:
        """Do nothing."""

    def write(self, data: bytes) -> None:
        """Do nothing."""

    async def wait_until_writable(self) -> None:
        """Do nothing."""

    def read_on(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class AsgiExchange(HttpExchange):
    """A request and its response as ASGI messages."""

    __slots__ = (
        "_deadline",
        "_is_http_1",
        "_receive",
        "_request",
        "_response",
        "_send_message",
        "_settings",
        "_watching",
        "is_sent",
        "root_path",
    )

    def __init__(self, request: _Request, receive: Receive, send: Send, settings: Limits) -> None:
        scope = request.scope
        root_path = scope.get("root_path", "").rstrip("/")
        path = scope["path"]
        # Since version 2.4 of the specification, `path` contains `root_path`.
        if root_path and f"{path}/".startswith(f"{root_path}/"):
            path = path[len(root_path) :]
        headers = [(bytes(name).lower(), bytes(value)) for name, value in scope["headers"]]
        query = bytes(scope.get("query_string", b"")).decode("latin-1")
        fields = join_fields(headers)
        head = RequestHead(scope["method"], path, query, headers, fields)
        super().__init__(request, head, fields, more_body=scope["method"] == "POST")
        self.root_path = root_path
        self._request = request
        self._receive = receive
        self._send_message = send
        self._settings = settings
        self._is_http_1 = scope.get("http_version", "1.1").startswith("1")
        self._response: Message | None = None  # its start, until the first part of its body
        self.is_sent = False  # the start of the response
        self._deadline: asyncio.Timeout | None = None  # of what the ASGI server is waited for
        self._watching: asyncio.Task[None] | None = None
        request.exchange = self

    def disconnect(self) -> None:
        """Record that the connection is lost, and wait for it no longer."""
        super().disconnect()
        if self._deadline is not None:
            self._deadline.reschedule(asyncio.get_running_loop().time())

    def finish(self) -> None:
        """Release what the exchange holds."""
        self._request.exchange = None
        if self._watching is not None:
            self._watching.cancel()

    # -- the request ---------------------------------------------------------------------------

    async def read_body(self, max_bytes: int) -> bytes:
        """Wait for the whole body and return it, once.

        Raises:
            HttpError: it is longer than `max_bytes`, it takes too long, or the client
                disconnected before its end.
        """
        self.check_announced_length(max_bytes)
        body = bytearray()
        seconds = self._settings.body_timeout_seconds
        try:
            async with asyncio.timeout(seconds) as self._deadline:
                while self.more_body and not self.is_disconnected and len(body) <= max_bytes:
                    message = await self._receive()
                    if message["type"] == _DISCONNECT:
                        super().disconnect()
                    else:
                        body += message.get("body", b"")
                        self.more_body = message.get("more_body", False)
                    if len(body) > LONG_BYTES:
                        self._request.hold_body(len(body))
        except TimeoutError:
            if not self.is_disconnected:
                raise HttpError(
                    408, f"the body was not complete after {seconds:g} seconds", (CLOSE,)
                ) from None
        finally:
            self._deadline = None
            self._request.hold_body(0)
        if self.is_disconnected:
            raise HttpError(400, "incomplete request body: the connection ended", (CLOSE,))
        if len(body) > max_bytes:
            raise too_large(max_bytes)
        return bytes(body)

    async def _wait(self) -> None:
        """Wait until the response or the connection has changed."""
        if self._watching is None:
            self._watching = asyncio.create_task(self._wait_for_disconnect())
        await super()._wait()

    async def _wait_for_disconnect(self) -> None:
        while (await self._receive())["type"] != _DISCONNECT:
            pass
        self.disconnect()

    # -- the response --------------------------------------------------------------------------

    def try_reply(self, _: int, __: bytes = b"") -> bool:
        """Return False: sending may have to wait."""
        return False

    def _begin_response(
        self, status: int, fields: Iterable[Header], _: Iterable[Header] = ()
    ) -> None:
        """Make the start of the response; the ASGI server frames it."""
        self.is_started = True
        headers = [field for field in fields if self._is_http_1 or field != CLOSE]
        check_headers(headers)
        self._response = {"type": "http.response.start", "status": status, "headers": headers}

    async def _send(self, body: bytes, *, is_last: bool = False) -> None:
        """Send a part of the body, and the start of the response before the first part.

        A client that does not read `LONG_BYTES` in time counts as disconnected.
        """
        if self.head.method == "HEAD":
            body = b""
        unsent = memoryview(body)
        try:
            if self._response is not None and not self.is_disconnected:
                start, self._response = self._response, None
                self.is_sent = True
                await self._send_in_time(start)
            while not self.is_disconnected:
                part, unsent = unsent[:LONG_BYTES], unsent[LONG_BYTES:]
                more = bool(unsent) or not is_last
                if len(body) > LONG_BYTES:
                    self._request.hold_body(len(unsent))
                await self._send_in_time(
                    {"type": "http.response.body", "body": bytes(part), "more_body": more}
                )
                if not unsent:
                    break
        except OSError:  # which TimeoutError is too
            super().disconnect()
        finally:
            self._deadline = None
            if len(body) > LONG_BYTES:
                self._request.hold_body(0)
        if is_last and not self.is_disconnected:
            self._complete()

    async def _send_in_time(self, message: Message) -> None:
        async with asyncio.timeout(self._settings.write_timeout_seconds) as self._deadline:
            await self._send_message(message)


def _find_client_network(client: Any) -> str:
    try:
        return identify_client(str(client[0])) if client else ""
    except ValueError:  # the path of a Unix socket, for instance
        return ""
