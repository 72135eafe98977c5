"""An MCP server for Petstore, made by mcpgen."""

__version__ = "0.1.0"
