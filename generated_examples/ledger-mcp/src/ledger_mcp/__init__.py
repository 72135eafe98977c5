"""An MCP server for Kontor, made by mcpgen."""

__version__ = "0.1.0"
