"""An MCP server for Relay Event Hub, made by mcpgen."""

__version__ = "0.1.0"
