"""An MCP server for Reonomy, made by mcpgen."""

__version__ = "0.1.0"
