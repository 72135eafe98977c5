"""The default `instructions` of a server."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from mcpgen.diagnostics import Problems
from mcpgen.ir.api import ApiInfo
from mcpgen.plan.instructions import MAX_INSTRUCTIONS, default_instructions
from tests.unit.plans import plan_of

OK = {"responses": {"200": {"description": "ok"}}}
LIST = {
    "responses": {
        "200": {
            "description": "ok",
            "content": {
                "application/json": {"schema": {"type": "array", "items": {"type": "object"}}}
            },
        }
    }
}


def parameter(name: str, location: str = "path") -> dict[str, Any]:
    schema = {"type": "string" if location == "path" else "integer"}
    return {"name": name, "in": location, "required": location == "path", "schema": schema}


def document(info: dict[str, Any] | None = None, paths: dict[str, Any] | None = None) -> Any:
    return {
        "openapi": "3.1.0",
        "info": {"title": "Pet Shop API", "version": "1", **(info or {})},
        "servers": [{"url": "https://pets.example"}],
        "paths": paths or {"/pets": {"get": {"operationId": "listPets", **LIST}}},
    }


def instructions(info: dict[str, Any] | None = None, **options: Any) -> str:
    return plan_of(document(info, options.pop("paths", None)), **options).instructions
