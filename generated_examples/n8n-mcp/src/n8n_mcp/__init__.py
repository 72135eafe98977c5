"""An MCP server for n8n, made by mcpgen."""

__version__ = "0.1.0"
