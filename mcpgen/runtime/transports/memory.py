"""A client and a server in one process, for tests: the same core, no pipe, no socket."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from msgspec.json import Encoder

from mcpgen.runtime.calls import CallRunner
from mcpgen.runtime.protocol.offering import Offering
from mcpgen.runtime.protocol.server import ServerProtocol
from mcpgen.runtime.transports.json_input import UndecodableError, hot_decoder


class MemoryConnection:
    """The client's end of a connection to a server in this process.

    Behaves as a pipe does: both eras may be spoken on it, answers come in the order in which
    they are ready. To a package: `MemoryConnection(package.offering, package.make_runner(...))`.
    """

    def __init__(self, offering: Offering, runner: CallRunner) -> None:
        self._runner = runner
        self._decode = hot_decoder()
        self._protocol = ServerProtocol(offering, encode=Encoder().encode)
        self._sent: asyncio.Queue[bytes] = asyncio.Queue()
        runner.attach(self._protocol, self._flush)

    async def send(self, message: Any) -> None:
        """Give the server a message, decoded or as bytes."""
        protocol = self._protocol
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        try:
            events = protocol.receive(self._decode(data))
        except UndecodableError as error:
            protocol.refuse(error.code, error.message, id=error.id)
            events = []
        self._runner.take(protocol, events, self._flush)
        self._flush()

    async def receive(self) -> Any:
        """Wait for the server's next message and give it, decoded."""
        return json.loads(await self._sent.get())

    async def close(self) -> None:
        """End the connection as a server does that shuts down, and release what it used."""
        self._runner.forget_client(self._protocol)
        events = self._protocol.close("the server is shutting down")
        self._runner.take(self._protocol, events, self._flush)
        self._flush()
        self._runner.detach(self._protocol)
        await self._runner.aclose()

    def _flush(self) -> None:
        for outgoing in self._protocol.messages_to_send():
            self._sent.put_nowait(outgoing.data)
