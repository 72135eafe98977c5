"""MCP tool annotations, from HTTP methods (RFC 9110, section 9.2), and contradictions to them."""

from __future__ import annotations

import re

from mcpgen.contract.snapshot import derive_hints
from mcpgen.diagnostics import Problems
from mcpgen.ir.api import SAFE_METHODS, Operation
from mcpgen.jsonschema.types import JsonObject


def derive_annotations(operation: Operation, title: str) -> JsonObject:
    """Return the hints of a tool; texts of the document never make an operation look harmless.

    A POST or PATCH may destroy something. Its `destructiveHint` is MCP's default, true, which
    `state_defaults` adds: some clients refuse tools that do not state it.
    """
    return {"title": title, "openWorldHint": True, **derive_hints(operation.method)}


def state_defaults(annotations: JsonObject) -> JsonObject:
    """Return annotations that state `destructiveHint`, with MCP's default if it was missing."""
    return {"destructiveHint": True, **annotations}


_DESTROYS = re.compile(r"\W*(?:delet|remov|destroy|purg|eras|reset)\w*\b", re.IGNORECASE)
_LOOKS = re.compile(r"\b(?:read[- ]only|without side effects)\b", re.IGNORECASE)


def report_contradiction(operation: Operation, problems: Problems) -> None:
    """Report texts of an operation that contradict its method; hints follow the method."""
    purpose = operation.summary or operation.description
    claims = operation.extensions.get("x-mcp-annotations")
    is_claimed_safe = isinstance(claims, dict) and claims.get("readOnlyHint") is True
    if operation.method in SAFE_METHODS:
        contradiction = bool(_DESTROYS.match(purpose))
        told = "is described as destroying something"
    else:
        contradiction = is_claimed_safe or bool(_LOOKS.search(purpose))
        told = "is described as read-only"
    if contradiction:
        problems.warning(
            "annotation-contradiction",
            f"`{operation.key}` {told}, and {operation.method} says otherwise",
            at=operation.at,
            why="hints for clients follow the method",
            help="annotate the operation in the manifest where the method misleads",
        )
