"""What `anyOf` and `oneOf` list, taken apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from mcpgen.changelog.schema_references import SAYS_NOTHING
from mcpgen.changelog.schema_values import ALL_KINDS, format_value, kinds, list_allowed
from mcpgen.jsonschema.types import JsonObject, JsonSchema


def alternatives(schema: JsonObject) -> Sequence[JsonSchema] | None:
    """What `anyOf` lists, or else `oneOf`; None where neither is there."""
    listed: Sequence[JsonSchema] | None = schema.get("anyOf", schema.get("oneOf"))
    return listed


def is_exclusive(schema: JsonObject) -> bool:
    """Whether a value must fit exactly one of the alternatives (`oneOf`)."""
    return "oneOf" in schema and "anyOf" not in schema


def is_apart(schemas: Iterable[JsonObject]) -> bool:
    """Whether no value fits two of these schemas."""
    return all(_is_disjoint(one, other) for one, other in combinations(schemas, 2))


def without_alternatives(schema: JsonObject) -> JsonObject:
    """All that a schema says beside what `alternatives` gives."""
    keyword = "anyOf" if "anyOf" in schema else "oneOf"
    return {key: value for key, value in schema.items() if key != keyword}


def split_by_type(schema: JsonObject) -> list[JsonSchema]:
    """A schema that names several types, as one for each; what tells people of it left out."""
    bare = {key: value for key, value in schema.items() if key not in SAYS_NOTHING}
    named = bare.get("type")
    return [bare] if not isinstance(named, list) else [{**bare, "type": name} for name in named]


def label(schema: JsonObject, written: JsonSchema) -> str:
    """What one alternative is called: `schema` is resolved, `written` as it stands in the list."""
    if isinstance(written, dict) and isinstance(written.get("$ref"), str):
        return f"`{written['$ref'].rpartition('/')[2]}`"
    if isinstance(schema.get("title"), str):
        return f"`{schema['title']}`"
    for name, member in sorted(schema.get("properties", {}).items()):
        if isinstance(member, dict) and "const" in member:
            return f"what has the `{name}` {format_value(member['const'])}"
    if "const" in schema:
        return format_value(schema["const"])
    found = kinds(schema)
    return "anything" if found == ALL_KINDS else " or ".join(sorted(found)) or "nothing"


def _is_disjoint(one: JsonObject, other: JsonObject) -> bool:
    """Whether no value fits both; False where that cannot be told by types and constants."""
    if not kinds(one) & kinds(other):
        return True
    if kinds(one) != {"object"} or kinds(other) != {"object"}:
        values, others = list_allowed(one), list_allowed(other)
        return values is not None and others is not None and not values.keys() & others.keys()
    return any(
        _are_apart(one["properties"][name], other["properties"].get(name))
        for name in {*one.get("required", ())} & {*other.get("required", ())}
        if name in one.get("properties", {}) and name in other.get("properties", {})
    )


def _are_apart(one: JsonSchema, other: JsonSchema) -> bool:
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return False
    values, others = list_allowed(one), list_allowed(other)
    return values is not None and others is not None and not values.keys() & others.keys()
