"""A proxy in front of a correct HTTP server that introduces one fault.

What a faulty proxy changes is a method of `Proxy`; `serve` runs one on a free port.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, web
from multidict import CIMultiDict

TOKEN = "token-4f1c0e7a92"
_HOP_BY_HOP = (
    "Connection",
    "Content-Length",
    "Content-Encoding",
    "Keep-Alive",
    "Transfer-Encoding",
)
_METADATA = "/.well-known/oauth-protected-resource"


class Sent:
    """A request on its way to the server; the proxy may change it."""

    def __init__(self, request: web.Request, body: bytes) -> None:
        self.method = request.method
        self.path = request.path
        self.query = dict(request.query)
        self.headers = CIMultiDict(request.headers)
        self.spellings = {name.decode() for name, _ in request.raw_headers}
        self.body = body

    @property
    def message(self) -> dict[str, Any]:
        """The message in the body; {} if there is none."""
        try:
            message = json.loads(self.body)
        except ValueError:
            return {}
        return message if isinstance(message, dict) else {}


class Proxy:
    """A proxy that changes nothing."""

    def __init__(self, upstream: str) -> None:
        self.upstream = upstream  # the origin of the server
        self.url = ""  # of the MCP endpoint behind this proxy

    def change_request(self, sent: Sent) -> web.Response | None:
        """Change a request; if a response is returned, the server does not get the request."""
        return None

    def change_response(self, sent: Sent, head: web.StreamResponse) -> None:
        """Change the head of a response."""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Forward a request and stream the response back."""
        sent = Sent(request, await request.read())
        reply = self.change_request(sent)
        if reply is not None:
            return reply
        if sent.headers.get("Host", "").startswith("127.0.0.1"):
            del sent.headers["Host"]
        timeout = ClientTimeout(total=None)
        async with (
            ClientSession(cookie_jar=DummyCookieJar(), timeout=timeout) as client,
            client.request(
                sent.method,
                self.upstream + sent.path,
                headers=sent.headers,
                data=sent.body or None,
                skip_auto_headers=("Content-Type", "Accept"),
            ) as response,
        ):
            head = web.StreamResponse(status=response.status, reason="")
            for name, value in response.headers.items():
                if name not in _HOP_BY_HOP:
                    head.headers.add(name, value)
            self.change_response(sent, head)
            await head.prepare(request)
            async for chunk in response.content.iter_any():
                await head.write(chunk)
            await head.write_eof()
            return head


class Protected(Proxy):
    """A proxy that requires an access token, serves its metadata, and changes nothing else."""

    challenges = True
    scope = ', scope="mcp"'
    status = 401
    servers = ("https://auth.example.com",)

    def change_request(self, sent: Sent) -> web.Response | None:
        if sent.path.startswith("/.well-known/"):
            return self.serve_metadata(sent)
        if self.accepts(sent):
            sent.headers.pop("Authorization", None)
            return None
        metadata = self.url.replace("/mcp", f"{_METADATA}/mcp")
        challenge = f'Bearer resource_metadata="{metadata}"{self.scope}'
        headers = {"WWW-Authenticate": challenge} if self.challenges else {}
        return web.Response(status=self.status, headers=headers)

    def accepts(self, sent: Sent) -> bool:
        """Return whether a request has the token."""
        return sent.headers.get("Authorization") == f"Bearer {TOKEN}"

    def serve_metadata(self, sent: Sent) -> web.Response:
        """Return the metadata of the protected resource."""
        if sent.path != f"{_METADATA}/mcp":
            return web.Response(status=404)
        return web.json_response(
            {"resource": self.get_resource(), "authorization_servers": list(self.servers)}
        )

    def get_resource(self) -> str:
        """Return the identifier of the resource."""
        return self.url


@asynccontextmanager
async def serve(proxy: type[Proxy], upstream: str) -> AsyncIterator[str]:
    """Run a proxy in front of the MCP endpoint `upstream`; yield the URL of its endpoint."""
    made = proxy(upstream.removesuffix("/mcp"))
    runner = web.ServerRunner(web.Server(made.handle), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}/mcp"
    try:
        yield made.url
    finally:
        await runner.cleanup()
