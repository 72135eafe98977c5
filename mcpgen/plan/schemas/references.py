"""References between schemas: the definitions that operations need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mcpgen.ir.api import MediaType, Operation
from mcpgen.jsonschema.schemas import find_reference, iterate_reachable
from mcpgen.jsonschema.types import JsonSchema


def collect_needed_schemas(
    operations: Iterable[Operation], schemas: Mapping[str, JsonSchema]
) -> dict[str, JsonSchema]:
    """Return the definitions to which operations refer, directly or indirectly, by name."""
    values = [schema for operation in operations for schema in _iterate_schemas(operation)]
    names = {find_reference(value) for value in iterate_reachable(values, schemas)}
    return {name: schemas[name] for name in sorted(names & schemas.keys())}


def _iterate_schemas(operation: Operation) -> Iterable[JsonSchema]:
    for parameter in operation.parameters:
        yield parameter.schema
    if operation.request_body is not None:
        yield from _iterate_content_schemas(operation.request_body.content)
    for response in operation.responses:
        yield from _iterate_content_schemas(response.content)
        for header in response.headers:
            yield header.schema


def _iterate_content_schemas(content: Iterable[MediaType]) -> Iterable[JsonSchema]:
    for item in content:
        if item.schema is not None:
            yield item.schema
        if item.item_schema is not None:
            yield item.item_schema
        for encoding in item.encoding.values():
            for header in encoding.headers:
                yield header.schema
