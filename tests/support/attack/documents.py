"""The OpenAPI document of the attacked server, and the operation that bystanders call."""

from __future__ import annotations

from typing import Any

HEALTHY_PATH = "/healthy/"
HEALTHY_TOOL = "get_healthy"


def api_document(
    paths: dict[str, Any] | None = None, components: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return an OpenAPI document with the bystander's operation, `getHealthy`, and `paths`."""
    healthy = {
        "operationId": "getHealthy",
        "summary": "Get something by its identifier",
        "parameters": [
            {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
        ],
        "responses": {
            "200": {
                "description": "OK",
                "content": {
                    "application/json": {
                        "schema": {"type": "object", "properties": {"id": {"type": "string"}}}
                    }
                },
            }
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Attacked", "version": "1.0.0"},
        "servers": [{"url": "https://api.example.com"}],
        "paths": {f"{HEALTHY_PATH}{{id}}": {"get": healthy}, **(paths or {})},
        **({"components": components} if components else {}),
    }


def operation(
    operation_id: str,
    *,
    media_type: str = "application/json",
    schema: dict[str, Any] | None = None,
    **others: Any,
) -> dict[str, Any]:
    """Return an operation with one response of a media type, with an optional schema."""
    content: dict[str, Any] = {} if schema is None else {"schema": schema}
    return {
        "operationId": operation_id,
        "summary": f"Call {operation_id}",
        "responses": {"200": {"description": "OK", "content": {media_type: content}}},
        **others,
    }
