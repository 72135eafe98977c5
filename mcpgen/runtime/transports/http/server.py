"""The HTTP/1.1 server of a generated package."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable, Sequence
from email.utils import formatdate
from typing import TYPE_CHECKING, Final

from mcpgen.runtime.errors import UsageError
from mcpgen.runtime.process.log import log
from mcpgen.runtime.process.output_queue import queue_output
from mcpgen.runtime.process.watchdog import Watchdog
from mcpgen.runtime.startup.http_service import HttpService
from mcpgen.runtime.transports.http.connection import BUSY, Connection, ServerState
from mcpgen.runtime.transports.http.connection_limits import (
    ConnectionLimits,
    determine_max_connections,
)
from mcpgen.runtime.transports.http.host_check import HostCheck, is_loopback
from mcpgen.runtime.transports.http.listener import Listener
from mcpgen.runtime.transports.http.streamable import MCP_PATH, StreamableHttp
from mcpgen.runtime.transports.shutdown import (
    FINAL_WRITE_SECONDS,
    ShutdownSignals,
    exit_abandoning_handlers,
)

if TYPE_CHECKING:
    from socket import socket

    from mcpgen.runtime.package import ServerPackage
    from mcpgen.runtime.process.supervisor import WorkerLink
    from mcpgen.runtime.transports.http.authorization import HttpAuthorization
    from mcpgen.runtime.transports.http.server_card import ServerCard
    from mcpgen.runtime.transports.http.tls import Certificate

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
    certificate: Certificate | None = None,
    authorization: HttpAuthorization | None = None,
    card: ServerCard | None = None,
    worker: WorkerLink | None = None,
) -> int:
    """Serve a package over HTTP until a signal ends it; return the exit code.

    Without `has_sessions`, legacy clients are served statelessly. With a `certificate`, HTTPS is
    served, and nothing else. With `authorization`, each request needs an access token. A `worker`
    accepts connections on the sockets of its supervisor.

    Raises:
        UsageError: other machines could reach the server without authorization, and
            `allows_remote` is not set; or `with_sse` is set, and the server has no legacy revision.
        ConfigurationError: the address cannot be bound.
    """
    queue_output()
    if with_sse and not package.definition.legacy:
        raise UsageError("--sse needs a legacy MCP revision, and this server has none")
    if authorization is None and not is_loopback(host):
        if not allows_remote:
            raise UsageError(
                f"on {host}, anyone who can reach this machine can call the tools with your "
                "credentials; to allow that, add --allow-remote"
            )
        if worker is None or worker.number == 1:
            log("warning", f"serving on {host}: anyone who can reach it can call the tools")
    scheme = "http" if certificate is None else "https"
    check = HostCheck(
        host,
        allowed_hosts=allowed_hosts,
        allowed_origins=allowed_origins,
        scheme="" if certificate is None else scheme,
        env_prefix=package.contract.get("env_prefix", ""),
    )

    shutdown = ShutdownSignals()

    async def serve() -> None:
        service = await HttpService.open(
            package,
            host_check=check,
            authorization=authorization,
            has_sessions=has_sessions,
            with_sse=with_sse,
            card=card,
        )
        try:
            server = HttpServer(service.app, certificate=certificate)
            if worker is None:
                address = await server.listen(host, port)
                name = package.definition.info["name"]
                log("info", f"{name} is served at {scheme}://{address}{MCP_PATH}")
            else:
                address = format_address(host, worker.sockets[0].getsockname()[1])
                server.accept_on(worker.sockets)
                asyncio.get_running_loop().add_reader(worker.parent_fd, shutdown.request)
                worker.report_ready()
            if authorization is not None:
                authorization.listen_at(int(address.rpartition(":")[2]), scheme=scheme)
            with Watchdog():
                await _wait_for_signal(shutdown)
                await server.announce_shutdown(pre_stop_delay_seconds)
                all_have_ended = await server.stop(drain_timeout_seconds)
        finally:
            if worker is not None:
                asyncio.get_running_loop().remove_reader(worker.parent_fd)
            await service.aclose()
        if not all_have_ended:
            exit_abandoning_handlers()

    gc.set_threshold(COLLECT_AFTER)
    with asyncio.Runner(loop_factory=_find_loop_factory()) as loop_runner:
        loop_runner.run(serve())
    return 0


class HttpServer:
    """Listener, connection limits and graceful shutdown of one server."""

    def __init__(
        self,
        app: StreamableHttp,
        *,
        certificate: Certificate | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._certificate = certificate
        self._now = now
        self._all_gone = asyncio.Event()
        settings = app.limits
        self.limits = ConnectionLimits(
            determine_max_connections(settings.max_connections),
            max_buffered_bytes=settings.max_buffered_bytes,
        )
        self._state = ServerState(app.answer, self.limits, settings)
        self._connections = self._state.connections
        refusal = BUSY if certificate is None else b""
        self._listener = Listener(self._connect, self.limits.close_idle, refusal)

    async def listen(self, host: str, port: int) -> str:
        """Open the listening socket and start to serve; return the address as `host:port`.

        Raises:
            ConfigurationError: the address cannot be bound.
        """
        bound_port = await self._listener.listen(host, port)
        self._begin()
        return format_address(host, bound_port)

    def accept_on(self, sockets: Sequence[socket]) -> None:
        """Start to serve on listening sockets."""
        self._listener.accept_on(sockets)
        self._begin()

    def _begin(self) -> None:
        self._tend_connections()
        self._housekeeping = asyncio.create_task(self._housekeep())

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
                async with asyncio.timeout(FINAL_WRITE_SECONDS):
                    await self._all_gone.wait()
            except TimeoutError:
                for connection in list(self._connections):
                    connection.transport.abort()
        self._housekeeping.cancel()
        return all_have_ended

    def _connect(self) -> asyncio.Protocol:
        connection = Connection(self._state, on_lost=self._on_connection_lost)
        if self._certificate is None:
            return connection
        from mcpgen.runtime.transports.http.tls import TlsLayer

        return TlsLayer(self._certificate.context, connection)

    def _on_connection_lost(self) -> None:
        if not self._connections:
            self._all_gone.set()

    async def _housekeep(self) -> None:
        while True:
            await asyncio.sleep(HOUSEKEEPING_SECONDS)
            try:
                self._tend_connections()
                if self._certificate is not None:
                    self._certificate.reload_if_changed()
                await self._app.housekeep()
            except Exception as error:  # noqa: BLE001  (the boundary: housekeeping must continue)
                log("error", f"housekeeping: {type(error).__name__}: {error}")

    def _tend_connections(self) -> None:
        """Close the connections of stuck clients, and update the Date header."""
        self._state.date_field = b"date: %b\r\n" % formatdate(usegmt=True).encode()
        now = self._now()
        for connection in list(self._connections):
            connection.close_if_stuck(now)


def format_address(host: str, port: int) -> str:
    """Return host and port as in a URL."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


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
