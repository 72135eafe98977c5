"""Views of MCP Apps: what clients show of results, in a page that needs no other origin."""
