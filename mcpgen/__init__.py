"""Generate MCP servers from API descriptions; `mcpgen.runtime` serves them."""
