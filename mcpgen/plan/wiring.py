"""Tools that the manifest declares: which argument goes where in the request."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from mcpgen.ir.api import Declared, Operation, Placed
from mcpgen.ir.json_types import JsonObject, JsonSchema, JsonValue
from mcpgen.ir.manifest import Manifest, OperationEntry
from mcpgen.ir.tool_plan import Fixed
from mcpgen.plan.adjusting import Adjusted
from mcpgen.plan.shapes import Shape
from mcpgen.runtime.absent import ABSENT

ShapeOf = Callable[[JsonSchema], Shape]

INPUT = "input"
"""The location of an argument that has its place inside a composed body."""


def wired(operation: Operation, declared: Declared) -> Adjusted:
    """A declared operation, seen from both ends: what is fixed is not offered."""
    return Adjusted(
        sent=operation,
        offered=replace(
            operation,
            parameters=tuple(
                parameter
                for parameter in operation.parameters
                if (parameter.location, parameter.name) in declared.inputs
            ),
        ),
        fixed=tuple(Fixed(*place, value) for place, value in declared.fixed.items()),
        names=declared.inputs,
    )


def entry_of(manifest: Manifest, declared: Declared) -> OperationEntry:
    """What the manifest says of a declared tool, as it would of an operation."""
    tool = manifest.tools[declared.tool]
    return OperationEntry(
        name=declared.tool,
        title=tool.title,
        description=tool.description,
        annotations=tool.annotations,
        result=tool.result,
        timeout_seconds=tool.timeout_seconds,
    )


def placed_inputs(operation: Operation, shape_of: ShapeOf) -> Iterator[tuple[str, JsonSchema]]:
    """The inputs inside the body of a declared operation, each with its schema."""
    declared, body = operation.declared, operation.request_body
    if declared is None or body is None or declared.body is UNSET:
        return
    yield from _placed(declared.body, body.content[0].schema, shape_of)


def _placed(
    part: JsonValue, schema: JsonSchema | None, shape_of: ShapeOf
) -> Iterator[tuple[str, JsonSchema]]:
    schema = True if schema is None else schema
    if isinstance(part, Placed):
        yield part.input, schema
    elif isinstance(part, dict):
        properties = shape_of(schema).keywords.get("properties", {})
        for name, member in part.items():
            yield from _placed(member, properties.get(name), shape_of)
    elif isinstance(part, list):
        items = shape_of(schema).keywords.get("prefixItems", ())
        for item, item_schema in zip(part, items, strict=False):
            yield from _placed(item, item_schema, shape_of)


def composed(part: JsonValue, arguments: Mapping[str, JsonValue]) -> Any:
    """A composed body with these arguments in it; ABSENT where one of them is not given."""
    if isinstance(part, Placed):
        return arguments.get(part.input, ABSENT)
    if isinstance(part, dict):
        return {name: composed(member, arguments) for name, member in part.items()}
    if isinstance(part, list):
        return [composed(item, arguments) for item in part]
    return part


def arguments_in(part: JsonValue, value: JsonValue) -> JsonObject:
    """The arguments that make a composed body have this value."""
    if isinstance(part, Placed):
        return {part.input: value}
    found: JsonObject = {}
    if isinstance(part, dict) and isinstance(value, dict):
        for name in part.keys() & value.keys():
            found |= arguments_in(part[name], value[name])
    elif isinstance(part, list) and isinstance(value, list):
        for item, given in zip(part, value, strict=False):
            found |= arguments_in(item, given)
    return found
