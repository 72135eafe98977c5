"""An MCP server for Lindenhof Clinic, made by mcpgen."""

__version__ = "0.1.0"
