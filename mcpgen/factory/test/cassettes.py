"""Cassettes: what was said between a server and its API, kept as JSON without its secrets.

`Recorder` stands between the two and writes along; `Player` stands in for the API and says again
what was written. A request that the cassette does not have is answered with 501, so the call fails.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from aiohttp import ClientSession, web
from msgspec import Struct, field

from mcpgen.runtime.upstream.response.redaction import Redactor
from mcpgen.testing.mock.description import base_path

_VERSION: Final = 1
_KEPT_HEADERS: Final = ("Content-Type", "Link", "Location", "Retry-After")
_HOP_BY_HOP: Final = frozenset({"connection", "content-length", "host", "transfer-encoding"})
_NO_SUCH_REQUEST: Final = 501

JsonObject = dict[str, Any]


class CassetteError(Exception):
    """A file is no cassette; says why."""


class Cassette(Struct):
    """Exchanges, in the order in which they were recorded."""

    exchanges: list[JsonObject] = field(default_factory=list)

    @classmethod
    def read(cls, file: Path) -> Self:
        """Read a cassette.

        Raises:
            CassetteError: it is none.
            OSError: it cannot be read.
        """
        content = file.read_bytes()
        try:
            whole = json.loads(content)
            if whole["version"] != _VERSION:
                raise CassetteError(f"{file} is of the version {whole['version']}, not {_VERSION}")
            return cls(list(whole["exchanges"]))
        except (ValueError, KeyError, TypeError) as error:
            raise CassetteError(f"{file} is no cassette: {error}") from None

    def write(self, file: Path) -> None:
        """Write the cassette, to be reviewed and committed."""
        whole = {"version": _VERSION, "exchanges": self.exchanges}
        text = json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
        file.write_text(text, "utf-8", newline="\n")


class _Between:
    """An HTTP server on 127.0.0.1 in the API's place."""

    def __init__(self, base_url: str, answer: Callable[[web.BaseRequest], Awaitable[web.Response]]):
        self._base_url = base_url
        self._runner = web.ServerRunner(web.Server(answer), handle_signals=False)

    async def start(self) -> str:
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        return f"http://{host}:{port}{base_path(self._base_url)}"

    async def stop(self) -> None:
        await self._runner.cleanup()


class Recorder:
    """Hands requests on to the API at `base_url`, and keeps what both said, masked."""

    def __init__(self, base_url: str, redactor: Redactor) -> None:
        self.cassette = Cassette()
        self._base_url = base_url
        self._redactor = redactor
        self._between = _Between(base_url, self._hand_on)
        self._session: ClientSession | None = None

    async def __aenter__(self) -> str:
        self._session = ClientSession(auto_decompress=True)
        return await self._between.start()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._between.stop()
        if self._session is not None:
            await self._session.close()

    async def _hand_on(self, request: web.BaseRequest) -> web.Response:
        if self._session is None:
            raise RuntimeError("the recorder was not started")
        body = await request.read()
        headers = [
            (name, value)
            for name, value in request.headers.items()
            if name.lower() not in _HOP_BY_HOP
        ]
        path = request.raw_path.removeprefix(base_path(self._base_url))
        url = f"{self._base_url.rstrip('/')}{path}"
        async with self._session.request(
            request.method, url, headers=headers, data=body or None, allow_redirects=False
        ) as answer:
            content = await answer.read()
            kept = {name: answer.headers[name] for name in _KEPT_HEADERS if name in answer.headers}
        self.cassette.exchanges.append(
            {
                "request": {
                    "method": request.method,
                    "path": self._redactor.clean(path),
                    "body": self._redactor.clean(body.decode("utf-8", "replace")),
                },
                "response": {
                    "status": answer.status,
                    "headers": {name: self._redactor.clean(it) for name, it in kept.items()},
                    "body": self._redactor.clean(content.decode("utf-8", "replace")),
                },
            }
        )
        return web.Response(status=answer.status, headers=kept, body=content)


class Player:
    """Answers as the API did when the cassette was recorded, each exchange once."""

    def __init__(self, base_url: str, cassette: Cassette, redactor: Redactor) -> None:
        self._base_url = base_url
        self._left = list(cassette.exchanges)
        self._redactor = redactor
        self._between = _Between(base_url, self._say_again)

    async def __aenter__(self) -> str:
        return await self._between.start()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._between.stop()

    async def _say_again(self, request: web.BaseRequest) -> web.Response:
        path = request.raw_path.removeprefix(base_path(self._base_url))
        body = (await request.read()).decode("utf-8", "replace")
        asked = {
            "method": request.method,
            "path": self._redactor.clean(path),
            "body": self._redactor.clean(body),
        }
        for exchange in self._left:
            if exchange["request"] == asked:
                self._left.remove(exchange)
                said = exchange["response"]
                return web.Response(
                    status=said["status"], headers=said["headers"], body=said["body"].encode()
                )
        text = f"the cassette has no `{asked['method']} {asked['path']}` left"
        return web.Response(status=_NO_SUCH_REQUEST, text=text)
