"""`.mcpgen/overridden.json`: what overridden operations were like when that was last looked at.

It stands beside the lock, one operation a line: the schemas are what `mcpgen check` shows the
changes against. Lost, it is made anew from how the operations are now.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping

import msgspec

from mcpgen.emit.write.ownership import STATE_FOLDER
from mcpgen.ir.file_set import Owner, PlannedFile
from mcpgen.ir.hand_written import OverrideRecord
from mcpgen.jsonschema.types import JsonObject

OVERRIDDEN_FILE = f"{STATE_FOLDER}/overridden.json"


def dump_overridden(overridden: Mapping[str, OverrideRecord]) -> PlannedFile:
    """Write the file; operations by key, and of each what it has."""
    lines = (
        f"{json.dumps(key)}: {json.dumps(_to_json(entry), sort_keys=True)}"
        for key, entry in sorted(overridden.items())
    )
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    return PlannedFile(OVERRIDDEN_FILE, text.encode(), Owner.GENERATED)


def _to_json(entry: OverrideRecord) -> JsonObject:
    values: JsonObject = msgspec.to_builtins(entry)
    if entry.tool is not None:
        values["tool"] = _without_gaps(msgspec.to_builtins(entry.tool))
    return _without_gaps(values)


def _without_gaps(values: JsonObject) -> JsonObject:
    # `SurfaceTool` has no defaults for its texts.
    return {
        name: value
        for name, value in values.items()
        if value or name in {"title", "description", "input_schema"}
    }


def parse_overridden(content: bytes | None) -> dict[str, OverrideRecord]:
    """Read the file; nothing where it is lost.

    Of one that a merge mixed up each line that still is an entry counts, the first of an operation.
    """
    try:
        return msgspec.json.decode(content or b"{}", type=dict[str, OverrideRecord])
    except (msgspec.DecodeError, RecursionError):
        found: dict[str, OverrideRecord] = {}
        for line in (content or b"").splitlines():
            with contextlib.suppress(msgspec.DecodeError, RecursionError):
                entry = b"{" + line.strip().removesuffix(b",") + b"}"
                found = msgspec.json.decode(entry, type=dict[str, OverrideRecord]) | found
        return found
