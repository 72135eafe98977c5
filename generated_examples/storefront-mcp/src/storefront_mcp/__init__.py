"""An MCP server for Storefront, made by mcpgen."""

__version__ = "0.1.0"
