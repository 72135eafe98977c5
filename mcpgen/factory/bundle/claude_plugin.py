"""Claude Code plugin: a folder with a server, its settings and its skills."""

from __future__ import annotations

from mcpgen.factory.bundle.description import Bundle, BundleDescription
from mcpgen.factory.bundle.json_file import encode_file, omit_empty
from mcpgen.factory.bundle.plugin_manifest import describe_plugin
from mcpgen.factory.bundle.user_config import make_user_config


def build_claude_plugin(description: BundleDescription) -> Bundle:
    """Return the folder: the manifest, `.mcp.json`, the skills, and the Python project."""
    settings = make_user_config(description)
    manifest = describe_plugin(description) | omit_empty({"userConfig": settings})
    server = {
        "type": "stdio",
        "command": "uv",
        "args": description.uv_arguments("${CLAUDE_PLUGIN_ROOT}"),
        "env": {
            "UV_PROJECT_ENVIRONMENT": "${CLAUDE_PLUGIN_DATA}/venv",
            **description.environment,
        },
    }
    files = {
        ".claude-plugin/plugin.json": encode_file(manifest),
        ".mcp.json": encode_file({"mcpServers": {description.name: server}}),
        **description.skills,
        **description.files,
    }
    return Bundle("claude-plugin", f"claude-plugin/{description.distribution}", files)
