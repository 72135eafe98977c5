"""A petstore with callers' credentials, on real sockets, with an API that records them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from mcpgen.runtime.auth.access import Access
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.process import log
from mcpgen.runtime.transports.http.exchange import HttpExchange
from mcpgen.runtime.transports.http.server import HttpServer
from mcpgen.runtime.transports.http.streamable import StreamableHttp
from tests.support.http_server import make_app
from tests.support.paths import EXAMPLES

PETSTORE = EXAMPLES / "petstore-mcp/src"
KEY_HEADER = "X-Shop-Key"
SOURCES = {"api_key": {"from": "header", "header": KEY_HEADER}, "bearer": {"from": "exchange"}}
EXCHANGED = "exchanged-for-"


@dataclass
class RecordingApi:
    """An API that echoes credentials in its responses, with an authorization server."""

    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)  # path, headers
    exchanges: list[dict[str, str]] = field(default_factory=list)
    numbers: Counter[str] = field(default_factory=Counter)  # of exchanges by subject token
    revoked: set[str] = field(default_factory=set)  # access tokens
    url: str = ""

    async def _answer(self, request: web.Request) -> web.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.requests.append((request.path, headers))
        sent = headers.get("authorization", "")
        if sent.removeprefix("Bearer ") in self.revoked:
            return web.json_response({"title": "Expired", "detail": f"not {sent}"}, status=401)
        if request.path.endswith("/elsewhere"):
            raise web.HTTPFound(f"{self.url}/stolen")
        if request.path.endswith("/0"):
            problem = {"title": "No such pet", "detail": f"headers {json.dumps(headers)}"}
            return web.json_response(problem, status=404)
        return web.json_response({"id": 1, "name": f"seen {json.dumps(headers)}", **headers})

    async def _exchange(self, request: web.Request) -> web.Response:
        form = {name: str(value) for name, value in (await request.post()).items()}
        self.exchanges.append(form)
        subject = form["subject_token"]
        if subject.startswith("unknown"):
            return web.json_response({"error": "invalid_grant", "subject": subject}, status=400)
        self.numbers[subject] += 1
        token = f"{EXCHANGED}{subject}-{self.numbers[subject]}"
        token = subject if subject.startswith("unchanged") else token
        return web.json_response(
            {
                "access_token": token,
                "issued_token_type": "urn:ietf:params:oauth:token-type:access_token",
                "token_type": "Bearer",
                "expires_in": 3600,
            }
        )

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[RecordingApi]:
        """Serve on a free port; the token endpoint is at `/token`."""
        app = web.Application()
        app.router.add_post("/token", self._exchange)
        app.router.add_route("*", "/{path:.*}", self._answer)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        assert site._server is not None
        port = site._server.sockets[0].getsockname()[1]  # type: ignore[attr-defined]  # asyncio.Server
        self.url = f"http://127.0.0.1:{port}"
        try:
            yield self
        finally:
            await runner.cleanup()


@dataclass
class CallersServer:
    """The running server: its URL, and the lines of its log."""

    url: str
    api: RecordingApi
    log_lines: list[str]
    server: HttpServer
    app: StreamableHttp


def _authorize(exchange: HttpExchange) -> Access | None:
    """Replace the authorization of callers: the token `for-ann` belongs to `ann`."""
    token = (exchange.text(b"authorization") or "").removeprefix("Bearer ")
    if not token:
        return None
    return Access(f"https://issuer.example {token.rpartition('-')[2]}", frozenset(), token)


@asynccontextmanager
async def serve_callers(
    sources: Mapping[str, Any] = SOURCES, environ: Mapping[str, str] | None = None
) -> AsyncIterator[CallersServer]:
    """Serve the petstore; its package must be importable, and `sources` are by scheme."""
    api, lines = RecordingApi(), list[str]()
    log.send_lines_to(lines.append)
    package = ServerPackage.load("petstore_mcp")
    package.contract["credentials"] = dict(sources)
    async with api.listening():
        settings = {
            "PETSTORE_BASE_URL": api.url,
            "PETSTORE_EXCHANGE_TOKEN_URL": f"{api.url}/token",
            "PETSTORE_EXCHANGE_CLIENT_ID": "petstore-server",
            "PETSTORE_EXCHANGE_CLIENT_SECRET": "secret-of-the-server",
            **(environ or {}),
        }
        dispatcher = package.make_dispatcher(settings)
        app = make_app(package, dispatcher, with_sse=True)
        answer = app.answer

        async def authorize_and_answer(exchange: HttpExchange) -> None:
            exchange.access = _authorize(exchange)
            await answer(exchange)

        app.answer = authorize_and_answer  # type: ignore[method-assign]  # needs no issuer
        server = HttpServer(app)
        try:
            address = await server.listen("127.0.0.1", 0)
            yield CallersServer(f"http://{address}/mcp", api, lines, server, app)
        finally:
            await server.stop(0)
            await dispatcher.aclose()
            log.send_lines_to(log.write_line)
