"""The stdio transport: MCP over stdin and stdout."""
