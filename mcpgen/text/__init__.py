"""Text functions without knowledge of OpenAPI or MCP: pointers, media types, origins, prose."""
