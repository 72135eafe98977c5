"""A raw JSON-RPC client of MCP servers, without an SDK and with a timeout for every wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.upstream.http.messages import Sender
from mcpgen.testing.client.connections import (
    Connection,
    ConnectionLostError,
    HttpConnection,
    StdioConnection,
)

LEGACY, MODERN = "2025-11-25", "2026-07-28"
TIMEOUT_SECONDS = 10.0
_PREFIX = "io.modelcontextprotocol/"
_CLIENT_INFO = {"name": "mcpgen-testing", "version": "1"}
_METHOD_NOT_FOUND = -32601
_MAX_ROUNDS = 10
_CAPABILITIES_FOR: Mapping[str, JsonObject] = {
    "elicitation/create": {"elicitation": {"form": {}, "url": {}}},
    "roots/list": {"roots": {}},
    "sampling/createMessage": {"sampling": {"tools": {}}},
}

Answer = Callable[[JsonObject], JsonObject]
"""Returns the result of a request from the server, given its params."""


class RpcError(Exception):
    """A JSON-RPC error response of the server."""

    def __init__(self, error: JsonObject) -> None:
        super().__init__(f"{error.get('code')}: {error.get('message')}")
        self.code = error.get("code")
        self.message = error.get("message")
        self.data = error.get("data")


class NoAnswerError(Exception):
    """The server did not answer in time."""


class Client:
    """A client of one server and one revision: with a handshake, or stateless from 2026-07-28 on.

    Use `async with Client(connection) as client`, or `in_memory`, `over_stdio` or `over_http`.
    `received` contains every message of the server, in order.
    """

    def __init__(
        self,
        connection: Connection,
        revision: str = LEGACY,
        *,
        capabilities: JsonObject | None = None,
        answers: Mapping[str, Answer] | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        """Use an open connection; `answers` handles requests of the server, by method.

        By default, `capabilities` are derived from `answers`.
        """
        self.connection = connection
        self.revision = revision
        self.received: list[Any] = []
        self.server: JsonObject = {}  # the result of `initialize`
        self._answers = answers or {}
        self._capabilities = capabilities
        if capabilities is None:
            self._capabilities = {}
            for method in self._answers:
                self._capabilities |= _CAPABILITIES_FOR.get(method, {})
        self._timeout_seconds = timeout_seconds
        self._last_id = 0
        self._waiting: dict[int, asyncio.Future[JsonObject]] = {}
        self._lost: ConnectionLostError | None = None
        self._reading: asyncio.Task[None] | None = None

    @classmethod
    def in_memory(
        cls,
        package: ServerPackage,
        environ: Mapping[str, str],
        *,
        send: Sender | None = None,
        revision: str = LEGACY,
        answers: Mapping[str, Answer] | None = None,
    ) -> Client:
        """Return a client of a server in this process that sends its requests with `send`."""
        from mcpgen.runtime.transports.memory import MemoryConnection

        dispatcher = package.make_dispatcher(environ, send=send)
        return cls(MemoryConnection(package.definition, dispatcher), revision, answers=answers)

    @classmethod
    async def over_stdio(
        cls,
        command: Sequence[str],
        environ: Mapping[str, str] | None = None,
        *,
        revision: str = LEGACY,
    ) -> Client:
        """Start a server as a child process and return a client of it."""
        return cls(await StdioConnection.start(command, environ), revision)

    @classmethod
    def over_http(
        cls, url: str, *, revision: str = LEGACY, headers: Mapping[str, str] | None = None
    ) -> Client:
        """Return a client of the server at this URL (Streamable HTTP)."""
        return cls(HttpConnection(url, headers), revision)

    @property
    def is_modern(self) -> bool:
        """Whether the revision has no handshake."""
        return self.revision >= MODERN

    async def __aenter__(self) -> Client:
        self._reading = asyncio.create_task(self._read())
        if not self.is_modern:
            try:
                self.server = await self.request("initialize", self.initialize_params())
                await self.notify("notifications/initialized")
            except BaseException:
                await self._end()
                raise
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._end()

    async def _end(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        await self.connection.close()

    def initialize_params(self) -> JsonObject:
        """Return the params of the handshake."""
        return {
            "protocolVersion": self.revision,
            "capabilities": self._capabilities,
            "clientInfo": _CLIENT_INFO,
        }

    # Requests

    async def list_tools(self) -> list[JsonObject]:
        """Return the tools of all pages."""
        return await self.list_all("tools/list", "tools")

    async def list_all(self, method: str, key: str) -> list[JsonObject]:
        """Return the items below `key` in the results of a list method, from all pages."""
        items: list[JsonObject] = []
        seen: set[str] = set()
        params: JsonObject = {}
        while True:
            result = await self.request(method, params)
            items += result[key]
            cursor = result.get("nextCursor")
            if cursor is None:
                return items
            if cursor in seen:
                raise ConnectionLostError(f"{method} returned the cursor {cursor!r} twice")
            seen.add(cursor)
            params = {"cursor": cursor}

    async def call_tool(self, name: str, arguments: JsonObject | None = None) -> JsonObject:
        """Call a tool and return its `CallToolResult`.

        Raises:
            RpcError: the call is a protocol error.
        """
        return await self.request_answering(
            "tools/call", {"name": name, "arguments": arguments or {}}
        )

    async def request_answering(self, method: str, params: JsonObject) -> JsonObject:
        """Send a request, answer the input requests of the server, and return the result.

        Raises:
            RpcError: the server answered with an error.
        """
        result = await self.request(method, params)
        for _ in range(_MAX_ROUNDS):
            if result.get("resultType") != "input_required" or not self._answers:
                return result
            again: JsonObject = {
                **params,
                "inputResponses": {
                    key: self._answers[question["method"]](question.get("params", {}))
                    for key, question in result.get("inputRequests", {}).items()
                },
            }
            if "requestState" in result:
                again["requestState"] = result["requestState"]
            result = await self.request(method, again)
        raise NoAnswerError(f"`{method}` still requires input after {_MAX_ROUNDS} rounds")

    async def request(self, method: str, params: JsonObject | None = None) -> JsonObject:
        """Send a request and return its result.

        Raises:
            RpcError: the server answered with an error.
            NoAnswerError: it did not answer in time.
            ConnectionLostError: it sent an invalid message, or closed the connection.
        """
        if self._lost is not None:
            raise self._lost
        self._last_id += 1
        request_id = self._last_id
        self._waiting[request_id] = asyncio.get_running_loop().create_future()
        message = self.message(method, params, request_id)
        try:
            async with asyncio.timeout(self._timeout_seconds):
                await self.connection.send(message)
                response = await self._waiting[request_id]
        except TimeoutError:
            raise NoAnswerError(
                f"no answer to `{method}` within {self._timeout_seconds:g} seconds"
            ) from None
        finally:
            del self._waiting[request_id]
        if "error" in response:
            raise RpcError(response["error"])
        result: JsonObject = response["result"]
        return result

    async def notify(self, method: str, params: JsonObject | None = None) -> None:
        """Send a notification."""
        async with asyncio.timeout(self._timeout_seconds):
            await self.connection.send(self.message(method, params))

    def message(
        self, method: str, params: JsonObject | None = None, request_id: int | None = None
    ) -> JsonObject:
        """Return a message with the `_meta` that the revision requires."""
        message: JsonObject = {"jsonrpc": "2.0", "method": method}
        if request_id is not None:
            message["id"] = request_id
        sent = dict(params or {})
        if self.is_modern:
            sent["_meta"] = {
                f"{_PREFIX}protocolVersion": self.revision,
                f"{_PREFIX}clientCapabilities": self._capabilities,
                f"{_PREFIX}clientInfo": _CLIENT_INFO,
                **sent.get("_meta", {}),
            }
        if sent:
            message["params"] = sent
        return message

    # Messages of the server

    async def _read(self) -> None:
        while True:
            try:
                message = await self.connection.receive()
            except ConnectionLostError as error:
                self._fail_waiting(error)
                return
            self.received.append(message)
            for one in message if isinstance(message, list) else [message]:
                await self._handle(one)

    async def _handle(self, message: JsonObject) -> None:
        if "method" in message:
            if "id" in message:
                await self.connection.send(self._answer(message))
            return
        waiting = self._waiting.get(message.get("id", 0))
        if waiting is not None and not waiting.done():
            waiting.set_result(message)
        elif "id" not in message:
            self._fail_waiting(ConnectionLostError(f"the server rejected a message: {message}"))

    def _answer(self, message: JsonObject) -> JsonObject:
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        if answer := self._answers.get(message["method"]):
            return {**reply, "result": answer(message.get("params", {}))}
        error = {"code": _METHOD_NOT_FOUND, "message": "this client does not support that"}
        return {**reply, "error": error}

    def _fail_waiting(self, error: ConnectionLostError) -> None:
        self._lost = error
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(error)
