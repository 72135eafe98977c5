"""Validation of documents: OpenAPI's schemas, further checks, and openapi-spec-validator."""
