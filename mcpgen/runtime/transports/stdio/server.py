"""The stdio transport: one JSON message per line, and only messages on stdout.

A server starts cold: a plain blocking loop answers the requests that need no handler (the
handshake, discovery, `tools/list`) before asyncio, the validator or the HTTP client are imported.
The first message that needs a handler passes the pipe, with every byte already read, to `loop`.
While the client is idle, the cold loop imports the modules that a call will need.
"""

from __future__ import annotations

import gc
import os
import signal
import sys

from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.protocol.server import ServerProtocol
from mcpgen.runtime.transports.json_input import decode_cold
from mcpgen.runtime.transports.preimport import CALL_MODULES, import_while_idle
from mcpgen.runtime.transports.shutdown import FINAL_WRITE_SECONDS, ShutdownSignals
from mcpgen.runtime.transports.stdio.pipe import CHUNK_BYTES, Pipe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcpgen.runtime.package import ServerPackage


class _ShutdownRequested(Exception):  # noqa: N818  (a signal, not an error)
    """A shutdown signal arrived while the cold loop waited."""


def serve_stdio(package: ServerPackage, *, drain_timeout_seconds: float | None = None) -> int:
    """Serve one client on stdin and stdout until it disconnects; return the exit code.

    `drain_timeout_seconds` is by default that of the settings.

    Raises:
        ConfigurationError: this is Windows, where asyncio cannot wait for a pipe.
    """
    if sys.platform == "win32":
        raise ConfigurationError(
            "stdio is not supported on Windows yet, because asyncio cannot wait for a pipe there; "
            "start the server with --http"
        )
    if drain_timeout_seconds is None:
        drain_timeout_seconds = package.limits.drain_timeout_seconds
    pipe = Pipe.take_over(package.limits.max_message_bytes)
    protocol = ServerProtocol(package.definition)
    shutdown = ShutdownSignals()
    gc.disable()  # imports create many objects and no garbage
    try:
        return _serve(package, pipe, protocol, shutdown, drain_timeout_seconds)
    finally:
        gc.enable()  # where `serve_hot` did not


def _serve(
    package: ServerPackage,
    pipe: Pipe,
    protocol: ServerProtocol,
    shutdown: ShutdownSignals,
    drain_timeout_seconds: float,
) -> int:
    try:
        needs_handlers = _serve_cold(pipe, protocol, shutdown)
        if not needs_handlers:
            _close_listens(pipe, protocol)
    except (_ShutdownRequested, BrokenPipeError):
        return 0  # no call is in flight in the cold loop, and the client does not read
    if not needs_handlers:
        return 0
    shutdown.set_callback(None)
    signal.alarm(0)  # a signal that arrived meanwhile gives the call the time of a drain
    from mcpgen.runtime.transports.stdio.loop import serve_hot

    return serve_hot(package, pipe, protocol, shutdown, drain_timeout_seconds)


def _serve_cold(pipe: Pipe, protocol: ServerProtocol, shutdown: ShutdownSignals) -> bool:
    """Answer messages that need no handler; return True when one needs it, False at the end."""
    not_imported = iter(CALL_MODULES)
    has_client = False
    shutdown.set_callback(_set_shutdown_alarm)
    while not shutdown.is_received:
        has_client = has_client or bool(pipe.lines)
        while pipe.lines and not shutdown.is_received:
            pipe.events = pipe.receive(protocol, decode_cold)
            if protocol.in_flight:
                return True
            _write_all(pipe, protocol)
        if pipe.is_at_end:
            return False
        try:
            shutdown.set_callback(_interrupt)
            if has_client:
                import_while_idle(pipe.read_fd, not_imported)
            data = os.read(pipe.read_fd, CHUNK_BYTES)
            shutdown.set_callback(_set_shutdown_alarm)
        except _ShutdownRequested:
            return False
        pipe.is_at_end = not data
        pipe.lines = pipe.buffer.feed(data) if data else pipe.buffer.finish()
    return False


def _close_listens(pipe: Pipe, protocol: ServerProtocol) -> None:
    """Answer each open `subscriptions/listen`, the only requests that the cold loop leaves open."""
    if protocol.subscriptions:
        protocol.close("the server is shutting down")
        _set_shutdown_alarm()
        _write_all(pipe, protocol)


def _interrupt(*_: object) -> None:
    raise _ShutdownRequested


def _set_shutdown_alarm() -> None:
    """Interrupt the process unless the client reads the output within `FINAL_WRITE_SECONDS`."""
    signal.signal(signal.SIGALRM, _interrupt)
    signal.alarm(FINAL_WRITE_SECONDS)


def _write_all(pipe: Pipe, protocol: ServerProtocol) -> None:
    for outgoing in protocol.messages_to_send():
        pipe.grow(len(outgoing.data) + 1)
        # Two writes, since copying a long page with its line end costs four times the write.
        for data in (outgoing.data, b"\n"):
            unwritten = memoryview(data)
            while unwritten:
                unwritten = unwritten[os.write(pipe.write_fd, unwritten) :]
