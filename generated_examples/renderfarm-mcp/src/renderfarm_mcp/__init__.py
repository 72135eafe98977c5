"""An MCP server for Lumen Render, made by mcpgen."""

__version__ = "0.1.0"
