"""An MCP server for Wayfleet, made by mcpgen."""

__version__ = "0.1.0"
