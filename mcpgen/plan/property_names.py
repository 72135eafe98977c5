"""Names of properties inside arguments: offered as every client takes them, sent as they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from mcpgen.ir.api import Api, Operation
from mcpgen.ir.json_types import JsonObject, JsonSchema, JsonValue
from mcpgen.plan.naming import property_names
from mcpgen.plan.references import reached
from mcpgen.plan.shapes import Shapes


def offered_names(api: Api) -> dict[str, str]:
    """What the properties that some clients refuse are called instead, by their wire names.

    A name means the same in the whole API, so that schemas stay shared and a choice between
    objects never makes one ambiguous.
    """
    values = [schema for operation in api.operations for schema in _requested(operation)]
    return property_names(_declared(reached(values, api.schemas)))


def _requested(operation: Operation) -> Iterable[JsonValue]:
    for parameter in operation.parameters:
        yield parameter.schema
    if operation.request_body is not None:
        for item in operation.request_body.content:
            yield item.schema
            yield item.item_schema


def wire_names(schema: JsonObject, offered: Mapping[str, str]) -> dict[str, str]:
    """The wire names behind the offered ones inside a tool's arguments, by the latter."""
    if not offered:
        return {}
    declared = _declared(reached([*schema["properties"].values(), schema.get("$defs")], {}))
    return {name: wire for wire, name in sorted(offered.items()) if name in declared}


def _declared(schemas: Iterable[JsonObject]) -> set[str]:
    """The names of all properties that these schemas tell of."""
    found: set[str] = set()
    for schema in schemas:
        for keyword in ("properties", "required"):
            names = schema.get(keyword)
            if isinstance(names, dict | list):  # else it stands inside an example
                found.update(name for name in names if isinstance(name, str))
    return found


def as_offered(
    value: JsonValue, schemas: Iterable[JsonSchema], shapes: Shapes, offered: Mapping[str, str]
) -> JsonValue:
    """A value in the API's own names as a caller of a tool spells it; `schemas` describe it."""
    levels = [level for schema in schemas for level in _levels(schema, shapes)]
    if isinstance(value, list):
        items = [level.get("items", True) for level in levels]
        return [as_offered(item, items, shapes, offered) for item in value]
    if not isinstance(value, dict):
        return value
    declared = _declared(levels)
    return {
        offered.get(name, name) if name in declared else name: as_offered(
            member, _of_member(name, levels), shapes, offered
        )
        for name, member in value.items()
    }


def _levels(schema: JsonSchema, shapes: Shapes) -> Iterator[JsonObject]:
    """What may be said of one value: by its schema, and by each that is held against it."""
    keywords = shapes.of(schema).keywords
    yield keywords
    members = [member for choice in ("anyOf", "oneOf") for member in keywords.get(choice, ())]
    members += [keywords[name] for name in ("not", "if", "then", "else") if name in keywords]
    for member in (*members, *keywords.get("dependentSchemas", {}).values()):
        yield from _levels(member, shapes)


def _of_member(name: str, levels: Iterable[JsonObject]) -> list[JsonSchema]:
    return [
        level.get("properties", {}).get(name, level.get("additionalProperties", True))
        for level in levels
    ]
