"""A server over HTTP without sockets: endpoints answer exchanges as on a connection."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from msgspec.json import Encoder

from mcpgen.contract.limits import Limits
from mcpgen.runtime.content import Text, ToolResult
from mcpgen.runtime.errors import InvalidArgumentsError, UnknownToolError
from mcpgen.runtime.handlers.context import Context
from mcpgen.runtime.handlers.dispatcher import Dispatcher
from mcpgen.runtime.http_syntax import ChunkedDecoder
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.protocol.prepared_list import PreparedList
from mcpgen.runtime.protocol.server_definition import ServerDefinition
from mcpgen.runtime.state.session_store import MemorySessions
from mcpgen.runtime.transports.http.exchange import HttpExchange
from mcpgen.runtime.transports.http.request_head import RequestHead, join_fields
from mcpgen.runtime.transports.http.streamable import StreamableHttp
from mcpgen.runtime.transports.json_input import make_hot_decoder
from tests.support.mcp_schemas import check_frame

BOUND_SECONDS = 10.0
MODERN = "2026-07-28"
LEGACY = ("2025-03-26", "2025-06-18", "2025-11-25")

TOOLS: list[dict[str, Any]] = [
    {"name": "ask", "description": "Ask the user.", "inputSchema": {"type": "object"}},
    {"name": "big", "description": "Say much.", "inputSchema": {"type": "object"}},
    {"name": "echo", "description": "Say it again.", "inputSchema": {"type": "object"}},
    {"name": "fail", "description": "Break.", "inputSchema": {"type": "object"}},
    {"name": "hang", "description": "Wait for the test.", "inputSchema": {"type": "object"}},
    {
        "name": "regional",
        "description": "Has an argument that travels in a header.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "region": {"type": "string", "x-mcp-header": "Region"},
                "count": {"type": "integer", "x-mcp-header": "Count"},
                "dry": {"type": "boolean", "x-mcp-header": "Dry"},
            },
        },
    },
    {"name": "report", "description": "Report progress.", "inputSchema": {"type": "object"}},
]


class FakeTools:
    """Tools whose progress the test controls."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.go_on = asyncio.Event()
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.cancelled = 0

    async def call(self, name: str, arguments: dict[str, Any], context: Context) -> ToolResult:
        self.calls.append((name, arguments))
        self.started.set()
        if name == "echo" and "wrong" in arguments:
            raise InvalidArgumentsError("echo", ("/wrong: not an argument of `echo`",))
        match name:
            case "ask":
                answer = await context.elicit("Who?", {"type": "object", "properties": {}})
                return _said(answer.action)
            case "fail":
                raise RuntimeError("a secret of the inside")
            case "hang":
                await self._wait()
            case "report":
                context.report_progress(1, 2)
                await self._wait()
                context.report_progress(2, 2)
            case "big":
                return _said("x" * arguments["size"])
            case "echo" | "regional":
                pass
            case _:
                raise UnknownToolError(name)
        return _said(json.dumps(arguments))

    async def _wait(self) -> None:
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise

    async def aclose(self) -> None:
        pass


def _said(text: str) -> ToolResult:
    return ToolResult((Text(text),))


@dataclass
class Response:
    """A complete response, or the received part of a stream."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    is_complete: bool = False

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[dict[str, str]]:
        """The server-sent events, each as its fields, with comments under ""."""
        blocks = self.body.decode().split("\n\n")[:-1]
        return [
            {name: value.removeprefix(" ") for name, _, value in map(_field, block.split("\n"))}
            for block in blocks
        ]

    @property
    def messages(self) -> list[Any]:
        return [json.loads(event["data"]) for event in self.events if event.get("data")]


def _field(line: str) -> tuple[str, str, str]:
    return line.partition(":")


class SentHead(NamedTuple):
    """The head of a request that a test sends."""

    method: str
    path: str
    query: str
    fields: list[tuple[bytes, bytes]]


class Exchange:
    """One HTTP request and its connection, while it is answered."""

    prefix = ""  # of all paths
    is_write_paused = False
    date_field = b""

    def __init__(
        self, app: StreamableHttp, sent: SentHead, chunks: list[bytes], ends: bool, address: str
    ) -> None:
        self.response = Response()
        self.client_network = address
        self._changed = asyncio.Event()
        self._begin(app, sent, chunks, ends)

    def _begin(self, app: StreamableHttp, sent: SentHead, chunks: list[bytes], ends: bool) -> None:
        fields = join_fields(sent[-1])
        head = RequestHead(*sent, fields)
        self._received = bytearray()
        self._decoder: ChunkedDecoder | None = None
        first, *self._chunks = chunks
        self._ends = ends
        more_body = bool(self._chunks) or not ends
        self._http = HttpExchange(self, head, fields, bytearray(first), more_body=more_body)
        self._http.start(app.answer, set())
        assert self._http._task is not None
        self.task = self._http._task

    def read_on(self) -> None:
        self._finish()
        asyncio.get_running_loop().call_soon(self._feed)

    def _feed(self) -> None:
        if self._chunks:
            chunk = self._chunks.pop(0)
            self._http.add_body(chunk, is_last=self._ends and not self._chunks)

    def hold_body(self, size: int) -> None: ...

    async def wait_until_writable(self) -> None: ...

    def close(self) -> None:
        self._finish()

    def _finish(self) -> None:
        self.response.is_complete = self._http.is_complete
        self._changed.set()

    def write(self, data: bytes) -> None:
        response = self.response
        assert not response.is_complete, "a second response to one request"
        self._received += data
        if not response.status:
            head, end, rest = self._received.partition(b"\r\n\r\n")
            assert end
            first, *lines = head.decode().split("\r\n")
            response.status = int(first.split()[1])
            response.headers = dict(line.split(": ", 1) for line in lines)
            self._received = rest
            if "transfer-encoding" in response.headers:
                self._decoder = ChunkedDecoder()
        if self._decoder is not None:
            response.body += self._decoder.feed(self._received, len(self._received))
        else:
            response.body += bytes(self._received)
            self._received.clear()
        self._changed.set()

    async def until(self, condition: Callable[[Response], bool]) -> Response:
        """Wait until the response fulfills a condition."""

        async def wait() -> None:
            while not condition(self.response):
                self._changed.clear()
                await self._changed.wait()

        await asyncio.wait_for(wait(), BOUND_SECONDS)
        return self.response

    async def until_events(self, count: int) -> Response:
        return await self.until(lambda response: len(response.events) >= count)

    async def complete(self) -> Response:
        await asyncio.wait_for(asyncio.shield(self.task), BOUND_SECONDS)
        assert self.response.is_complete
        return self.response

    async def leave(self) -> None:
        """Close the connection like a leaving client, and wait until the server has reacted."""
        self._http.disconnect()
        await asyncio.wait_for(asyncio.shield(self.task), BOUND_SECONDS)

    async def vanish(self) -> None:
        """Close the connection of a call that continues, and wait until the server has noticed."""
        self._http.disconnect()
        for _ in range(3):  # lets tasks that wait for it run
            await asyncio.sleep(0)


class Client:
    """A client of an application, which remembers the session of `initialize`."""

    make_exchange: ClassVar[Callable[..., Exchange]] = Exchange

    def __init__(self, app: StreamableHttp) -> None:
        self.app = app
        self.address = ""
        self.session_id = ""
        self.revision = ""

    def send(
        self,
        method: str,
        body: Any = None,
        *,
        path: str = "/mcp",
        headers: dict[str, str] | list[tuple[str, str]] | None = None,
        query: str = "",
        chunks: list[bytes] | None = None,
        ends: bool = True,
    ) -> Exchange:
        """Send a request; `headers` are added to the usual ones."""
        if chunks is None:
            data = body if isinstance(body, bytes) else b"" if body is None else _encode(body)
            chunks = [data]
        given = list(headers.items() if isinstance(headers, dict) else headers or ())
        names = {name.lower() for name, _ in given}
        usual = {
            "host": "127.0.0.1:8000",
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
        }
        sent = [it for it in usual.items() if it[0] not in names] + given
        fields = [
            (name.lower().encode(), value.encode("latin-1"))
            for name, value in sent
            if value != OMITTED
        ]
        head = SentHead(method, path, query, fields)
        return type(self).make_exchange(self.app, head, chunks, ends, self.address)

    async def post(self, body: Any, headers: dict[str, str] | None = None) -> Response:
        """POST to the session, and check each frame of the response against the schema."""
        response = await self.begin(body, headers).complete()
        check_frames(self.revision, body, response)
        return response

    def begin(self, body: Any, headers: dict[str, str] | None = None) -> Exchange:
        return self.send("POST", body, headers={**self.session_headers, **(headers or {})})

    @property
    def session_headers(self) -> dict[str, str]:
        if not self.session_id:
            return {}
        named = {} if self.revision == "2025-03-26" else {"mcp-protocol-version": self.revision}
        return {"mcp-session-id": self.session_id, **named}

    async def initialize(self, revision: str, capabilities: Any = None) -> Response:
        """Open a session, and send `notifications/initialized`."""
        params = {
            "protocolVersion": revision,
            "capabilities": capabilities or {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        self.revision, self.session_id = revision, ""
        response = await self.post(request("initialize", params, id=0))
        assert response.status == 200, response.body
        self.session_id = response.headers["mcp-session-id"]
        told = await self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert told.status == 202
        return response

    async def post_modern(
        self, method: str, params: dict[str, Any] | None = None, **more: Any
    ) -> Response:
        response = await self.begin_modern(method, params, **more).complete()
        check_frames(MODERN, request(method, id=more.get("id", 1)), response)
        return response

    def begin_modern(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        id: Any = 1,
        headers: dict[str, str] | None = None,
        meta: dict[str, Any] | None = None,
    ) -> Exchange:
        """Send a request of 2026-07-28 with all required headers."""
        message = modern(method, params, id=id, meta=meta)
        sent = {"mcp-protocol-version": MODERN, "mcp-method": method}
        name = message["params"].get("name") or message["params"].get("uri")
        if name is not None and method in {"tools/call", "prompts/get", "resources/read"}:
            sent["mcp-name"] = name
        return self.send("POST", message, headers={**sent, **(headers or {})})


def check_frames(revision: str, sent: Any, response: Response) -> None:
    """Check the received frames against the schema of the negotiated revision."""
    messages = [it for it in (sent if isinstance(sent, list) else [sent]) if isinstance(it, dict)]
    methods = {it["id"]: it.get("method", "") for it in messages if "id" in it}
    if response.headers.get("content-type") == "application/json":
        decoded = response.json
        frames = decoded if isinstance(decoded, list) else [decoded]
    else:
        frames = response.messages
    for frame in frames:
        check_frame(revision or LEGACY[-1], frame, methods.get(frame.get("id"), ""))


OMITTED = "\0omitted"


def _encode(message: Any) -> bytes:
    return json.dumps(message).encode()


def request(method: str, params: Any = None, *, id: Any = 1) -> dict[str, Any]:
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": id, "method": method}
    if params is not None:
        message["params"] = params
    return message


def tool_call(name: str, *, id: Any = 1, token: Any = None, **arguments: Any) -> dict[str, Any]:
    params: dict[str, Any] = {"name": name, "arguments": arguments}
    if token is not None:
        params["_meta"] = {"progressToken": token}
    return request("tools/call", params, id=id)


def modern(
    method: str, params: Any = None, *, id: Any = 1, meta: dict[str, Any] | None = None
) -> dict[str, Any]:
    full = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        **(meta or {}),
    }
    return request(method, {**(params or {}), "_meta": full}, id=id)


class Clock:
    """The clock of the server."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Served:
    """An application with all parts that tests may control."""

    app: StreamableHttp
    tools: FakeTools
    dispatcher: Dispatcher
    store: MemorySessions
    clock: Clock
    client: Client

    def new_client(self) -> Client:
        return Client(self.app)


def definition(**more: Any) -> ServerDefinition:
    listing = PreparedList("tools", [json.dumps(tool).encode() for tool in TOOLS])
    return ServerDefinition(
        {"name": "fake", "version": "1"},
        tools=listing,
        changing_lists=frozenset({"tools"}),
        **more,
    )


def make_served(
    *,
    max_in_flight: int = 1000,
    store: MemorySessions | None = None,
    limits: Mapping[str, float] | None = None,
    **more: Any,
) -> Served:
    """Make an application; `more` is passed to `StreamableHttp`."""
    tools, clock = FakeTools(), Clock()
    given = {"max_calls": max_in_flight, "client_timeout_seconds": BOUND_SECONDS, **(limits or {})}
    dispatcher = Dispatcher(tools, limits=Limits(given))
    kept = store or MemorySessions()
    app = StreamableHttp(
        more.pop("definition", None) or definition(),
        dispatcher,
        decode=make_hot_decoder(),
        encode=Encoder().encode,
        store=kept,
        now=clock,
        **more,
    )
    return Served(app, tools, dispatcher, kept, clock, Client(app))


def make_app(package: ServerPackage, dispatcher: Dispatcher, **more: Any) -> StreamableHttp:
    """Make the application of a package; `more` is passed to `StreamableHttp`."""
    return StreamableHttp(
        package.definition,
        dispatcher,
        decode=make_hot_decoder(),
        encode=Encoder().encode,
        caller_headers=package.caller_headers,
        **more,
    )


async def until(condition: Callable[[], Any]) -> None:
    """Wait until a condition is true, by polling."""
    loop = asyncio.get_running_loop()
    became: asyncio.Future[None] = loop.create_future()

    def look() -> None:
        if condition():
            became.set_result(None)
        else:
            loop.call_later(0.002, look)

    look()
    await asyncio.wait_for(became, BOUND_SECONDS)


Scenario = Callable[[Served], Coroutine[Any, Any, None]]


def run(scenario: Scenario, **options: Any) -> None:
    """Run a test against a new application on a new event loop, with a time limit."""

    async def bounded() -> None:
        await asyncio.wait_for(scenario(make_served(**options)), BOUND_SECONDS)

    with asyncio.Runner() as runner:
        runner.run(bounded())
