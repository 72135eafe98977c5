"""An MCP server for Surveys, made by mcpgen."""

__version__ = "0.1.0"
