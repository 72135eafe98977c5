"""Views of a made-up tool."""

from __future__ import annotations

from typing import Any

from mcpgen.runtime.apps.views import ServerViews
from mcpgen.runtime.protocol.jsonrpc import JsonObject, encode_json
from mcpgen.runtime.protocol.prepared_list import PreparedList
from mcpgen.runtime.protocol.server_definition import ServerDefinition

EXTENSION = "io.modelcontextprotocol/ui"
CAPABILITIES = {"extensions": {EXTENSION: {"mimeTypes": ["text/html;profile=mcp-app"]}}}
INPUT_SCHEMA = {"type": "object", "properties": {}}


def column(name: str, type: str = "string", format: str = "", label: str = "") -> JsonObject:
    return {"path": name.split("."), "label": label or name, "type": type, "format": format}


def make_definition(view: JsonObject, **tool: Any) -> ServerDefinition:
    """Return the definition of a server with one tool, `pets`, and its view."""
    listed = {"name": "pets", "title": "Pets", "inputSchema": INPUT_SCHEMA, **tool}
    tools = PreparedList("tools", [encode_json(listed)])
    views = ServerViews("shop", {"pets": view})
    return ServerDefinition({"name": "shop", "version": "1"}, tools=tools, views=views)


def make_view(
    kind: str, *columns: JsonObject, tool: JsonObject | None = None, **view: Any
) -> JsonObject:
    """Return the contents of a view, as a client reads them."""
    items = {} if kind in {"form", "record"} else {"items": ["items"]}
    shown = {"columns": list(columns)} if columns else {}
    plain = make_definition({"kind": kind, **items, **shown, **view}, **(tool or {}))
    definition = plain.for_client(CAPABILITIES)
    assert definition.views is not None
    contents = definition.views.read(definition, "ui://shop/pets")
    assert contents is not None
    return contents


def result_of(value: Any) -> JsonObject:
    return {"content": [{"type": "text", "text": "text"}], "structuredContent": value}
