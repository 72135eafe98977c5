"""Agent Plugin: a folder with a server and its skills (Agent Plugins 1.0.0)."""

from __future__ import annotations

from mcpgen.factory.bundle.description import Bundle, BundleDescription
from mcpgen.factory.bundle.json_file import encode_file
from mcpgen.factory.bundle.plugin_manifest import describe_plugin

_SCHEMAS = "https://agent-plugins.org/schemas/1.0.0"


def build_agent_plugin(description: BundleDescription) -> Bundle:
    """Return the folder: `plugin.json`, `mcp.json`, the skills, and the Python project.

    The format has no settings: the server takes them from the environment of its client.
    """
    manifest = {"$schema": f"{_SCHEMAS}/plugin.schema.json", **describe_plugin(description)}
    server = {
        "type": "stdio",
        "command": "uv",
        "args": description.uv_arguments("${PLUGIN_ROOT}"),
        "env": {"UV_PROJECT_ENVIRONMENT": "${PLUGIN_DATA}/venv"},
    }
    servers = {"$schema": f"{_SCHEMAS}/mcp.schema.json", "mcpServers": {description.name: server}}
    files = {
        "plugin.json": encode_file(manifest),
        "mcp.json": encode_file(servers),
        **description.skills,
        **description.files,
    }
    return Bundle("plugin", f"plugin/{description.distribution}", files)
