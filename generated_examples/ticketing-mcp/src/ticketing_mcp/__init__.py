"""An MCP server for Pavilion Desk, made by mcpgen."""

__version__ = "0.1.0"
