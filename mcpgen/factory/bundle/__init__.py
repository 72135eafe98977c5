"""Bundles: a generated server in the formats of clients, catalogues and the MCP registry."""
