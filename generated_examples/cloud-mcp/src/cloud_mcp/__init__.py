"""An MCP server for Stratus Cloud, made by mcpgen."""

__version__ = "0.1.0"
