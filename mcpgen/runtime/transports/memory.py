"""In-memory transport: a client and a server in one process, for tests."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from msgspec.json import Encoder

from mcpgen.runtime.auth.access import Access
from mcpgen.runtime.handlers.dispatcher import Dispatcher
from mcpgen.runtime.protocol.server import ServerProtocol
from mcpgen.runtime.protocol.server_definition import ServerDefinition
from mcpgen.runtime.transports.json_input import UndecodableError, make_hot_decoder


class MemoryConnection:
    """The client's end of a connection to a server in this process.

    It behaves like the stdio pipe: legacy and modern messages may be mixed, and answers arrive in
    the order in which they are ready.
    """

    access: Access | None = None
    """Authorization of the messages sent from now on, as of HTTP requests; None as over stdio."""

    def __init__(self, definition: ServerDefinition, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._decode = make_hot_decoder()
        self._protocol = ServerProtocol(definition, encode=Encoder().encode)
        self._sent: asyncio.Queue[bytes] = asyncio.Queue()
        dispatcher.attach(self._protocol, self._flush)

    async def send(self, message: Any) -> None:
        """Send a message to the server, decoded or as bytes."""
        protocol = self._protocol
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        try:
            events = protocol.receive(self._decode(data), access=self.access)
        except UndecodableError as error:
            protocol.refuse(error.code, error.message, id=error.id)
            events = []
        self._dispatcher.dispatch(protocol, events, self._flush)
        self._flush()

    async def receive(self) -> Any:
        """Wait for the server's next message and return it, decoded."""
        return json.loads(await self._sent.get())

    async def close(self) -> None:
        """End the connection as a server shutdown does, and release its resources."""
        self._dispatcher.forget_client(self._protocol)
        events = self._protocol.close("the server is shutting down")
        self._dispatcher.dispatch(self._protocol, events, self._flush)
        self._flush()
        self._dispatcher.detach(self._protocol)
        await self._dispatcher.aclose()

    def _flush(self) -> None:
        for outgoing in self._protocol.messages_to_send():
            self._sent.put_nowait(outgoing.data)
