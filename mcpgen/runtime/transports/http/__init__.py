"""Streamable HTTP, and HTTP+SSE of MCP 2024-11-05."""
