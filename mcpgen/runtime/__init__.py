"""What generated servers import: the whole of MCP's server side in one small library."""
