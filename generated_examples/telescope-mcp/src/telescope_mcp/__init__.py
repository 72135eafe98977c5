"""An MCP server for Halden Sky Archive, made by mcpgen."""

__version__ = "0.1.0"
