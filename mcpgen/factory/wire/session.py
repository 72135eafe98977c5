"""A client of one revision on one connection: handshake or `_meta`, requests, server requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcpgen.factory.wire.connection import (
    Connection,
    ConnectionLostError,
    Pending,
    UnauthorizedError,
)
from mcpgen.factory.wire.frames import Frame, HttpHead
from mcpgen.factory.wire.http import HttpConnection
from mcpgen.jsonschema.types import JsonObject

LEGACY_REVISIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN: Final = "2026-07-28"
REVISIONS: Final = (*LEGACY_REVISIONS, MODERN)
META_PREFIX: Final = "io.modelcontextprotocol/"
_CLIENT_INFO: Final = {"name": "mcpgen-validate", "version": "1"}
_METHOD_NOT_FOUND: Final = -32601
_MAX_PAGES: Final = 100
_MAX_UNANSWERED: Final = 2  # in a row, then later requests get less time
_IMPATIENT_SECONDS: Final = 3.0

Answer = Callable[[JsonObject], JsonObject]
"""Returns the result for a request of the server, given its params."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A request with its response; `response` is None if there was none in time.

    `bare` is an HTTP response that came instead, with any body but the JSON-RPC response.
    """

    request: Frame
    response: Frame | None
    head: HttpHead | None = None
    bare: Frame | None = None

    @property
    def body(self) -> JsonObject:
        """The response message, {} if there is none."""
        if self.response is None:
            return {}
        if isinstance(self.response.message, list):
            request_id = self.request.body.get("id")
            found = [
                m
                for m in self.response.message
                if isinstance(m, dict) and m.get("id") == request_id
            ]
            return found[0] if found else {}
        return self.response.body

    @property
    def result(self) -> JsonObject | None:
        """The result if it is an object."""
        result = self.body.get("result")
        return result if isinstance(result, dict) else None

    @property
    def error(self) -> JsonObject | None:
        """The error if it is an object."""
        error = self.body.get("error")
        return error if isinstance(error, dict) else None

    @property
    def code(self) -> Any:
        """The code of the error; None if there is no error."""
        return self.error.get("code") if self.error is not None else None

    @property
    def status(self) -> int:
        """The HTTP status; 0 over stdio."""
        return self.head.status if self.head is not None else 0

    @property
    def frames(self) -> list[Frame]:
        """The request and the response, as evidence."""
        return [it for it in (self.request, self.response or self.bare) if it is not None]


class Session:
    """A client of one revision. Legacy sessions begin with `open`, modern ones need no opening."""

    def __init__(
        self,
        connection: Connection,
        revision: str,
        *,
        capabilities: JsonObject | None = None,
        answers: Mapping[str, Answer] | None = None,
        timeout_seconds: float = 10.0,
    ) -> None:
        self.connection = connection
        self.revision = revision
        self.capabilities: JsonObject = capabilities or {}
        self.timeout_seconds = timeout_seconds
        self.handshake: Reply | None = None
        self.last_id = 0
        self._answers = answers or {}
        connection.answer = self._answer

    @property
    def is_modern(self) -> bool:
        """Whether the revision has no handshake."""
        return self.revision >= MODERN

    @property
    def server(self) -> JsonObject:
        """The result of `initialize`; {} before it and on modern revisions."""
        return (self.handshake.result if self.handshake else None) or {}

    async def open(self, timeout_seconds: float | None = None) -> Reply:
        """Do the handshake of a legacy revision and return the reply to `initialize`.

        `notifications/initialized` is sent only if the reply is a result.
        """
        reply = await self.request(
            "initialize", self.initialize_params(), timeout_seconds=timeout_seconds
        )
        self.handshake = reply
        if reply.result is not None:
            if isinstance(self.connection, HttpConnection):
                negotiated = reply.result.get("protocolVersion")
                if isinstance(negotiated, str) and negotiated >= "2025-06-18":
                    self.connection.version_header = negotiated
            await self.notify("notifications/initialized")
        return reply

    def initialize_params(self, version: str = "") -> JsonObject:
        """Return the params of `initialize`."""
        return {
            "protocolVersion": version or self.revision,
            "capabilities": self.capabilities,
            "clientInfo": _CLIENT_INFO,
        }

    def next_id(self) -> int:
        """Return an id that this session has not used."""
        self.last_id += 1
        return self.last_id

    def message(
        self,
        method: str,
        params: JsonObject | None = None,
        request_id: Any = None,
        *,
        meta: JsonObject | None = None,
    ) -> JsonObject:
        """Return a message with the `_meta` that the revision requires; `meta` adds to it."""
        message: JsonObject = {"jsonrpc": "2.0", "method": method}
        if request_id is not None:
            message["id"] = request_id
        sent = dict(params or {})
        own: JsonObject = {**sent.get("_meta", {}), **(meta or {})}
        if self.is_modern and request_id is not None:
            own = {
                f"{META_PREFIX}protocolVersion": self.revision,
                f"{META_PREFIX}clientCapabilities": self.capabilities,
                f"{META_PREFIX}clientInfo": _CLIENT_INFO,
                **own,
            }
        if own:
            sent["_meta"] = own
        if sent:
            message["params"] = sent
        return message

    async def start(
        self,
        method: str,
        params: JsonObject | None = None,
        *,
        meta: JsonObject | None = None,
        headers: Mapping[str, str] | None = None,
        request_id: Any = None,
    ) -> Pending:
        """Send a request without waiting for its response."""
        chosen = self.next_id() if request_id is None else request_id
        return await self.connection.start(self.message(method, params, chosen, meta=meta), headers)

    async def request(
        self,
        method: str,
        params: JsonObject | None = None,
        *,
        meta: JsonObject | None = None,
        headers: Mapping[str, str] | None = None,
        request_id: Any = None,
        timeout_seconds: float | None = None,
    ) -> Reply:
        """Send a request and wait for its response.

        Raises:
            ConnectionLostError: the connection was closed, or the server exited.
            UnauthorizedError: the HTTP status is 401.
        """
        pending = await self.start(
            method, params, meta=meta, headers=headers, request_id=request_id
        )
        return await self.complete(pending, timeout_seconds)

    async def send_raw(
        self,
        message: Any,
        *,
        headers: Mapping[str, str] | None = None,
        timeout_seconds: float | None = None,
    ) -> Reply:
        """Send any message, bytes unchanged, and wait for the response to its id, if it has one."""
        pending = await self.connection.start(message, headers)
        return await self.complete(pending, timeout_seconds)

    async def complete(self, pending: Pending, timeout_seconds: float | None = None) -> Reply:
        """Wait for the response to a sent message."""
        limit = self.timeout_seconds if timeout_seconds is None else timeout_seconds
        recording = self.connection.recording
        if recording.unanswered >= _MAX_UNANSWERED:
            limit = min(limit, _IMPATIENT_SECONDS)
        response = await pending.response(limit)
        recording.unanswered = 0 if response is not None else recording.unanswered + 1
        if pending.head is not None and pending.head.status == 401:
            raise UnauthorizedError(pending.head.header("www-authenticate") or "")
        if response is None and self.connection.lost:
            raise ConnectionLostError(self.connection.lost)
        return Reply(pending.request, response, pending.head, pending.bare)

    async def notify(self, method: str, params: JsonObject | None = None) -> Pending:
        """Send a notification; over HTTP, wait for its response."""
        pending = await self.connection.start(self.message(method, params))
        await pending.end(self.timeout_seconds)
        return pending

    async def list_all(self, method: str, key: str) -> tuple[list[Any], list[Reply]]:
        """Return the items of all pages of a list method, and the replies."""
        items: list[Any] = []
        replies: list[Reply] = []
        params: JsonObject = {}
        seen: set[str] = set()
        while len(replies) < _MAX_PAGES:
            reply = await self.request(method, params)
            replies.append(reply)
            result = reply.result or {}
            found = result.get(key)
            items += found if isinstance(found, list) else []
            cursor = result.get("nextCursor")
            if not isinstance(cursor, str) or cursor in seen:
                break
            seen.add(cursor)
            params = {"cursor": cursor}
        return items, replies

    def _answer(self, message: JsonObject) -> JsonObject:
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        method, params = message.get("method"), message.get("params")
        if method == "ping":
            return {**reply, "result": {}}
        if isinstance(method, str) and (answer := self._answers.get(method)):
            return {**reply, "result": answer(params if isinstance(params, dict) else {})}
        error = {"code": _METHOD_NOT_FOUND, "message": "this client does not support that"}
        return {**reply, "error": error}
