"""Requests to an ASGI application, with the interface of requests over a connection."""

from __future__ import annotations

import asyncio
from typing import Any

from mcpgen.runtime.transports.http.asgi_endpoint import AsgiEndpoint
from mcpgen.runtime.transports.http.connection_limits import ConnectionLimits
from mcpgen.runtime.transports.http.streamable import StreamableHttp
from tests.support.http_server import BOUND_SECONDS, Exchange, SentHead

PREFIX = "/petstore"


class AsgiExchange(Exchange):
    """One request over ASGI, to an application mounted under a prefix."""

    prefix = PREFIX

    def _begin(self, app: StreamableHttp, sent: SentHead, chunks: list[bytes], ends: bool) -> None:
        self._messages: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        for number, chunk in enumerate(chunks, 1):
            more = not ends or number < len(chunks)
            self._messages.put_nowait({"type": "http.request", "body": chunk, "more_body": more})
        limits = ConnectionLimits(1000)
        self.endpoint = AsgiEndpoint(app, limits, allows_remote=False)
        scope = make_scope(sent, self.client_network)
        self.task = asyncio.create_task(self.endpoint(scope, self._messages.get, self._send))

    async def _send(self, message: dict[str, Any]) -> None:
        response = self.response
        assert not response.is_complete, "a second response to one request"
        if message["type"] == "http.response.start":
            assert not response.status
            response.status = message["status"]
            fields = message["headers"]
            response.headers = {name.decode(): value.decode("latin-1") for name, value in fields}
            assert len(response.headers) == len(fields)
        else:
            assert message["type"] == "http.response.body"
            assert response.status, "a body before the start of the response"
            response.body += message["body"]
            response.is_complete = not message["more_body"]
        self._changed.set()

    async def leave(self) -> None:
        self._messages.put_nowait({"type": "http.disconnect"})
        await asyncio.wait_for(asyncio.shield(self.task), BOUND_SECONDS)

    async def vanish(self) -> None:
        self._messages.put_nowait({"type": "http.disconnect"})
        for _ in range(6):  # lets tasks that wait for it run
            await asyncio.sleep(0)


def make_scope(sent: SentHead, address: str = "127.0.0.1", prefix: str = PREFIX) -> dict[str, Any]:
    """Return the scope of a request below a prefix."""
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.5"},
        "http_version": "1.1",
        "method": sent.method,
        "scheme": "http",
        "path": prefix + sent.path,
        "raw_path": (prefix + sent.path).encode(),
        "query_string": sent.query.encode(),
        "root_path": prefix,
        "headers": sent.fields,
        "client": (address or "127.0.0.1", 12345),
        "server": ("127.0.0.1", 8000),
    }
