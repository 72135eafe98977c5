"""One report of all that mcpgen can find out about a server: `mcpgen audit`."""
