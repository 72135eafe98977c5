"""Differences between the arguments of two releases of a tool, whose body can be flat."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from mcpgen.changelog.schema_changes import INFORMATIVE_KINDS, Difference, Kind, compare_schemas
from mcpgen.changelog.schema_values import Effect
from mcpgen.contract.flat_bodies import FlatBody, gather_schema
from mcpgen.ir.surface import SurfaceTool
from mcpgen.jsonschema.types import JsonObject

_FIRST_NAME = re.compile(r"[^.\[]+")
_PRESENCE = frozenset({Kind.REQUIRED, Kind.OPTIONAL})


def compare_inputs(was: SurfaceTool, now: SurfaceTool) -> list[Difference]:
    """Compare the schemas that arguments must satisfy, and the texts of the listed schemas.

    If the members of the body became arguments, or stopped being some, the bodies are compared.
    """
    is_same_form = (was.flat_body is None) == (now.flat_body is None)
    if not is_same_form:
        differences = compare_schemas(_gather(was), _gather(now), severe=Effect.NARROWED)
        return [one for one in differences if one.kind not in INFORMATIVE_KINDS]
    listed = compare_schemas(was.input_schema, now.input_schema, severe=Effect.NARROWED)
    if was.checked_schema is None and now.checked_schema is None:
        checked = [*listed]
    else:
        checked = [
            *compare_schemas(
                was.checked_schema or _gather(was),
                now.checked_schema or _gather(now),
                severe=Effect.NARROWED,
            )
        ]
        if was.flat_body is not None and now.flat_body is not None:
            checked = [*_place_members(checked, listed, was.flat_body, now.flat_body)]
    found = [one for one in checked if one.kind not in INFORMATIVE_KINDS]
    changed = {one.path for one in found}
    return found + [
        one for one in listed if one.kind in INFORMATIVE_KINDS and one.path not in changed
    ]


def _gather(tool: SurfaceTool) -> JsonObject:
    return gather_schema(tool.input_schema, tool.flat_body)


def _place_members(
    checked: list[Difference], listed: tuple[Difference, ...], was: FlatBody, now: FlatBody
) -> Iterator[Difference]:
    """Yield differences of bodies with the places of their members in the arguments.

    Whether a body is required shows in its members only; `listed` are the differences of these.
    """
    names = now.names | was.names
    seen: set[tuple[str, Kind]] = set()
    for one in checked:
        inside = one.path.removeprefix(f"{was.argument}.")
        if one.path == was.argument and one.kind in _PRESENCE:
            continue
        path = "" if one.path == was.argument else one.path
        if inside != one.path and (first := _FIRST_NAME.match(inside)):
            path = names.get(first[0], first[0]) + inside[first.end() :]
        seen.add((path, one.kind))
        yield replace(one, path=path)
    for one in listed:
        if one.kind in _PRESENCE and (one.path, one.kind) not in seen:
            yield one
    for member, name in was.names.items():
        new = now.names.get(member, name)
        if new != name:
            yield Difference(name, Kind.REMOVED, f"is called `{new}` now")
