"""An MCP server for Harbor desk, made by mcpgen."""

__version__ = "0.1.0"
