"""An MCP server for Twilio messaging, made by mcpgen."""

__version__ = "0.1.0"
