"""Turns an API description into an MCP server package; `mcpgen.runtime` serves it."""
