"""Opening a connection to a server: over stdio or over Streamable HTTP."""

from __future__ import annotations

from mcpgen.factory.wire.connection import Connection
from mcpgen.factory.wire.frames import Recording
from mcpgen.factory.wire.http import HttpConnection
from mcpgen.factory.wire.stdio import StdioConnection
from mcpgen.factory.wire.targets import Target


async def open_connection(target: Target, revision: str) -> Connection:
    """Start the server, or prepare requests to its URL.

    Raises:
        UnreachableError: the command cannot be run.
    """
    kind: type[StdioConnection | HttpConnection] = HttpConnection if target.url else StdioConnection
    return await kind.open(target, Recording(target.secrets), revision)
