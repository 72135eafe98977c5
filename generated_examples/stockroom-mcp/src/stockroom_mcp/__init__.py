"""An MCP server for Stockroom warehouse, made by mcpgen."""

__version__ = "0.1.0"
