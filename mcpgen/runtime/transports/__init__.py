"""Bytes in and out: stdio, Streamable HTTP, HTTP+SSE, in memory. Thin enough to check by eye."""
