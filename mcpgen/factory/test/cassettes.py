"""Cassettes: recorded requests of a server and responses of its API, as JSON without secrets.

`Recorder` is a proxy between the two; `Player` replaces the API and replays a recording. A request
that the cassette does not contain gets the status 501, so that the call fails.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final, Self

from aiohttp import ClientSession, web
from msgspec import Struct, field

from mcpgen.jsonschema.types import JsonObject
from mcpgen.runtime.upstream.response.redaction import Redactor
from mcpgen.testing.mock.description import base_path
from mcpgen.testing.mock.local_server import Handler, LocalServer

_VERSION: Final = 1
_KEPT_HEADERS: Final = ("Content-Type", "Link", "Location", "Retry-After")
_HOP_BY_HOP: Final = frozenset({"connection", "content-length", "host", "transfer-encoding"})
_NO_SUCH_REQUEST: Final = 501


class CassetteError(Exception):
    """A file is not a valid cassette."""


class Cassette(Struct):
    """Exchanges, in the order in which they were recorded."""

    exchanges: list[JsonObject] = field(default_factory=list)

    @classmethod
    def read(cls, file: Path) -> Self:
        """Read a cassette.

        Raises:
            CassetteError: the file is not a valid cassette.
            OSError: it cannot be read.
        """
        content = file.read_bytes()
        try:
            whole = json.loads(content)
            if whole["version"] != _VERSION:
                raise CassetteError(f"{file} has version {whole['version']}, expected {_VERSION}")
            return cls(list(whole["exchanges"]))
        except (ValueError, KeyError, TypeError) as error:
            raise CassetteError(f"{file} is not a cassette: {error}") from None

    def write(self, file: Path) -> None:
        """Write the cassette, to be reviewed and committed."""
        whole = {"version": _VERSION, "exchanges": self.exchanges}
        text = json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
        file.write_text(text, "utf-8", newline="\n")


class Recorder:
    """Forwards requests to the API at `base_url` and records both sides without secrets."""

    def __init__(self, base_url: str, redactor: Redactor) -> None:
        self.cassette = Cassette()
        self._base_url = base_url
        self._redactor = redactor

    @asynccontextmanager
    async def start(self) -> AsyncIterator[str]:
        """Serve on 127.0.0.1 and yield the base URL."""
        async with (
            ClientSession() as session,
            _serve(self._base_url, partial(self._forward, session)) as url,
        ):
            yield url

    async def _forward(self, session: ClientSession, request: web.BaseRequest) -> web.Response:
        body = await request.read()
        headers = [
            (name, value)
            for name, value in request.headers.items()
            if name.lower() not in _HOP_BY_HOP
        ]
        path = request.raw_path.removeprefix(base_path(self._base_url))
        url = f"{self._base_url.rstrip('/')}{path}"
        async with session.request(
            request.method, url, headers=headers, data=body or None, allow_redirects=False
        ) as response:
            content = await response.read()
            kept = {
                name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers
            }
        clean = self._redactor.clean
        self.cassette.exchanges.append(
            {
                "request": _describe_request(request.method, path, body, self._redactor),
                "response": {
                    "status": response.status,
                    "headers": {name: clean(value) for name, value in kept.items()},
                    "body": clean(content.decode("utf-8", "replace")),
                },
            }
        )
        return web.Response(status=response.status, headers=kept, body=content)


class Player:
    """Answers as the API did when the cassette was recorded, each exchange once."""

    def __init__(self, base_url: str, cassette: Cassette, redactor: Redactor) -> None:
        self._base_url = base_url
        self._remaining = list(cassette.exchanges)
        self._redactor = redactor

    def start(self) -> AbstractAsyncContextManager[str]:
        """Serve on 127.0.0.1 and yield the base URL."""
        return _serve(self._base_url, self._replay)

    async def _replay(self, request: web.BaseRequest) -> web.Response:
        path = request.raw_path.removeprefix(base_path(self._base_url))
        described = _describe_request(request.method, path, await request.read(), self._redactor)
        for exchange in self._remaining:
            if exchange["request"] == described:
                self._remaining.remove(exchange)
                response = exchange["response"]
                return web.Response(
                    status=response["status"],
                    headers=response["headers"],
                    body=response["body"].encode(),
                )
        text = f"the cassette has no `{described['method']} {described['path']}` left"
        return web.Response(status=_NO_SUCH_REQUEST, text=text)


@asynccontextmanager
async def _serve(base_url: str, handler: Handler) -> AsyncIterator[str]:
    """Serve on 127.0.0.1; yield the URL that replaces `base_url`."""
    server = LocalServer(handler)
    try:
        yield await server.start() + base_path(base_url)
    finally:
        await server.stop()


def _describe_request(method: str, path: str, body: bytes, redactor: Redactor) -> JsonObject:
    text = body.decode("utf-8", "replace")
    return {"method": method, "path": redactor.clean(path), "body": redactor.clean(text)}
