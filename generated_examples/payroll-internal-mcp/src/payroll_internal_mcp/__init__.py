"""An MCP server for Payroll, made by mcpgen."""

__version__ = "0.1.0"
