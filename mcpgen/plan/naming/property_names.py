"""Safe names of properties inside arguments: listed as clients accept them, sent as wire names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from mcpgen.ir.api import Api, Operation
from mcpgen.jsonschema.direction import Shapes
from mcpgen.jsonschema.schemas import iterate_reachable
from mcpgen.jsonschema.types import JsonObject, JsonSchema, JsonValue
from mcpgen.plan.naming.names import assign_safe_names


def find_safe_names(api: Api) -> dict[str, str]:
    """Return a safe name for each property name in requests that some client rejects, by wire name.

    A name has one meaning in the whole API, so that schemas remain shared and a choice between
    objects is never ambiguous.
    """
    values = [
        schema for operation in api.operations for schema in _iterate_request_schemas(operation)
    ]
    return assign_safe_names(_collect_property_names(iterate_reachable(values, api.schemas)))


def _iterate_request_schemas(operation: Operation) -> Iterable[JsonValue]:
    for parameter in operation.parameters:
        yield parameter.schema
    if operation.request_body is not None:
        for item in operation.request_body.content:
            yield item.schema
            yield item.item_schema


def wire_names(schema: JsonObject, safe_names: Mapping[str, str]) -> dict[str, str]:
    """Return the wire names of the renamed properties in a tool's arguments, by safe name."""
    if not safe_names:
        return {}
    declared = _collect_property_names(
        iterate_reachable([*schema["properties"].values(), schema.get("$defs")], {})
    )
    return {name: wire for wire, name in sorted(safe_names.items()) if name in declared}


def _collect_property_names(schemas: Iterable[JsonObject]) -> set[str]:
    """Collect the names in `properties` and `required` of these schemas."""
    found: set[str] = set()
    for schema in schemas:
        for keyword in ("properties", "required"):
            names = schema.get(keyword)
            if isinstance(names, dict | list):  # else this is part of an example
                found.update(name for name in names if isinstance(name, str))
    return found


def rename_to_safe(
    value: JsonValue, schemas: Iterable[JsonSchema], shapes: Shapes, safe_names: Mapping[str, str]
) -> JsonValue:
    """Return a value with its properties renamed from wire names to safe names.

    `schemas` describe the value; a key that none of them declares stays as it is.
    """
    levels = [level for schema in schemas for level in _iterate_levels(schema, shapes)]
    if isinstance(value, list):
        items = [level.get("items", True) for level in levels]
        return [rename_to_safe(item, items, shapes, safe_names) for item in value]
    if not isinstance(value, dict):
        return value
    declared = _collect_property_names(levels)
    return {
        safe_names.get(name, name) if name in declared else name: rename_to_safe(
            member, _list_member_schemas(name, levels), shapes, safe_names
        )
        for name, member in value.items()
    }


def _iterate_levels(schema: JsonSchema, shapes: Shapes) -> Iterator[JsonObject]:
    """Yield the keywords of a schema and of all its subschemas that apply to the same value."""
    keywords = shapes.of(schema).keywords
    yield keywords
    members = [member for choice in ("anyOf", "oneOf") for member in keywords.get(choice, ())]
    members += [keywords[name] for name in ("not", "if", "then", "else") if name in keywords]
    for member in (*members, *keywords.get("dependentSchemas", {}).values()):
        yield from _iterate_levels(member, shapes)


def _list_member_schemas(name: str, levels: Iterable[JsonObject]) -> list[JsonSchema]:
    return [
        level.get("properties", {}).get(name, level.get("additionalProperties", True))
        for level in levels
    ]
