"""A client of the bare protocol core in one revision that checks frames against its schema."""

from __future__ import annotations

import json
from typing import Any

from mcpgen.runtime.auth.access import Access
from mcpgen.runtime.protocol.events import Event, RequestCancelled
from mcpgen.runtime.protocol.messages import Outgoing, Stream
from mcpgen.runtime.protocol.prepared_list import PreparedList
from mcpgen.runtime.protocol.request import Request
from mcpgen.runtime.protocol.routing_headers import RoutingHeaders
from mcpgen.runtime.protocol.server import ServerProtocol
from mcpgen.runtime.protocol.server_definition import ServerDefinition
from mcpgen.runtime.protocol.session import LegacySession
from mcpgen.runtime.protocol.versions import BY_NAME, REVISIONS
from tests.support.mcp_schemas import check_frame

ALL = [revision.name for revision in reversed(REVISIONS)]
LEGACY = ALL[:-1]
MODERN = ALL[-1]

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"

TOOLS = [
    {
        "name": f"tool_{number}",
        "title": "A tool",
        "description": "Does what tools do.",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
        "outputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
        "annotations": {"readOnlyHint": True, "title": "Reads"},
        "icons": [{"src": "https://icons.example/tool.png"}],
        "_meta": {"example.com/kind": "test"},
    }
    for number in range(7)
]
PROMPTS = [
    {
        "name": "review",
        "title": "Review",
        "description": "Reviews code.",
        "arguments": [
            {"name": "code", "title": "Code", "description": "What to read.", "required": True},
            {"name": "tone", "description": "How to say it."},
        ],
        "icons": [{"src": "https://icons.example/prompt.png"}],
        "_meta": {"example.com/kind": "test"},
    }
]
RESOURCES = [
    {
        "uri": f"test://note/{number}",
        "name": "note",
        "title": "A note",
        "description": "Words.",
        "mimeType": "text/plain",
        "size": 12,
        "annotations": {
            "audience": ["user"],
            "priority": 0.5,
            "lastModified": "2025-01-01T00:00:00Z",
        },
        "icons": [{"src": "https://icons.example/note.png"}],
    }
    for number in range(3)
]
TEMPLATES = [
    {
        "uriTemplate": "test://page/{id}",
        "name": "page",
        "title": "A page",
        "description": "A page by its number.",
        "mimeType": "text/plain",
        "_meta": {"example.com/kind": "test"},
    }
]


def listing(kind: str, items: list[dict[str, Any]], page_size: int = 1000) -> PreparedList:
    return PreparedList(kind, [json.dumps(item).encode() for item in items], page_size=page_size)


def definition(*, page_size: int = 1000, **changes: Any) -> ServerDefinition:
    """Return a server with all features, in their newest form."""
    full = ServerDefinition(
        {
            "name": "test-server",
            "version": "1.2.3",
            "title": "Test server",
            "description": "Serves tests.",
            "websiteUrl": "https://server.example/",
        },
        instructions="Call tools.",
        tools=listing("tools", TOOLS, page_size),
        prompts=listing("prompts", PROMPTS, page_size),
        resources=listing("resources", RESOURCES, page_size),
        resource_templates=listing("resourceTemplates", TEMPLATES, page_size),
        has_completions=True,
        has_logging=True,
        has_subscriptions=True,
        changing_lists=frozenset({"tools", "prompts", "resources"}),
        extensions={"io.example/extension": {}},
    )
    return full.replace(**changes)


class Peer:
    """A client of one revision, which decodes and checks the messages that it takes."""

    def __init__(
        self,
        revision: str,
        served: ServerDefinition | None = None,
        *,
        capabilities: dict[str, Any] | None = None,
        protocol: ServerProtocol | None = None,
        is_initialized: bool = True,
        principal: str = "",
        over_http: bool = False,
    ) -> None:
        self.revision = BY_NAME[revision]
        self.capabilities = capabilities or {}
        self.protocol = protocol or ServerProtocol(served or definition())
        self.events: list[Event] = []
        self.principal = principal
        self.over_http = over_http
        self._ids = iter(range(1, 1_000_000))
        self._methods: dict[Any, str] = {}
        if not self.revision.is_modern and self.protocol.session is None:
            self.protocol.session = LegacySession(
                self.revision,
                client_capabilities=self.capabilities,
                is_initialized=is_initialized,
            )

    def send(self, message: Any, stream: Stream = None) -> list[Event]:
        """Send any message to the server and store its events."""
        for each in message if isinstance(message, list) else [message]:
            if isinstance(each, dict) and isinstance(each.get("id"), str | int | float):
                self._methods[each["id"]] = str(each.get("method"))
        headers = RoutingHeaders(self._headers(message)) if self.over_http else None
        access = Access(self.principal) if self.principal else None
        found = self.protocol.receive(message, stream=stream, headers=headers, access=access)
        self.events += found
        return found

    def request(self, method: str, *, id: Any = None, **params: Any) -> dict[str, Any]:
        """Return a request of this revision."""
        if self.revision.is_modern:
            meta = {VERSION: self.revision.name, CAPABILITIES: self.capabilities}
            params["_meta"] = meta | params.get("_meta", {})
        message = {"jsonrpc": "2.0", "id": next(self._ids) if id is None else id, "method": method}
        return {**message, "params": params} if params else message

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request that the core answers by itself, and return the response."""
        message = self.request(method, **params)
        self.send(message)
        (response,) = self.frames()
        assert response["id"] == message["id"]
        return response

    def result(self, method: str, **params: Any) -> dict[str, Any]:
        """Return the result of a request that the core answers by itself."""
        response = self.ask(method, **params)
        assert "error" not in response, response
        return dict(response["result"])

    def error(self, method: str, **params: Any) -> dict[str, Any]:
        """Return the error of a request that the core rejects."""
        response = self.ask(method, **params)
        assert "result" not in response, response
        return dict(response["error"])

    def call(
        self, method: str = "tools/call", *, id: Any = None, stream: Stream = None, **params: Any
    ) -> Request:
        """Send a request that needs a handler, and return the handler's request."""
        if method == "tools/call":
            params = {"name": "tool_0", **params}
        (call,) = self.send(self.request(method, id=id, **params), stream)
        assert isinstance(call, Request)
        return call

    def notify(self, method: str, **params: Any) -> list[Event]:
        message = {"jsonrpc": "2.0", "method": method}
        return self.send({**message, "params": params} if params else message)

    def cancel(self, request_id: Any) -> list[RequestCancelled]:
        found = self.notify("notifications/cancelled", requestId=request_id, reason="test")
        return [event for event in found if isinstance(event, RequestCancelled)]

    def outgoing(self) -> list[Outgoing]:
        """Return the messages that are ready to be sent, checked."""
        found = self.protocol.messages_to_send()
        for outgoing in found:
            for frame in self._decoded(outgoing):
                check_frame(self.revision.name, frame, self._methods.get(frame.get("id"), ""))
        return found

    def frames(self) -> list[dict[str, Any]]:
        """Return the messages that are ready to be sent, decoded and checked."""
        return [frame for outgoing in self.outgoing() for frame in self._decoded(outgoing)]

    def _decoded(self, outgoing: Outgoing) -> list[dict[str, Any]]:
        assert b"\n" not in outgoing.data
        if not outgoing.data:
            assert outgoing.is_last
            return []
        decoded = json.loads(outgoing.data)
        return decoded if isinstance(decoded, list) else [decoded]

    def _headers(self, message: dict[str, Any]) -> list[tuple[bytes, bytes]]:
        params = message.get("params", {})
        version = params.get("_meta", {}).get(VERSION, self.revision.name)
        headers = [(b"mcp-protocol-version", version.encode())]
        headers.append((b"mcp-method", message["method"].encode()))
        name = params.get("uri" if message["method"] == "resources/read" else "name")
        return [*headers, (b"mcp-name", name.encode())] if isinstance(name, str) else headers
