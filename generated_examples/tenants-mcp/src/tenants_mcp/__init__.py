"""An MCP server for Fieldnote, made by mcpgen."""

__version__ = "0.1.0"
