"""Lookup of the schemas that describe one part of a body, for multipart and XML serialization.

Schemas are those of contracts: dialect 2020-12, with `$defs` in the root. Several schemas can
describe a part at once, because `$ref`, `allOf`, `anyOf`, `oneOf` and conditions combine them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from mcpgen.jsonschema.references import find_reference
from mcpgen.runtime.content import JsonObject

PartSchemas: TypeAlias = Sequence[JsonObject]
"""The schemas that describe one part; the most direct one comes first."""


def describe(schema: Any, root: JsonObject) -> PartSchemas:
    """Return a schema and all its subschemas for the same part."""
    return _describe_all((schema,), root)


def find_property(whole: PartSchemas, name: str, root: JsonObject) -> PartSchemas:
    """Return the schemas of the member `name` of an object."""
    schemas: list[Any] = []
    for branch in whole:
        properties = branch.get("properties", {})
        if name in properties:
            schemas.append(properties[name])
            continue
        schemas += branch.get("patternProperties", {}).values()
        schemas.append(branch.get("additionalProperties"))
    return _describe_all(schemas, root)


def is_declared(whole: PartSchemas, name: str) -> bool:
    """Return whether the schemas declare the member `name`."""
    return any(
        name in branch.get("properties", ()) or name in branch.get("required", ())
        for branch in whole
    )


def find_items(whole: PartSchemas, root: JsonObject) -> PartSchemas:
    """Return the schemas of all items of an array."""
    schemas = [
        schema
        for branch in whole
        for schema in (*branch.get("prefixItems", ()), branch.get("items"))
    ]
    return _describe_all(schemas, root)


def find_item_at(whole: PartSchemas, index: int, root: JsonObject) -> PartSchemas:
    """Return the schemas of one item of an array."""
    schemas: list[Any] = []
    for branch in whole:
        prefix = branch.get("prefixItems", ())
        schemas.append(prefix[index] if index < len(prefix) else branch.get("items"))
    return _describe_all(schemas, root)


def _describe_all(schemas: Iterable[Any], root: JsonObject) -> PartSchemas:
    """Return schemas and their subschemas for the same part, each once."""
    found: dict[int, JsonObject] = {}
    for schema in schemas:
        _collect(schema, root, found)
    return list(found.values())


def _collect(schema: Any, root: JsonObject, found: dict[int, JsonObject]) -> None:
    if not isinstance(schema, dict) or id(schema) in found:
        return
    found[id(schema)] = schema
    if name := find_reference(schema):
        _collect(root.get("$defs", {}).get(name), root, found)
    for keyword in ("allOf", "anyOf", "oneOf"):
        for branch in schema.get(keyword, ()):
            _collect(branch, root, found)
    conditional = [schema[keyword] for keyword in ("if", "then", "else") if keyword in schema]
    for branch in (*conditional, *schema.get("dependentSchemas", {}).values()):
        _collect(branch, root, found)
