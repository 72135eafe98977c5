"""The HTTP server of a generated package: uvicorn's HTTP/1.1 under limits that uvicorn has not."""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections.abc import Callable, Sequence
from email.utils import formatdate
from typing import TYPE_CHECKING, Any, Final

import uvicorn
from msgspec.json import Encoder
from uvicorn.server import ServerState

from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.log import log
from mcpgen.runtime.transports.departure import (
    LAST_WORDS_SECONDS,
    Departure,
    leave_handlers_behind,
)
from mcpgen.runtime.transports.host_check import HostCheck, is_loopback
from mcpgen.runtime.transports.http_connection import Connection, max_connections
from mcpgen.runtime.transports.json_input import hot_decoder
from mcpgen.runtime.transports.known_heads import KnownHeads
from mcpgen.runtime.transports.streamable_http import MCP_PATH, StreamableHttp

if TYPE_CHECKING:
    from mcpgen.runtime.package import ServerPackage

HOUSEKEEPING_SECONDS: Final = 1.0
KEEP_ALIVE_SECONDS: Final = 75
COLLECT_AFTER: Final = 10_000
"""New objects after which the collector looks for cycles, which requests leave none of.

Python's 700 are a dozen requests at once: it would look through them again and again.
"""


def serve_http(
    package: ServerPackage,
    *,
    host: str,
    port: int,
    with_sse: bool,
    drain_timeout_seconds: float,
    allows_remote: bool = False,
    has_sessions: bool = True,
    allowed_hosts: Sequence[str] = (),
    allowed_origins: Sequence[str] = (),
) -> int:
    """Serve a package over HTTP until a signal ends it; gives the exit code.

    `has_sessions` off serves older clients without keeping anything between their requests.

    Raises:
        ConfigurationError: others could reach the server and `allows_remote` does not say so,
            or nothing can listen there.
    """
    if with_sse and not package.offering.legacy:
        raise ConfigurationError("--sse is for older revisions of MCP, and this server has none")
    if not is_loopback(host):
        if not allows_remote:
            raise ConfigurationError(
                f"on {host}, whoever reaches this machine can call the tools with your "
                "credentials; if that is meant, add --allow-remote"
            )
        log("warning", f"serving on {host}: whoever can reach it can call the tools")
    check = HostCheck(host, allowed_hosts=allowed_hosts, allowed_origins=allowed_origins)

    departure = Departure()

    async def serve() -> None:
        runner = package.make_runner()
        try:
            app = StreamableHttp(
                package.offering,
                runner,
                decode=hot_decoder(),
                encode=Encoder().encode,
                host_check=check,
                has_sessions=has_sessions,
                with_sse=with_sse,
            )
            server = HttpServer(app)
            address = await server.listen(host, port)
            log("info", f"{package.offering.info['name']} is served at http://{address}{MCP_PATH}")
            await _asked_to_leave(departure)
            all_have_ended = await server.stop(drain_timeout_seconds)
        finally:
            await runner.aclose()
        if not all_have_ended:
            leave_handlers_behind()

    gc.set_threshold(COLLECT_AFTER)
    with asyncio.Runner(loop_factory=_loop_factory()) as loop_runner:
        loop_runner.run(serve())
    return 0


class HttpServer:
    """Listens, bounds connections in number and time, and leaves without losing an answer."""

    def __init__(self, app: StreamableHttp, *, now: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._now = now
        self._state = ServerState()
        self._connections: set[Any] = self._state.connections
        self._all_gone = asyncio.Event()
        self._heads = KnownHeads()
        self._config = uvicorn.Config(
            app,
            interface="asgi3",
            http=Connection,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level=logging.ERROR,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
        )
        self._config.load()
        self._max_connections = max_connections()

    async def listen(self, host: str, port: int) -> str:
        """Open the listening socket and start to serve; gives the address as `host:port`.

        Raises:
            ConfigurationError: nothing can listen there.
        """
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(self._connect, host or None, port)
        except OSError as error:
            raise ConfigurationError(
                f"cannot listen on {host}:{port}: {error.strerror or error}"
            ) from None
        self._tend_connections()
        self._housekeeping = asyncio.create_task(self._housekeep())
        bound = self._server.sockets[0].getsockname()
        name = f"[{host}]" if ":" in host else host
        return f"{name}:{bound[1]}"

    async def stop(self, drain_timeout_seconds: float) -> bool:
        """Close the listening socket, let calls finish, answer the rest, close what is left.

        False if handlers were still at work when the time to finish was over.
        """
        self._server.close()
        for connection in list(self._connections):
            connection.shutdown()
        all_have_ended = await self._app.drain(drain_timeout_seconds)
        if self._connections:
            self._all_gone.clear()
            try:
                await asyncio.wait_for(self._all_gone.wait(), LAST_WORDS_SECONDS)
            except TimeoutError:
                for connection in list(self._connections):
                    connection.transport.abort()
        self._housekeeping.cancel()
        return all_have_ended

    def _connect(self) -> Connection:
        return Connection(
            self._config,
            self._state,
            self._max_connections,
            self._heads,
            on_lost=self._on_connection_lost,
        )

    def _on_connection_lost(self) -> None:
        if not self._connections:
            self._all_gone.set()

    async def _housekeep(self) -> None:
        while True:
            await asyncio.sleep(HOUSEKEEPING_SECONDS)
            try:
                self._tend_connections()
                await self._app.housekeep()
            except Exception as error:  # noqa: BLE001  (the boundary: it must go on)
                log("error", f"housekeeping: {type(error).__name__}: {error}")

    def _tend_connections(self) -> None:
        """Close what is too slow, and set the Date header of the next second."""
        self._state.default_headers = [(b"date", formatdate(usegmt=True).encode())]
        now = self._now()
        for connection in list(self._connections):
            connection.close_if_stuck(now)


async def _asked_to_leave(departure: Departure) -> None:
    """Return when the first signal has come."""
    leaving = asyncio.Event()
    loop = asyncio.get_running_loop()
    departure.when_asked(lambda: loop.call_soon_threadsafe(leaving.set))
    await leaving.wait()
    departure.when_asked(None)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # Windows, PyPy
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
