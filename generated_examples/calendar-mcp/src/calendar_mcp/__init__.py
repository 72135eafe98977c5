"""An MCP server for Daybook Calendar, made by mcpgen."""

__version__ = "0.1.0"
