"""`mcpgen.lock`, and what mcpgen remembers of overridden operations."""
