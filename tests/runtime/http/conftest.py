"""A server over HTTP without sockets: the ASGI application is called as an HTTP server would."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from msgspec.json import Encoder

from mcpgen.runtime.calls import CallRunner
from mcpgen.runtime.content import Text, ToolResult
from mcpgen.runtime.context import Context
from mcpgen.runtime.errors import InvalidArgumentsError, UnknownToolError
from mcpgen.runtime.protocol.listing import Listing
from mcpgen.runtime.protocol.offering import Offering
from mcpgen.runtime.transports.json_input import hot_decoder
from mcpgen.runtime.transports.store import MemoryStore
from mcpgen.runtime.transports.streamable_http import StreamableHttp

SCHEMAS = Path(__file__).parents[4] / "shared" / "mcp-schema"
BOUND_SECONDS = 10.0
MODERN = "2026-07-28"
LEGACY = ("2025-03-26", "2025-06-18", "2025-11-25")

TOOLS: list[dict[str, Any]] = [
    {"name": "ask", "description": "Ask the user.", "inputSchema": {"type": "object"}},
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
    """Tools whose progress the test decides."""

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
    """What came back: all of it, or as much as there is of a stream."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    is_complete: bool = False

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[dict[str, str]]:
        """The server-sent events, each as its fields; comments under ""."""
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


class Exchange:
    """One HTTP request as it is being answered."""

    def __init__(self, app: StreamableHttp, scope: dict[str, Any], chunks: list[bytes]) -> None:
        self.response = Response()
        self._incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._changed = asyncio.Event()
        for number, chunk in enumerate(chunks, 1):
            self._incoming.put_nowait(
                {"type": "http.request", "body": chunk, "more_body": number < len(chunks)}
            )
        self.task = asyncio.ensure_future(app(scope, self._incoming.get, self._send))

    async def _send(self, event: dict[str, Any]) -> None:
        response = self.response
        if event["type"] == "http.response.start":
            assert not response.status, "a second response to one request"
            response.status = event["status"]
            response.headers = {name.decode(): value.decode() for name, value in event["headers"]}
        else:
            assert not response.is_complete, "a body after its end"
            response.body += event.get("body", b"")
            response.is_complete = not event.get("more_body", False)
        self._changed.set()

    async def until(self, condition: Callable[[Response], bool]) -> Response:
        """Wait until the response is as wanted."""

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
        """Close the connection, as a client does that has gone."""
        self._incoming.put_nowait({"type": "http.disconnect"})
        await asyncio.wait_for(asyncio.shield(self.task), BOUND_SECONDS)


class Client:
    """Sends requests to an application; keeps the session that `initialize` gave."""

    def __init__(self, app: StreamableHttp, check: Callable[[str, Any], None]) -> None:
        self.app = app
        self.session_id = ""
        self.revision = ""
        self._check = check

    def send(
        self,
        method: str,
        body: Any = None,
        *,
        path: str = "/mcp",
        headers: dict[str, str] | list[tuple[str, str]] | None = None,
        query: str = "",
        chunks: list[bytes] | None = None,
    ) -> Exchange:
        """Send a request; `headers` are added to those that every client sends."""
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
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "root_path": "",
            "query_string": query.encode(),
            "headers": [
                (name.lower().encode(), value.encode("latin-1"))
                for name, value in sent
                if value != OMITTED
            ],
        }
        return Exchange(self.app, scope, chunks)

    async def post(self, body: Any, headers: dict[str, str] | None = None) -> Response:
        """POST to the session and check each frame of the answer against the schema."""
        response = await self.begin(body, headers).complete()
        self._check_frames(response)
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
        """Open a session, and say that it is open."""
        params = {
            "protocolVersion": revision,
            "capabilities": capabilities or {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        self.revision = revision
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
        revision, self.revision = self.revision, MODERN
        self._check_frames(response)
        self.revision = revision
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
        """Send a request of 2026-07-28 with all the headers that it needs."""
        message = modern(method, params, id=id, meta=meta)
        sent = {"mcp-protocol-version": MODERN, "mcp-method": method}
        name = message["params"].get("name") or message["params"].get("uri")
        if name is not None and method in {"tools/call", "prompts/get", "resources/read"}:
            sent["mcp-name"] = name
        return self.send("POST", message, headers={**sent, **(headers or {})})

    def _check_frames(self, response: Response) -> None:
        kind = response.headers.get("content-type", "")
        if kind == "application/json":
            decoded = response.json
            frames = decoded if isinstance(decoded, list) else [decoded]
        else:
            frames = response.messages if kind else []
        for frame in frames:
            self._check(self.revision, frame)


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
    """The time, as far as the server knows."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Served:
    """An application with everything around it that a test may want to move."""

    app: StreamableHttp
    tools: FakeTools
    runner: CallRunner
    store: MemoryStore
    clock: Clock
    client: Client
    new_client: Callable[[], Client]


def offering(**more: Any) -> Offering:
    listing = Listing("tools", [json.dumps(tool).encode() for tool in TOOLS])
    return Offering(
        {"name": "fake", "version": "1"},
        tools=listing,
        changing_lists=frozenset({"tools"}),
        **more,
    )


@pytest.fixture(scope="session")
def check_frame() -> Callable[[str, Any], None]:
    """Hold a message against `JSONRPCMessage` of its revision, where the schemas are at hand."""
    validators: dict[str, Any] = {}

    def check(revision: str, frame: Any) -> None:
        if not SCHEMAS.is_dir() or not revision:
            return
        if isinstance(frame, dict) and "error" in frame and "id" not in frame:
            return  # decided in protocol.md, 6c: no id is better than null
        if revision not in validators:
            schema = json.loads((SCHEMAS / revision / "schema.json").read_text())
            where = "$defs" if "$defs" in schema else "definitions"
            schema = {"$ref": f"#/{where}/JSONRPCMessage", **schema}
            validators[revision] = jsonschema_rs.validator_for(schema)
        validators[revision].validate(frame)

    return check


@pytest.fixture
def serve(check_frame: Callable[[str, Any], None]) -> Callable[..., Served]:
    def make(*, max_in_flight: int = 1000, store: MemoryStore | None = None, **more: Any) -> Served:
        tools, clock, kept = FakeTools(), Clock(), store or MemoryStore()
        runner = CallRunner(tools, max_in_flight=max_in_flight)
        app = StreamableHttp(
            more.pop("offering", None) or offering(),
            runner,
            decode=hot_decoder(),
            encode=Encoder().encode,
            store=kept,
            now=clock,
            **more,
        )
        return Served(
            app, tools, runner, kept, clock, Client(app, check_frame), lambda: Client(app, check_frame)
        )

    return make


@pytest.fixture
def run() -> Iterator[Callable[[Awaitable[Any]], Any]]:
    """Run a coroutine to its end on a loop of its own; everything that it left is cancelled."""
    with asyncio.Runner() as runner:
        yield lambda awaitable: runner.run(_bounded(awaitable))


async def _bounded(awaitable: Awaitable[Any]) -> Any:
    return await asyncio.wait_for(awaitable, BOUND_SECONDS)
