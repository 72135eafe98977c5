"""The list of a server's tools, told so briefly that every change of it is seen in a diff."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping

import msgspec

from mcpgen.runtime.content import JsonObject

_READ_ONLY = frozenset({"GET", "HEAD", "OPTIONS", "QUERY", "TRACE"})
_IDEMPOTENT = frozenset({"DELETE", "PUT"})
_HASHED = ("description", "inputSchema", "outputSchema")
_encode = msgspec.json.Encoder(order="sorted").encode


def snapshot_entry(listed: JsonObject) -> JsonObject:
    """Give the entry of `tests/generated/tools.json` for a tool, from what a client is shown.

    What is long stands there as its SHA-256; `tokens` is a quarter of the tool's bytes.
    """
    entry: JsonObject = {
        "name": listed["name"],
        "annotations": listed.get("annotations", {}),
        "tokens": math.ceil(len(_encode(listed)) / 4),
    }
    for key in _HASHED:
        if key in listed:
            entry[key] = hashlib.sha256(_encode(listed[key])).hexdigest()
    return entry


def _hints_of(method: str) -> dict[str, bool]:
    """Give the annotations that an HTTP method stands for (RFC 9110, section 9.2)."""
    hints = {"readOnlyHint": method in _READ_ONLY}
    hints["idempotentHint"] = method in _READ_ONLY | _IDEMPOTENT
    if method in _READ_ONLY | _IDEMPOTENT:
        hints["destructiveHint"] = method in _IDEMPOTENT
    return hints


def hints_departing(method: str, annotations: Mapping[str, object]) -> list[str]:
    """Name the annotations that say something else than the method."""
    return [name for name, hint in _hints_of(method).items() if annotations.get(name) != hint]
