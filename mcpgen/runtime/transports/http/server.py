"""The HTTP/1.1 server of a generated package."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable, Sequence
from email.utils import formatdate
from typing import TYPE_CHECKING, Final

from msgspec.json import Encoder

from mcpgen.runtime.errors import UsageError
from mcpgen.runtime.process.log import log
from mcpgen.runtime.process.output_queue import queue_output
from mcpgen.runtime.process.watchdog import Watchdog
from mcpgen.runtime.transports.http.connection import BUSY, Connection, ServerState
from mcpgen.runtime.transports.http.connection_limits import (
    ConnectionLimits,
    determine_max_connections,
)
from mcpgen.runtime.transports.http.host_check import HostCheck, is_loopback
from mcpgen.runtime.transports.http.listener import Listener
from mcpgen.runtime.transports.http.streamable import MCP_PATH, StreamableHttp
from mcpgen.runtime.transports.json_input import make_hot_decoder
from mcpgen.runtime.transports.shutdown import (
    FINAL_WRITE_SECONDS,
    ShutdownSignals,
    exit_abandoning_handlers,
)

if TYPE_CHECKING:
    from mcpgen.runtime.package import ServerPackage

HOUSEKEEPING_SECONDS: Final = 1.0
COLLECT_AFTER: Final = 10_000
"""New objects between two runs of the garbage collector; requests create no cycles.

Python's default of 700 is reached by a dozen concurrent requests.
"""


def serve_http(
    package: ServerPackage,
    *,
    host: str,
    port: int,
    with_sse: bool,
    drain_timeout_seconds: float,
    pre_stop_delay_seconds: float = 0.0,
    allows_remote: bool = False,
    has_sessions: bool = True,
    allowed_hosts: Sequence[str] = (),
    allowed_origins: Sequence[str] = (),
) -> int:
    """Serve a package over HTTP until a signal ends it; return the exit code.

    Without `has_sessions`, legacy clients are served statelessly.

    Raises:
        UsageError: other machines could reach the server, and `allows_remote` is not set; or
            `with_sse` is set, and the server has no legacy revision.
        ConfigurationError: the address cannot be bound.
    """
    queue_output()
    if with_sse and not package.definition.legacy:
        raise UsageError("--sse needs a legacy MCP revision, and this server has none")
    if not is_loopback(host):
        if not allows_remote:
            raise UsageError(
                f"on {host}, anyone who can reach this machine can call the tools with your "
                "credentials; to allow that, add --allow-remote"
            )
        log("warning", f"serving on {host}: anyone who can reach it can call the tools")
    check = HostCheck(host, allowed_hosts=allowed_hosts, allowed_origins=allowed_origins)

    shutdown = ShutdownSignals()

    async def serve() -> None:
        dispatcher = package.make_dispatcher()
        try:
            app = StreamableHttp(
                package.definition,
                dispatcher,
                decode=make_hot_decoder(),
                encode=Encoder().encode,
                host_check=check,
                has_sessions=has_sessions,
                with_sse=with_sse,
            )
            server = HttpServer(app)
            address = await server.listen(host, port)
            log(
                "info", f"{package.definition.info['name']} is served at http://{address}{MCP_PATH}"
            )
            with Watchdog():
                await _wait_for_signal(shutdown)
                await server.announce_shutdown(pre_stop_delay_seconds)
                all_have_ended = await server.stop(drain_timeout_seconds)
        finally:
            await dispatcher.aclose()
        if not all_have_ended:
            exit_abandoning_handlers()

    gc.set_threshold(COLLECT_AFTER)
    with asyncio.Runner(loop_factory=_find_loop_factory()) as loop_runner:
        loop_runner.run(serve())
    return 0


class HttpServer:
    """Listener, connection limits and graceful shutdown of one server."""

    def __init__(self, app: StreamableHttp, *, now: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._now = now
        self._all_gone = asyncio.Event()
        self.limits = ConnectionLimits(determine_max_connections())
        self._state = ServerState(app.answer, self.limits)
        self._connections = self._state.connections
        self._listener = Listener(self._connect, self.limits.close_idle, BUSY)

    async def listen(self, host: str, port: int) -> str:
        """Open the listening socket and start to serve; return the address as `host:port`.

        Raises:
            ConfigurationError: the address cannot be bound.
        """
        bound_port = await self._listener.listen(host, port)
        self._tend_connections()
        self._housekeeping = asyncio.create_task(self._housekeep())
        name = f"[{host}]" if ":" in host else host
        return f"{name}:{bound_port}"

    async def announce_shutdown(self, delay_seconds: float) -> None:
        """Report that the server is not ready, and continue to serve for `delay_seconds`.

        Answers ask clients to close their connections, so that none is lost at the end.
        """
        if delay_seconds:
            self.limits.asks_to_close = True
            self._app.is_ready = False
            await asyncio.sleep(delay_seconds)

    async def stop(self, drain_timeout_seconds: float) -> bool:
        """Stop listening, let calls finish, answer the others, close the remaining connections.

        Return False if handlers were still running when the drain timeout expired.
        """
        self._listener.close()
        for connection in list(self._connections):
            connection.shut_down()
        all_have_ended = await self._app.drain(drain_timeout_seconds)
        if self._connections:
            self._all_gone.clear()
            try:
                await asyncio.wait_for(self._all_gone.wait(), FINAL_WRITE_SECONDS)
            except TimeoutError:
                for connection in list(self._connections):
                    connection.transport.abort()
        self._housekeeping.cancel()
        return all_have_ended

    def _connect(self) -> Connection:
        return Connection(self._state, on_lost=self._on_connection_lost)

    def _on_connection_lost(self) -> None:
        if not self._connections:
            self._all_gone.set()

    async def _housekeep(self) -> None:
        while True:
            await asyncio.sleep(HOUSEKEEPING_SECONDS)
            try:
                self._tend_connections()
                await self._app.housekeep()
            except Exception as error:  # noqa: BLE001  (the boundary: housekeeping must continue)
                log("error", f"housekeeping: {type(error).__name__}: {error}")

    def _tend_connections(self) -> None:
        """Close the connections of stuck clients, and update the Date header."""
        self._state.date_field = b"date: %b\r\n" % formatdate(usegmt=True).encode()
        now = self._now()
        for connection in list(self._connections):
            connection.close_if_stuck(now)


async def _wait_for_signal(shutdown: ShutdownSignals) -> None:
    received = asyncio.Event()
    loop = asyncio.get_running_loop()
    shutdown.set_callback(lambda: loop.call_soon_threadsafe(received.set))
    await received.wait()
    shutdown.set_callback(None)


def _find_loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # Windows, PyPy
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
