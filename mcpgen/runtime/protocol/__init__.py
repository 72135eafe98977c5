"""The server's half of MCP: messages in, messages out; no async, no clock, no sockets."""
