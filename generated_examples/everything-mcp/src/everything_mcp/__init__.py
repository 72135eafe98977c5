"""An MCP server for Everything, made by mcpgen."""

__version__ = "0.1.0"
