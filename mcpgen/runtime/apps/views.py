"""The views of a server's tools, for clients with MCP Apps (SEP-1865, 2026-01-26).

A client that does not declare the extension sees a server without views.
"""

from __future__ import annotations

from collections.abc import Mapping

from mcpgen.runtime.protocol.client_requests import find_extension
from mcpgen.runtime.protocol.jsonrpc import JsonObject, encode_json
from mcpgen.runtime.protocol.prepared_list import PreparedList
from mcpgen.runtime.protocol.server_definition import ServerDefinition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

EXTENSION: Final = "io.modelcontextprotocol/ui"
MEDIA_TYPE: Final = "text/html;profile=mcp-app"


class ServerViews:
    """The views of a server, by tool: the content of `_generated/views.json`."""

    def __init__(self, server: str, views: Mapping[str, JsonObject]) -> None:
        self._views = views
        self._tools = {f"ui://{server}/{tool}": tool for tool in views}  # by URI
        self._plain: ServerDefinition | None = None
        self._extended: ServerDefinition | None = None

    def extend(self, definition: ServerDefinition, capabilities: JsonObject) -> ServerDefinition:
        """Return the definition that a client with these capabilities sees.

        The variant with views is built for the first client that can show them.
        """
        if not _can_show_views(capabilities):
            return definition
        if self._extended is None or self._plain is not definition:
            self._plain, self._extended = definition, self._add_views(definition)
        return self._extended

    def read(self, definition: ServerDefinition, uri: str) -> JsonObject | None:
        """Return the contents of the resource of a view; None if there is no view at this URI."""
        name = self._tools.get(uri)
        tools = {} if definition.tools is None else definition.tools.items
        if name is None or name not in tools:
            return None
        from mcpgen.runtime.apps.page import make_page  # not before a page is read

        tool, view = tools[name], self._views[name]
        origins = view.get("image_origins", [])
        settings = {"tool": name, "title": tool.get("title", name), **view}
        if view["kind"] == "form":
            hints = tool.get("annotations", {})
            settings |= {
                "input_schema": tool["inputSchema"],
                "read_only": hints.get("readOnlyHint", False),
                "destructive": hints.get("destructiveHint", True),
            }
        return {
            "uri": uri,
            "mimeType": MEDIA_TYPE,
            "text": make_page(settings, origins),
            "_meta": _make_resource_meta(view),
        }

    def _add_views(self, definition: ServerDefinition) -> ServerDefinition:
        tools = dict(definition.tools.items) if definition.tools is not None else {}
        listed: list[JsonObject] = []
        for uri, name in self._tools.items():
            if name not in tools:  # the server lists other tools, for a toolset or for search
                continue
            tool = tools[name]
            meta = {**tool.get("_meta", {}), "ui": {"resourceUri": uri}}
            tools[name] = {**tool, "_meta": meta}
            listed.append(
                {
                    "uri": uri,
                    "name": name,
                    "title": tool.get("title", name),
                    "description": f"What clients show of the results of `{name}`.",
                    "mimeType": MEDIA_TYPE,
                    "_meta": _make_resource_meta(self._views[name]),
                }
            )
        others = () if definition.resources is None else definition.resources.items.values()
        return definition.replace(
            tools=PreparedList("tools", map(encode_json, tools.values())),
            resources=PreparedList("resources", map(encode_json, [*others, *listed])),
            resource_templates=definition.resource_templates or PreparedList("resourceTemplates"),
            extensions={**definition.extensions, EXTENSION: {}},
            cache_scope="private",  # other clients have other lists
        )


def _can_show_views(capabilities: JsonObject) -> bool:
    """Return whether a client declares MCP Apps with pages in HTML."""
    settings = find_extension(capabilities, EXTENSION) or {}
    media_types = settings.get("mimeTypes")
    return type(media_types) is list and MEDIA_TYPE in media_types


def _make_resource_meta(view: JsonObject) -> JsonObject:
    """Return what a host needs for its own policy: the page connects to nothing."""
    origins = view.get("image_origins", [])
    return {
        "ui": {"csp": {"connectDomains": [], "resourceDomains": origins}, "prefersBorder": True}
    }
