"""A raw MCP client that records every frame: targets, transports and sessions of each revision."""
