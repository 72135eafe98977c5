"""What a schema says of one of a value's parts: how it travels, and what it is called.

Schemas are as contracts have them: 2020-12, with what they refer to under `$defs` of the root. A
part is described by several schemas at once, since `$ref`, `allOf`, `anyOf`, `oneOf` and
conditions join them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from mcpgen.runtime.content import JsonObject

Described: TypeAlias = Sequence[JsonObject]
"""The schemas of one part; what stands nearer to the part comes first."""


def described(schema: Any, root: JsonObject) -> Described:
    """A schema and all that it is made of."""
    return list(_branches(schema, root, frozenset()))


def property_of(whole: Described, name: str, root: JsonObject) -> Described:
    """What is said of the member `name` of an object."""
    found: list[JsonObject] = []
    for branch in whole:
        properties = branch.get("properties", {})
        if name in properties:
            found += described(properties[name], root)
            continue
        for schema in branch.get("patternProperties", {}).values():
            found += described(schema, root)
        found += described(branch.get("additionalProperties"), root)
    return found


def is_declared(whole: Described, name: str) -> bool:
    """Whether an object is said to have the member `name`."""
    return any(
        name in branch.get("properties", ()) or name in branch.get("required", ())
        for branch in whole
    )


def items_of(whole: Described, root: JsonObject) -> Described:
    """What is said of the items of an array."""
    schemas = [
        schema
        for branch in whole
        for schema in (*branch.get("prefixItems", ()), branch.get("items"))
    ]
    return [inner for schema in schemas for inner in described(schema, root)]


def item_at(whole: Described, index: int, root: JsonObject) -> Described:
    """What is said of one item of an array."""
    found: list[JsonObject] = []
    for branch in whole:
        prefix = branch.get("prefixItems", ())
        schema = prefix[index] if index < len(prefix) else branch.get("items")
        found += described(schema, root)
    return found


def _branches(schema: Any, root: JsonObject, seen: frozenset[str]) -> Iterator[JsonObject]:
    if not isinstance(schema, dict):
        return
    yield schema
    name = _referred_name(schema)
    if name and name not in seen:
        yield from _branches(root.get("$defs", {}).get(name), root, seen | {name})
    for keyword in ("allOf", "anyOf", "oneOf"):
        for branch in schema.get(keyword, ()):
            yield from _branches(branch, root, seen)
    conditional = [schema[keyword] for keyword in ("if", "then", "else") if keyword in schema]
    for branch in (*conditional, *schema.get("dependentSchemas", {}).values()):
        yield from _branches(branch, root, seen)


def _referred_name(schema: Any) -> str:
    """The definition that a schema refers to, or ""."""
    reference = schema.get("$ref", "") if isinstance(schema, dict) else ""
    if not reference.startswith("#/$defs/"):
        return ""
    name: str = reference.removeprefix("#/$defs/")
    return name.replace("~1", "/").replace("~0", "~")
