"""Snapshot of a server's tools in `tests/generated/tools.json`: short, so that diffs show changes.

It also checks tool annotations against the HTTP methods.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping

import msgspec

from mcpgen.contract.limits import BYTES_PER_TOKEN
from mcpgen.jsonschema.types import JsonObject

_READ_ONLY = frozenset({"GET", "HEAD", "OPTIONS", "QUERY", "TRACE"})
_IDEMPOTENT = frozenset({"DELETE", "PUT"})
_HASHED = ("description", "inputSchema", "outputSchema")
_encode = msgspec.json.Encoder(order="sorted").encode


def snapshot_entry(listed: JsonObject) -> JsonObject:
    """Return the entry of a tool, from its entry in `tools/list`.

    Descriptions and schemas are SHA-256 digests.
    """
    encoded = {key: msgspec.Raw(_encode(value)) for key, value in listed.items()}
    entry: JsonObject = {
        "name": listed["name"],
        "annotations": listed.get("annotations", {}),
        "tokens": estimate_tokens(encoded),
    }
    for key in _HASHED:
        if key in encoded:
            entry[key] = hashlib.sha256(encoded[key]).hexdigest()
    return entry


def estimate_tokens(listed: JsonObject) -> int:
    """Return a quarter of the bytes of a listed tool's JSON, rounded up."""
    return math.ceil(len(msgspec.json.encode(listed)) / BYTES_PER_TOKEN)


def derive_hints(method: str) -> dict[str, bool]:
    """Return the annotations that follow from an HTTP method (RFC 9110, section 9.2)."""
    hints = {"readOnlyHint": method in _READ_ONLY}
    hints["idempotentHint"] = method in _READ_ONLY | _IDEMPOTENT
    if method in _READ_ONLY | _IDEMPOTENT:
        hints["destructiveHint"] = method in _IDEMPOTENT
    return hints


def find_contradicting_hints(method: str, annotations: Mapping[str, object]) -> list[str]:
    """Return the names of the annotations that contradict the method."""
    return [name for name, hint in derive_hints(method).items() if annotations.get(name) != hint]
