"""An MCP server for Helpcenter, made by mcpgen."""

__version__ = "0.1.0"
