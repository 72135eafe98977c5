"""Resources of a check: sessions with the server under one revision, and the server's features."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from mcpgen.factory.wire.connection import Connection, ConnectionLostError
from mcpgen.factory.wire.frames import Frame, Recording
from mcpgen.factory.wire.http import HttpConnection
from mcpgen.factory.wire.session import LEGACY_REVISIONS, MODERN, Answer, Reply, Session
from mcpgen.factory.wire.sse import SseConnection
from mcpgen.factory.wire.stdio import StdioConnection
from mcpgen.factory.wire.targets import Target
from mcpgen.jsonschema.types import JsonObject

T = TypeVar("T")

START_SECONDS: Final = 30.0
_TRANSPORTS: Final[Mapping[str, type[StdioConnection | HttpConnection | SseConnection]]] = {
    "stdio": StdioConnection,
    "http": HttpConnection,
    "sse": SseConnection,
}


@dataclass(frozen=True, slots=True)
class ProbeOptions:
    """Options for the examination of a server."""

    allow_writes: bool = False  # also call tools that are not read-only
    timeout_seconds: float = 8.0  # for each response


@dataclass(slots=True)
class Knowledge:
    """Knowledge about a server from other revisions."""

    supported: frozenset[str] = frozenset()  # revisions over the same transport
    read_only: set[str] = field(default_factory=set)  # tools; 2024-11-05 cannot say which are
    slow: set[str] = field(default_factory=set)  # tools that did not answer in time


class Probe:
    """A server under one revision and one transport.

    `handshake` is the reply to `initialize` or `server/discover`. `tools`, `resources`,
    `templates` and `prompts` are the items of the lists of declared capabilities that are objects.
    """

    def __init__(
        self,
        target: Target,
        revision: str,
        transport: str,
        recording: Recording,
        options: ProbeOptions,
        known: Knowledge,
    ) -> None:
        self.target = target
        self.revision = revision
        self.transport = transport
        self.recording = recording
        self.options = options
        self.known = known
        self.handshake: Reply | None = None
        self.capabilities: JsonObject = {}
        self.lists: dict[str, list[Reply]] = {}  # the pages of each list method
        self.tools: list[JsonObject] = []
        self.resources: list[JsonObject] = []
        self.templates: list[JsonObject] = []
        self.prompts: list[JsonObject] = []
        self.stderr = ""
        self._session: Session | None = None
        self._results: dict[Callable[..., Any], Any] = {}

    @property
    def is_modern(self) -> bool:
        """Whether the revision has no handshake."""
        return self.revision >= MODERN

    @property
    def frames(self) -> list[Frame]:
        """All recorded frames of this revision and transport."""
        return self.recording.frames

    @property
    def current_session(self) -> Session | None:
        """The session that all checks share, also if it was lost; None before it is opened."""
        return self._session

    def may_call(self, tool: JsonObject) -> bool:
        """Whether a tool changes nothing, or writes are allowed."""
        if self.options.allow_writes or _is_read_only(tool):
            return True
        return self.revision == "2024-11-05" and tool.get("name") in self.known.read_only

    def declares(self, path: str) -> bool:
        """Whether the server declared a capability: "tools", "resources.subscribe".

        "a|b" means one of both. A member that is false or null is not declared.
        """
        return any(self._declares(option) for option in path.split("|"))

    def _declares(self, path: str) -> bool:
        value: Any = self.capabilities
        for name in path.split("."):
            if not isinstance(value, dict) or name not in value:
                return False
            value = value[name]
        return value is not None and value is not False

    async def connect(self) -> Connection:
        """Open a connection without sending anything."""
        transport = _TRANSPORTS[self.transport]
        connection = await transport.open(self.target, self.recording, self.revision)
        if isinstance(connection, HttpConnection):
            connection.learn_tools(self.tools)
        return connection

    async def get_session(self) -> Session:
        """Return the session that all checks share; it is opened again if it was lost."""
        if self._session is None or self._session.connection.lost:
            if self._session is not None:
                await self._close_session(self._session)
            session = Session(
                await self.connect(), self.revision, timeout_seconds=self.options.timeout_seconds
            )
            self._session = session
            if not self.is_modern:
                await session.open(START_SECONDS)
        return self._session

    async def request(self, method: str, params: JsonObject | None = None, **options: Any) -> Reply:
        """Send a request in the shared session and return the reply."""
        return await (await self.get_session()).request(method, params, **options)

    @asynccontextmanager
    async def fresh(
        self,
        *,
        opens: bool = True,
        capabilities: JsonObject | None = None,
        answers: Mapping[str, Answer] | None = None,
    ) -> AsyncIterator[Session]:
        """Yield a session of its own, after the handshake if `opens`."""
        session = Session(
            await self.connect(),
            self.revision,
            capabilities=capabilities,
            answers=answers,
            timeout_seconds=self.options.timeout_seconds,
        )
        try:
            if opens and not self.is_modern:
                await session.open(START_SECONDS)
            yield session
        finally:
            await self._close_session(session)

    async def once(self, experiment: Callable[[Probe], Awaitable[T]]) -> T:
        """Run an experiment that several checks share, and return its result to each.

        Raises:
            ConnectionLostError: the connection was lost in the experiment, which is not repeated.
        """
        if experiment not in self._results:
            try:
                self._results[experiment] = await experiment(self)
            except ConnectionLostError as error:
                self._results[experiment] = error
        result: T | ConnectionLostError = self._results[experiment]
        if isinstance(result, ConnectionLostError):
            raise ConnectionLostError(str(result))
        return result

    async def inspect_offer(self) -> None:
        """Read the capabilities and the lists of what the server offers."""
        session = await self.get_session()
        if self.is_modern:
            self.handshake = await session.request("server/discover", timeout_seconds=START_SECONDS)
        else:
            self.handshake = session.handshake
        offered = ((self.handshake.result if self.handshake else None) or {}).get("capabilities")
        self.capabilities = offered if isinstance(offered, dict) else {}
        if self.declares("tools"):
            self.tools = await self._list("tools/list", "tools")
            self.known.read_only |= {str(it.get("name")) for it in self.tools if _is_read_only(it)}
            if self.revision == LEGACY_REVISIONS[0] and not self.known.read_only:
                await self._learn_read_only()
        if self.declares("resources"):
            self.resources = await self._list("resources/list", "resources")
            self.templates = await self._list("resources/templates/list", "resourceTemplates")
        if self.declares("prompts"):
            self.prompts = await self._list("prompts/list", "prompts")

    async def _learn_read_only(self) -> None:
        """Request the annotations of tools, which this revision lacks, under a later one."""
        later = LEGACY_REVISIONS[-1]
        transport = _TRANSPORTS[self.transport]
        connection = await transport.open(self.target, self.recording, later)
        session = Session(connection, later, timeout_seconds=self.options.timeout_seconds)
        try:
            await session.open(START_SECONDS)
            tools, _ = await session.list_all("tools/list", "tools")
        except ConnectionLostError:
            return
        finally:
            await self._close_session(session)
        for tool in tools:
            if isinstance(tool, dict) and _is_read_only(tool):
                self.known.read_only.add(str(tool.get("name")))

    async def list_again(self) -> dict[str, list[JsonObject]]:
        """Return the items of each list as another connection sees them, by method."""
        return await self.once(_list_again)

    async def close(self) -> None:
        """Close the shared session."""
        if self._session is not None:
            await self._close_session(self._session)
            self._session = None

    async def _list(self, method: str, key: str) -> list[JsonObject]:
        try:
            items, self.lists[method] = await (await self.get_session()).list_all(method, key)
        except ConnectionLostError:
            return []
        return [item for item in items if isinstance(item, dict)]

    async def _close_session(self, session: Session) -> None:
        await session.connection.close()
        if isinstance(session.connection, StdioConnection) and session.connection.stderr:
            self.stderr = session.connection.stderr


def _is_read_only(tool: JsonObject) -> bool:
    annotations = tool.get("annotations")
    return isinstance(annotations, dict) and annotations.get("readOnlyHint") is True


_LISTS: Final[Mapping[str, tuple[str, str]]] = {
    "tools/list": ("tools", "tools"),
    "resources/list": ("resources", "resources"),
    "prompts/list": ("prompts", "prompts"),
}


async def _list_again(probe: Probe) -> dict[str, list[JsonObject]]:
    found: dict[str, list[JsonObject]] = {}
    async with probe.fresh() as session:
        for method, (capability, key) in _LISTS.items():
            if probe.declares(capability):
                items, _ = await session.list_all(method, key)
                found[method] = [item for item in items if isinstance(item, dict)]
    return found
