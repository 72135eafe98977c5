"""An MCP server for Wayside Travel, made by mcpgen."""

__version__ = "0.1.0"
