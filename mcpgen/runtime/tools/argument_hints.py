"""Hints for arguments that are in the wrong place: inside of the body, or beside it."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final

import msgspec

from mcpgen.jsonschema.references import follow_references
from mcpgen.jsonschema.violations import unknown_names
from mcpgen.runtime.content import JsonObject

if TYPE_CHECKING:
    from mcpgen.contract.flat_bodies import FlatBody

_MAX_SHOWN: Final = 200  # characters of the arguments in a hint


def describe_unknown(
    arguments: JsonObject,
    known: Collection[str],
    schema: JsonObject,
    body: str,
    flat: FlatBody | None,
) -> tuple[str, ...]:
    """Return sentences about the arguments that are not `known`.

    `body` is the name of the body's argument, "" if there is none, `schema` the listed schema.
    """
    unknown = [name for name in arguments if name not in known]
    members = {} if flat is not None else _find_members(schema, body)
    misplaced = [name for name in unknown if name in members]
    is_whole = flat is not None and body in unknown
    others = [it for it in unknown if it not in members and not (is_whole and it == body)]
    found = [unknown_names((), others, [*known])] if others else []
    if misplaced:
        shown = ", ".join(f"`{name}`" for name in misplaced[:3])
        more = f" and {len(misplaced) - 3} more" if len(misplaced) > 3 else ""
        verb = "belongs" if len(misplaced) == 1 else "belong"
        inside = {body: {name: arguments[name] for name in misplaced}}
        found.append(f"{shown}{more} {verb} in `{body}`: {_show(inside)}")
    if flat is not None and is_whole:
        found.append(describe_whole_body(arguments[body], flat))
    return tuple(found)


def describe_whole_body(value: Any, flat: FlatBody) -> str:
    """Return a sentence about a body that was passed as one argument."""
    sentence = f"`{flat.argument}` is not one argument here: its members are arguments"
    spread = flat.spread({flat.argument: value}) if value else None
    return sentence if not spread else f"{sentence}: {_show(spread)}"


def is_whole_body(arguments: JsonObject, flat: FlatBody) -> bool:
    """Return whether the argument with the name of the body has an object with its members."""
    value = arguments.get(flat.argument)
    return isinstance(value, dict) and bool(value) and value.keys() <= set(flat.members.values())


def _find_members(schema: JsonObject, body: str) -> JsonObject:
    described = schema.get("properties", {}).get(body, {})
    if not isinstance(described, dict):
        return {}
    definitions = schema.get("$defs", {})
    found: JsonObject = {}
    for part in (described, *described.get("anyOf", ()), *described.get("oneOf", ())):
        if isinstance(part, dict):
            found |= follow_references(part, definitions).get("properties", {})
    return found


def _show(arguments: JsonObject) -> str:
    text = msgspec.json.encode(arguments).decode()
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 1]}…"
