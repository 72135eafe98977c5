"""HTTP+SSE of MCP 2024-11-05: a stream of events, and a second endpoint to post to."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any, Final
from urllib.parse import parse_qs

from mcpgen.runtime.calls import CallRunner
from mcpgen.runtime.protocol.jsonrpc import Encode
from mcpgen.runtime.protocol.offering import Offering
from mcpgen.runtime.protocol.server import ServerProtocol
from mcpgen.runtime.transports.http_exchange import HttpExchange, RefusedError
from mcpgen.runtime.transports.reply_stream import ReplyStream
from mcpgen.runtime.transports.request_head import accepts
from mcpgen.runtime.transports.sse import encode_event

SSE_PATH: Final = "/sse"
MESSAGES_PATH: Final = "/messages"
_SESSION: Final = "session_id"


class SseConnection:
    """A client, for as long as its stream of events is open."""

    __slots__ = ("protocol", "stream")

    def __init__(self, protocol: ServerProtocol, endpoint: str) -> None:
        self.protocol = protocol
        self.stream = ReplyStream()
        self.stream.is_sse = True
        self.stream.push(encode_event(endpoint.encode(), event=b"endpoint"))

    def flush(self) -> None:
        """Put everything on the one stream there is; no answer is its last message."""
        for outgoing in self.protocol.messages_to_send():
            if outgoing.data:
                self.stream.push(encode_event(outgoing.data))
        self.stream.wake()


class SseEndpoints:
    """Answers GET `/sse`, which opens a connection, and POST `/messages`, which feeds it."""

    def __init__(self, offering: Offering, runner: CallRunner, encode: Encode) -> None:
        # What is stateless has another transport, whose headers must agree with the body.
        self._offering = offering.replaced(revisions=offering.legacy)
        self._runner = runner
        self._encode = encode
        self._connections: dict[str, SseConnection] = {}

    def serves(self, path: str) -> bool:
        """Tell whether a path is one of the two endpoints."""
        return path in {SSE_PATH, MESSAGES_PATH}

    def opens(self, path: str) -> bool:
        """Tell whether a path is the endpoint of the stream."""
        return path == SSE_PATH

    async def open(self, exchange: HttpExchange) -> None:
        """Open a stream and write to it until the client leaves; its calls end with it."""
        if not accepts(exchange.fields.get(b"accept"), "text/event-stream"):
            raise RefusedError(406, "Accept must take text/event-stream")
        session_id = secrets.token_urlsafe(24)
        root = exchange.scope.get("root_path", "")
        endpoint = f"{root}{MESSAGES_PATH}?{_SESSION}={session_id}"
        protocol = ServerProtocol(self._offering, encode=self._encode)
        connection = self._connections[session_id] = SseConnection(protocol, endpoint)
        self._runner.attach(protocol, connection.flush)
        watch = asyncio.create_task(exchange.watch(connection.stream))
        try:
            await exchange.reply_events(connection.stream)
        finally:
            watch.cancel()
            connection.stream.detach()
            del self._connections[session_id]
            self._runner.detach(protocol)
            self._close(connection, "the client closed its stream")

    async def post(self, exchange: HttpExchange, message: Any) -> None:
        """Take a message; what there is to answer goes to the stream."""
        query = parse_qs(exchange.scope["query_string"].decode("latin-1"), max_num_fields=10)
        connection = self._connections.get(query.get(_SESSION, [""])[0])
        if connection is None:
            raise RefusedError(404, f"no such session: open one with GET {SSE_PATH}")
        events = connection.protocol.receive(message, principal=exchange.principal)
        self._runner.take(connection.protocol, events, connection.flush)
        await exchange.reply(202)
        connection.flush()

    def open_streams(self) -> list[ReplyStream]:
        """Give the streams that are open now."""
        return [connection.stream for connection in self._connections.values()]

    def close(self, reason: str, *, only_idle: bool) -> None:
        """End the connections; those with calls in flight stay when `only_idle`."""
        for connection in list(self._connections.values()):
            self._runner.forget_client(connection.protocol)
            if not only_idle or connection.protocol.calls_in_flight() == 0:
                self._close(connection, reason)

    def _close(self, connection: SseConnection, reason: str) -> None:
        protocol = connection.protocol
        self._runner.take(protocol, protocol.close(reason), connection.flush)
        connection.flush()
        connection.stream.finish()
