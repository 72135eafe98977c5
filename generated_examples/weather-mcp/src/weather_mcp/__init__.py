"""An MCP server for Isobar weather, made by mcpgen."""

__version__ = "0.1.0"
