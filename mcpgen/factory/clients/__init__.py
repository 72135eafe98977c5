"""Installation of servers into the configuration files of MCP clients."""
