"""Short descriptions of results, which cost a model fewer tokens than their JSON Schemas."""

from __future__ import annotations

from typing import Any, Final

from mcpgen.jsonschema.references import follow_references
from mcpgen.runtime.content import JsonObject

MAX_SKETCH: Final = 400  # characters
_MAX_INNER: Final = 6  # names of members of a member
_MAX_DEPTH: Final = 3  # of lists in lists
_MORE: Final = "…"


def sketch_result(schema: JsonObject) -> str:
    """Return the members of a result with their types: `{id: integer, tags: {name, color}[], …}`.

    The text has at most `MAX_SKETCH` characters; members that do not fit are "…".
    """
    shape = follow_references(schema, schema.get("$defs", {}))
    parts: list[str] = []
    room = MAX_SKETCH - len("{, …}")
    for name, member in shape.get("properties", {}).items():
        part = f"{name}: {_sketch_member(member, schema.get('$defs', {}))}"
        room -= len(part) + 2
        if room < 0:
            parts.append(_MORE)
            break
        parts.append(part)
    return f"{{{', '.join(parts)}}}" if parts else "object"


def _sketch_member(schema: Any, definitions: JsonObject, depth: int = 0) -> str:
    """Return the type of a member, of an object or of a list of objects its first names.

    Nearly every member may be null, so that is not stated.
    """
    shape = _find_shape(schema, definitions)
    if "items" in shape and depth < _MAX_DEPTH:  # a list may contain lists of its own kind
        return f"{_sketch_member(shape['items'], definitions, depth + 1)}[]"
    if names := [*shape.get("properties", {})]:
        more = [_MORE] if len(names) > _MAX_INNER else []
        return f"{{{', '.join([*names[:_MAX_INNER], *more])}}}"
    kind = shape.get("type", "any")
    kinds = [kind] if isinstance(kind, str) else [it for it in kind if it != "null"]
    return "|".join(kinds)


def _find_shape(schema: Any, definitions: JsonObject) -> JsonObject:
    """Follow references, and the only variant that is not null."""
    shape = follow_references(schema, definitions)
    variants = [it for it in shape.get("anyOf", ()) if it != {"type": "null"}]
    return follow_references(variants[0], definitions) if len(variants) == 1 else shape
