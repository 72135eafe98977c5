"""An MCP server for Bookshop, made by mcpgen."""

__version__ = "0.1.0"
