"""An MCP server for Google Search Console, made by mcpgen."""

__version__ = "0.1.0"
