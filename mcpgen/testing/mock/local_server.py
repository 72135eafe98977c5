"""An HTTP server on 127.0.0.1, for the mock API and for cassettes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from aiohttp import web

Handler: TypeAlias = "Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]"


class LocalServer:
    """Serves each request with one handler."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._runner: web.ServerRunner | None = None

    async def start(self, port: int = 0) -> str:
        """Listen; return the origin. Port 0 selects a free port."""
        from aiohttp import web  # takes longer to import than the rest of this package

        self._runner = web.ServerRunner(
            web.Server(self._handler), handle_signals=False, shutdown_timeout=1.0
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", port).start()
        host, bound = self._runner.addresses[0][:2]
        return f"http://{host}:{bound}"

    async def stop(self) -> None:
        """Stop listening and close open connections."""
        if self._runner is not None:
            await self._runner.cleanup()
