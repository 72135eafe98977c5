"""The model of `mcpgen explore`: starts a server, lists its tools, and records its calls."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from mcpgen.factory.explore.tools import ExploredTool, collect_tools
from mcpgen.factory.mock_api import serve_mock_api
from mcpgen.factory.wire.connection import (
    ConnectionLostError,
    UnauthorizedError,
    UnreachableError,
)
from mcpgen.factory.wire.http import HttpConnection
from mcpgen.factory.wire.opening import open_connection
from mcpgen.factory.wire.session import MODERN, Reply, Session
from mcpgen.factory.wire.stdio import StdioConnection
from mcpgen.factory.wire.targets import Target
from mcpgen.jsonschema.types import JsonObject

if TYPE_CHECKING:
    from mcpgen.testing import MockUpstream
    from mcpgen.testing.mock.upstream import RecordedRequest

TIMEOUT_SECONDS: Final = 60.0
_LEGACY: Final = "2025-11-25"
_LOG_LINES: Final = 20
_MAX_CALLS: Final = 50

Outcome = Literal["done", "tool error", "refused", "no answer", "stopped", "cancelled"]


class TroubleError(Exception):
    """The server cannot be explored now; `log` is the end of its stderr."""

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log


class CallRecord(Struct, frozen=True):
    """One call and its outcome."""

    tool: str
    arguments: JsonObject
    outcome: Outcome
    seconds: float
    result: JsonObject | None = None
    message: str = ""  # why there is no result
    log: str = ""  # the end of the server's stderr, if there is no result
    requests: tuple[RecordedRequest, ...] = ()  # that reached the mock of the API


class Explorer:
    """One server, and a mock of its API unless it is explored live.

    `connect` starts the server, `call` starts it again if it has stopped, and `stop` ends it.
    """

    def __init__(
        self,
        target: Target,
        *,
        revision: str = "",
        is_live: bool = False,
        timeout_seconds: float = TIMEOUT_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Explore a server; without a `revision`, the newest with a handshake, then the newest."""
        self.target = target
        self.is_mocked = target.package is not None and not is_live
        self.revision = revision
        self.calls: deque[CallRecord] = deque(maxlen=_MAX_CALLS)  # the latest, in their order
        self._revisions = (revision,) if revision else (_LEGACY, MODERN)
        self._timeout_seconds = timeout_seconds
        self._clock = clock
        self._stack = AsyncExitStack()
        self._upstream: MockUpstream | None = None
        self._session: Session | None = None
        self._is_cancelled = False

    @property
    def name(self) -> str:
        """Name of the server for users."""
        package = self.target.package
        return str(self.target) if package is None else str(package.contract["name"])

    async def connect(self) -> list[ExploredTool]:
        """Start the server and return its tools.

        Raises:
            TroubleError: it does not start, or does not list its tools.
            NoPackageError: a generated package has no description of its API.
        """
        await self.disconnect()
        if self.is_mocked and self._upstream is None and self.target.package is not None:
            mock = serve_mock_api(self.target.package)
            self._upstream, settings = await self._stack.enter_async_context(mock)
            self.target = self.target.for_mock(settings)
        try:
            self._session = await self._open()
            listed, replies = await self._session.list_all("tools/list", "tools")
        except (ConnectionLostError, UnauthorizedError, UnreachableError) as error:
            raise await self._fail(_describe_error(error)) from None
        if replies[0].result is None:
            raise await self._fail(f"it does not list its tools: {_describe_reply(replies[0])}")
        if isinstance(self._session.connection, HttpConnection):
            self._session.connection.learn_tools(listed)
        package = self.target.package
        return collect_tools(listed, package.list_unlisted_tools() if package else ())

    async def call(self, tool: str, arguments: JsonObject) -> CallRecord:
        """Call a tool, record the outcome, and return the record."""
        self._is_cancelled = False
        sent = len(self._upstream.requests) if self._upstream is not None else 0
        began = self._clock()
        record = await self._call(tool, arguments)
        requests = self._upstream.requests[sent:] if self._upstream is not None else ()
        record = replace(record, seconds=self._clock() - began, requests=tuple(requests))
        self.calls.append(record)
        return record

    async def cancel(self) -> None:
        """Cancel the call that is running: stop the server, which the next call starts again."""
        self._is_cancelled = True
        await self.disconnect()

    async def disconnect(self) -> None:
        """Stop the server, or close the connection to it."""
        session, self._session = self._session, None
        if session is not None:
            await session.connection.close()

    async def stop(self) -> None:
        """Stop the server and the mock of its API."""
        await self.disconnect()
        await self._stack.aclose()

    async def _call(self, tool: str, arguments: JsonObject) -> CallRecord:
        record = CallRecord(tool, arguments, "done", 0.0)
        try:
            session = await self._ensure_session()
            params = {"name": tool, "arguments": arguments}
            reply = await session.request("tools/call", params)
        except TroubleError as error:
            return replace(record, outcome="stopped", message=str(error), log=error.log)
        except (ConnectionLostError, UnauthorizedError) as error:
            if self._is_cancelled:
                return replace(record, outcome="cancelled", message="the call was cancelled")
            trouble = await self._fail(_describe_error(error))
            return replace(record, outcome="stopped", message=str(trouble), log=trouble.log)
        if reply.result is not None:
            is_error = reply.result.get("isError") is True
            return replace(
                record, outcome="tool error" if is_error else "done", result=reply.result
            )
        if reply.error is not None:
            return replace(record, outcome="refused", message=_describe_reply(reply))
        trouble = await self._fail(_describe_reply(reply))
        return replace(record, outcome="no answer", message=str(trouble), log=trouble.log)

    async def _ensure_session(self) -> Session:
        if self._session is None:
            await self.connect()
        if self._session is None:
            raise TroubleError("the server was stopped")
        return self._session

    async def _open(self) -> Session:
        """Open a session of the first revision that the server accepts.

        Raises:
            TroubleError: it accepts none.
        """
        trouble = ""
        for revision in self._revisions:
            session = Session(
                await open_connection(self.target, revision),
                revision,
                timeout_seconds=self._timeout_seconds,
            )
            self._session = session
            try:
                reply = await (
                    session.request("server/discover") if session.is_modern else session.open()
                )
            except ConnectionLostError:
                if revision == self._revisions[-1]:
                    raise
            else:
                if reply.result is not None:
                    self.revision = str(session.server.get("protocolVersion", revision))
                    return session
                trouble = trouble or _describe_reply(reply)
            if revision != self._revisions[-1]:
                await self.disconnect()
        raise await self._fail(f"it does not accept MCP {self._revisions[0]}: {trouble}")

    async def _fail(self, message: str) -> TroubleError:
        """Stop the server and return an error with the end of its log."""
        session = self._session
        await self.disconnect()
        connection = session.connection if session is not None else None
        log = connection.stderr if isinstance(connection, StdioConnection) else ""
        return TroubleError(message, "\n".join(log.splitlines()[-_LOG_LINES:]))


def _describe_error(error: Exception) -> str:
    if isinstance(error, UnauthorizedError):
        return "it requires credentials; state them with --token-from or --header"
    return str(error)


def _describe_reply(reply: Reply) -> str:
    if reply.error is not None:
        return f"it answered with the error {reply.error.get('code')}: {reply.error.get('message')}"
    if reply.response is None:
        return f"HTTP status {reply.status}" if reply.status >= 400 else "it did not answer in time"
    return "its answer has no result"
