"""A raw JSON-RPC client of MCP servers."""
