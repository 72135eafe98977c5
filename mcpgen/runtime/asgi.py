"""A generated server as an ASGI application, for servers that other programs run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from mcpgen.runtime.errors import ConfigurationError, UsageError
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.process.log import log
from mcpgen.runtime.serving import find_problems, has_telemetry
from mcpgen.runtime.startup.http_service import HttpService
from mcpgen.runtime.startup.http_settings import read_access_settings
from mcpgen.runtime.startup.http_start import (
    check_authorization,
    check_connect,
    check_keys,
    load_authorization,
    load_card,
)
from mcpgen.runtime.transports.http.asgi_endpoint import AsgiEndpoint, Receive, Scope, Send
from mcpgen.runtime.transports.http.connection_limits import (
    ConnectionLimits,
    determine_max_connections,
)
from mcpgen.runtime.transports.http.host_check import HostCheck
from mcpgen.runtime.transports.http.server import HOUSEKEEPING_SECONDS

DRAIN_TIMEOUT_SECONDS: Final = 30.0


class AsgiApplication:
    """The endpoints of a generated package as an ASGI application: `/mcp` and its health.

    Its settings are those of `--http`, from the environment. It starts with the lifespan of the
    ASGI server, or else with the first request. Where another application mounts it, that one
    passes on its lifespan:

        Starlette(routes=[Mount("/petstore", app)], lifespan=app.lifespan)
    """

    def __init__(
        self,
        package: str,
        *,
        with_sse: bool = False,
        has_sessions: bool = True,
        drain_timeout_seconds: float = DRAIN_TIMEOUT_SECONDS,
    ) -> None:
        """Name the package, which is loaded at the start; the options are those of `--http`."""
        self._package = package
        self._with_sse = with_sse
        self._has_sessions = has_sessions
        self._drain_timeout_seconds = drain_timeout_seconds
        self._starting = asyncio.Lock()
        self._endpoint: AsgiEndpoint | None = None
        self._stop_observing: Callable[[], None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the lifespan of the ASGI server, or answer a request."""
        if scope["type"] == "lifespan":
            await self._serve_lifespan(receive, send)
        elif scope["type"] == "http":
            endpoint = self._endpoint or await self.start()
            await endpoint(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close"})  # before it is accepted: status 403

    @asynccontextmanager
    async def lifespan(self, _: object = None) -> AsyncIterator[None]:
        """Start the application, and stop it at the end of the block."""
        await self.start()
        try:
            yield
        finally:
            await self.stop()

    async def start(self) -> AsgiEndpoint:
        """Load the package and start to serve, unless that was done before.

        Raises:
            ConfigurationError: a setting is missing or invalid.
        """
        async with self._starting:
            if self._endpoint is None:
                package = self._load()
                prefix = package.contract.get("env_prefix", "")
                access = read_access_settings(prefix, package.environ)
                if has_telemetry(package):
                    from mcpgen.runtime.telemetry.setup import start_observing

                    self._stop_observing = start_observing(package, is_http=True)
                service = self._service = await HttpService.open(
                    package,
                    host_check=HostCheck(
                        "0.0.0.0" if access.allows_remote else "127.0.0.1",  # noqa: S104  (as Host)
                        allowed_hosts=access.allowed_hosts,
                        allowed_origins=access.allowed_origins,
                        env_prefix=prefix,
                    ),
                    # The server's address is unknown here, so PUBLIC_URL is its only name.
                    authorization=load_authorization(package, is_local=False),
                    has_sessions=self._has_sessions,
                    with_sse=self._with_sse,
                    card=load_card(package),
                )
                limits = package.limits
                self._housekeeping = asyncio.create_task(_housekeep(service))
                self._endpoint = AsgiEndpoint(
                    service.app,
                    ConnectionLimits(
                        determine_max_connections(limits.max_connections),
                        max_buffered_bytes=limits.max_buffered_bytes,
                    ),
                    allows_remote=access.allows_remote or service.authorization is not None,
                    env_prefix=prefix,
                )
            return self._endpoint

    async def stop(self) -> None:
        """Let calls finish, end the streams and release everything; the next request starts it."""
        if self._endpoint is not None:
            await self._service.app.drain(self._drain_timeout_seconds)
            self._endpoint = None
            self._housekeeping.cancel()
            await asyncio.wait([self._housekeeping])
            if self._stop_observing is not None:
                await asyncio.to_thread(self._stop_observing)
                self._stop_observing = None

    def _load(self) -> ServerPackage:
        package = ServerPackage.load(self._package)
        if has_telemetry(package):
            from mcpgen.runtime.telemetry.setup import apply_log_style

            apply_log_style(package)
        if self._with_sse and not package.definition.legacy:
            raise UsageError("with_sse needs a legacy MCP revision, and this server has none")
        problems = find_problems(package, "")
        is_shared = not self._has_sessions or package.has_shared_store
        problems += check_keys(package, is_shared=is_shared)
        problems += check_authorization(package)
        problems += check_connect(package)
        for problem in problems[1:]:
            log("error", str(problem))
        if problems:
            raise problems[0]
        return package

    async def _serve_lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                try:
                    await self.start()
                except (ConfigurationError, UsageError) as error:
                    await send({"type": "lifespan.startup.failed", "message": str(error)})
                    return
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await self.stop()
                await send({"type": "lifespan.shutdown.complete"})
                return


async def _housekeep(service: HttpService) -> None:
    """Do what is due about once a second; release everything at the end."""
    try:
        while True:
            await asyncio.sleep(HOUSEKEEPING_SECONDS)
            try:
                await service.app.housekeep()
            except Exception as error:  # noqa: BLE001  (the boundary: housekeeping must continue)
                log("error", f"housekeeping: {type(error).__name__}: {error}")
    finally:
        await service.aclose()
