"""Plan of a declared tool: its inputs, fixed values, and the inputs' positions in the body."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from mcpgen.absent import ABSENT
from mcpgen.ir.api import DeclaredRequest, InputRef, Operation
from mcpgen.ir.manifest import Manifest
from mcpgen.ir.manifest_entries import OperationEntry
from mcpgen.ir.tool_plan import Fixed
from mcpgen.jsonschema.direction import Shape
from mcpgen.jsonschema.types import JsonObject, JsonSchema, JsonValue
from mcpgen.plan.arguments.overrides import OverriddenOperation

ShapeOf = Callable[[JsonSchema], Shape]

INPUT = "input"
"""The location of an argument that is a part of a composed body."""


def wire_operation(operation: Operation, declared: DeclaredRequest) -> OverriddenOperation:
    """Separate the inputs of a declared operation from its fixed values."""
    return OverriddenOperation(
        sent=operation,
        offered=replace(
            operation,
            parameters=tuple(it for it in operation.parameters if it.wire_place in declared.inputs),
        ),
        fixed=tuple(Fixed(*place, value) for place, value in declared.fixed.items()),
        names=declared.inputs,
    )


def build_entry(manifest: Manifest, declared: DeclaredRequest) -> OperationEntry:
    """Return the manifest's settings of a declared tool as the entry of an operation."""
    tool = manifest.tools[declared.tool]
    return OperationEntry(
        name=declared.tool,
        title=tool.title,
        description=tool.description,
        annotations=tool.annotations,
        result=tool.result,
        timeout_seconds=tool.timeout_seconds,
        view=tool.view,
    )


def iterate_inputs(operation: Operation, shape_of: ShapeOf) -> Iterator[tuple[str, JsonSchema]]:
    """Yield the inputs in the body of a declared operation, with their schemas."""
    declared, body = operation.declared, operation.request_body
    if declared is None or body is None or declared.body is UNSET:
        return
    yield from _iterate_parts(declared.body, body.content[0].schema, shape_of)


def _iterate_parts(
    part: JsonValue, schema: JsonSchema | None, shape_of: ShapeOf
) -> Iterator[tuple[str, JsonSchema]]:
    schema = True if schema is None else schema
    if isinstance(part, InputRef):
        yield part.input, schema
    elif isinstance(part, dict):
        properties = shape_of(schema).keywords.get("properties", {})
        for name, member in part.items():
            yield from _iterate_parts(member, properties.get(name), shape_of)
    elif isinstance(part, list):
        items = shape_of(schema).keywords.get("prefixItems", ())
        for item, item_schema in zip(part, items, strict=False):
            yield from _iterate_parts(item, item_schema, shape_of)


def compose_body(part: JsonValue, arguments: Mapping[str, JsonValue]) -> Any:
    """Insert arguments into a composed body; ABSENT replaces a missing argument."""
    if isinstance(part, InputRef):
        return arguments.get(part.input, ABSENT)
    if isinstance(part, dict):
        return {name: compose_body(member, arguments) for name, member in part.items()}
    if isinstance(part, list):
        return [compose_body(item, arguments) for item in part]
    return part


def extract_arguments(part: JsonValue, value: JsonValue) -> JsonObject:
    """Return the arguments with which a composed body has this value."""
    if isinstance(part, InputRef):
        return {part.input: value}
    found: JsonObject = {}
    if isinstance(part, dict) and isinstance(value, dict):
        for name in part.keys() & value.keys():
            found |= extract_arguments(part[name], value[name])
    elif isinstance(part, list) and isinstance(value, list):
        for item, element in zip(part, value, strict=False):
            found |= extract_arguments(item, element)
    return found
