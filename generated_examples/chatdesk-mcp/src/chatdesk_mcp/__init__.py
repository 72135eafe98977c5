"""An MCP server for Chatdesk, made by mcpgen."""

__version__ = "0.1.0"
