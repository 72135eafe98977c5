"""An MCP server for Filebox, made by mcpgen."""

__version__ = "0.1.0"
