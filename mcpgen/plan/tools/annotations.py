"""MCP tool annotations, from the meaning that HTTP gives to methods (RFC 9110, section 9.2)."""

from __future__ import annotations

from mcpgen.ir.api import SAFE_METHODS, Operation
from mcpgen.jsonschema.types import JsonObject


def derive_annotations(operation: Operation, title: str) -> JsonObject:
    """Return the hints of a tool; texts of the document never make an operation look harmless.

    A POST or PATCH may destroy something, so `destructiveHint` keeps MCP's default, true.
    """
    method = operation.method
    hints: JsonObject = {"title": title, "openWorldHint": True}
    if method in SAFE_METHODS:
        return {**hints, "readOnlyHint": True, "destructiveHint": False, "idempotentHint": True}
    hints["readOnlyHint"] = False
    hints["idempotentHint"] = method in ("PUT", "DELETE")
    if method in ("PUT", "DELETE"):
        hints["destructiveHint"] = True
    return hints
