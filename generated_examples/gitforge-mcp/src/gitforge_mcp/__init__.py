"""An MCP server for Gitforge, made by mcpgen."""

__version__ = "0.1.0"
