"""An MCP server for Competitor research, made by mcpgen."""

__version__ = "0.1.0"
