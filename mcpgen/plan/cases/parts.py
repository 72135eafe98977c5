"""Test cases of calls that request a part of a result: some members, or the rest of a list."""

from __future__ import annotations

from collections.abc import Iterator

from mcpgen.ir.tool_plan import ToolPlan
from mcpgen.jsonschema.result_members import ResultMembers
from mcpgen.jsonschema.types import JsonObject, JsonSchema

_UNKNOWN_MEMBER = "no_such_member"
_NO_POINTER = "items"
_ITEMS = "[]"  # leads to the items of a list


def make_parts(tool: ToolPlan) -> list[JsonObject]:
    """Return the `parts` of an entry: additions of calls to the smallest one, and the results."""
    return [*_iterate_parts(tool)]


def _iterate_parts(tool: ToolPlan) -> Iterator[JsonObject]:
    schema = _find_result(tool)
    if schema is None:
        return
    levels = 0
    while _is_list(schema):
        schema, levels = schema["items"], levels + 1
    if tool.fields and tool.output_schema is not None and "properties" in schema:
        path = next(ResultMembers(tool.output_schema, tool.result_key).iterate_paths())
        selected = tool.policies.select  # by the manifest, of which the call selects again
        for _ in range(levels):
            selected = selected.get(_ITEMS, {})
        select: JsonObject = {path: selected.get(path, {})}
        for _ in range(levels):
            select = {_ITEMS: select}
        yield {
            "what": "one member of the result",
            "arguments": {tool.fields: [path]},
            "kept": {"select": select},
        }
    if tool.continuation and levels and tool.pagination is None:
        yield {
            "what": "the rest of the result",
            "arguments": {tool.continuation: "/1"},
            "kept": {"skip": 1},
        }


def iterate_refused_parts(tool: ToolPlan) -> Iterator[JsonObject]:
    """Yield the arguments that name no part of a result."""
    if tool.fields and tool.output_schema is not None:
        members = ResultMembers(tool.output_schema, tool.result_key)
        if members.find(_UNKNOWN_MEMBER) is None:
            yield {
                "what": "an unknown member of the result",
                "arguments": {tool.fields: [_UNKNOWN_MEMBER]},
                "says": _UNKNOWN_MEMBER,
            }
    if tool.continuation:
        yield {
            "what": "a place that is no JSON Pointer",
            "arguments": {tool.continuation: _NO_POINTER},
            "says": tool.continuation,
        }


def _find_result(tool: ToolPlan) -> JsonObject | None:
    """Return the listed schema of a result, without the object that wraps it."""
    output = tool.output_schema
    if output is None or not tool.result_key:
        return output
    inside = output["properties"][tool.result_key]
    return inside if isinstance(inside, dict) else None


def _is_list(schema: JsonSchema) -> bool:
    """Return whether a listed schema allows lists only, and null."""
    if not isinstance(schema, dict) or not isinstance(schema.get("items"), dict):
        return False
    types = schema.get("type", [])
    return {*([types] if isinstance(types, str) else types)} <= {"array", "null"} and bool(types)
