"""An MCP server for Meta ads, made by mcpgen."""

__version__ = "0.1.0"
