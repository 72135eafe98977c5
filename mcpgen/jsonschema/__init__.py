"""JSON Schema 2020-12, apart from OpenAPI and MCP: validation, costs, merging, samples."""
