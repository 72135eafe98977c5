"""An honest score of any MCP server: requirements, their checks, and reports of both."""
