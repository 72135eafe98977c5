"""HTTP+SSE transport of MCP 2024-11-05: an event stream, and an endpoint for POST requests."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any, Final
from urllib.parse import parse_qs

from mcpgen.runtime.handlers.dispatcher import Dispatcher
from mcpgen.runtime.protocol.jsonrpc import Encode
from mcpgen.runtime.protocol.server import ServerProtocol
from mcpgen.runtime.protocol.server_definition import ServerDefinition
from mcpgen.runtime.transports.http.exchange import HttpError, HttpExchange
from mcpgen.runtime.transports.http.reply_stream import ReplyStream, encode_event
from mcpgen.runtime.transports.http.request_head import accepts

SSE_PATH: Final = "/sse"
MESSAGES_PATH: Final = "/messages"
MAX_CALLS: Final = 100  # of one client at a time
SESSION: Final = "session_id"


class SseConnection:
    """Connection of one client, as long as its event stream is open."""

    __slots__ = ("exchange", "principal", "protocol", "stream")

    def __init__(self, protocol: ServerProtocol, endpoint: str, exchange: HttpExchange) -> None:
        self.protocol = protocol
        self.principal = exchange.principal
        self.exchange = exchange
        self.stream = ReplyStream()
        self.stream.is_sse = True
        self.stream.push(encode_event(endpoint.encode(), event=b"endpoint"))

    def flush(self) -> None:
        """Write all messages to the stream, which no answer ends."""
        for outgoing in self.protocol.messages_to_send():
            if outgoing.data:
                self.stream.push(encode_event(outgoing.data))
        self.stream.wake()


class SseEndpoints:
    """The endpoints: GET `/sse` opens a connection, POST `/messages` sends messages on it."""

    def __init__(
        self, definition: ServerDefinition, dispatcher: Dispatcher, encode: Encode
    ) -> None:
        # Stateless revisions are served only by Streamable HTTP, which checks their headers.
        self._definition = definition.replace(revisions=definition.legacy)
        self._dispatcher = dispatcher
        self._encode = encode
        self._connections: dict[str, SseConnection] = {}

    async def open(self, exchange: HttpExchange) -> None:
        """Open a stream and write to it until the client disconnects, which cancels its calls."""
        if not accepts(exchange.fields.get(b"accept"), "text/event-stream"):
            raise HttpError(406, "the Accept header must include text/event-stream")
        session_id = secrets.token_urlsafe(24)
        endpoint = f"{exchange.root_path}{MESSAGES_PATH}?{SESSION}={session_id}"
        protocol = ServerProtocol(self._definition, encode=self._encode, address=exchange.address)
        connection = self._connections[session_id] = SseConnection(protocol, endpoint, exchange)
        self._dispatcher.attach(protocol, connection.flush)
        watch = asyncio.create_task(exchange.watch(connection.stream))
        try:
            await exchange.reply_events(connection.stream)
        finally:
            watch.cancel()
            connection.stream.detach()
            del self._connections[session_id]
            self._dispatcher.detach(protocol)
            self._close(connection, "the client closed its stream")

    async def post(self, exchange: HttpExchange, message: Any) -> None:
        """Process a message; its answers are written to the stream."""
        query = parse_qs(exchange.head.query, max_num_fields=10)
        connection = self._connections.get(query.get(SESSION, [""])[0])
        if connection is None or connection.principal != exchange.principal:
            raise HttpError(404, f"unknown session: open one with GET {SSE_PATH}")
        is_full = self._dispatcher.is_full or len(connection.protocol.in_flight) >= MAX_CALLS
        if is_full and type(message) is dict and "id" in message and "method" in message:
            raise HttpError(503, "too many calls are in flight", ((b"retry-after", b"1"),))
        events = connection.protocol.receive(message, access=exchange.access)
        self._dispatcher.dispatch(connection.protocol, events, connection.flush)
        await exchange.reply(202)
        connection.flush()

    def has_calls(self, exchange: HttpExchange) -> bool:
        """Return whether a call of a stream is running."""
        found = (it.protocol for it in self._connections.values() if it.exchange is exchange)
        return any(protocol.in_flight for protocol in found)

    def open_streams(self) -> list[ReplyStream]:
        """Return the open streams."""
        return [connection.stream for connection in self._connections.values()]

    def close(self, reason: str, *, only_idle: bool) -> None:
        """Close the connections; with `only_idle`, keep those with calls in flight."""
        for connection in list(self._connections.values()):
            self._dispatcher.forget_client(connection.protocol)
            if not only_idle or not connection.protocol.in_flight:
                self._close(connection, reason)

    def _close(self, connection: SseConnection, reason: str) -> None:
        protocol = connection.protocol
        self._dispatcher.dispatch(protocol, protocol.close(reason), connection.flush)
        connection.flush()
        connection.stream.finish()
