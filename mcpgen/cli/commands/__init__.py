"""The commands of `mcpgen`, one module each."""
