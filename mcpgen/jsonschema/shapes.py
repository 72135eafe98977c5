"""Shapes: one level of a schema for display, with `$ref` and `allOf` merged, in one direction."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from mcpgen.jsonschema.direction import Direction, DirectionName
from mcpgen.jsonschema.merging import join_values
from mcpgen.jsonschema.references import find_reference
from mcpgen.jsonschema.schemas import Schemas, find_json_type
from mcpgen.jsonschema.types import JsonObject, JsonSchema, JsonValue

_ANNOTATIONS = frozenset(
    {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "xml"}
)
_CHANGED = frozenset({"allOf", "const", "properties"})
_CHOICES = ("anyOf", "oneOf")
_NESTING = frozenset({"properties", "items", "additionalProperties", "anyOf", "oneOf"})
_DEEP = _NESTING | {"$ref", "allOf"}


class Shape(Struct, frozen=True):
    """One level of a schema: `keywords` without `$ref`, `allOf` and `const`.

    Schemas inside `keywords` are those of the document, unmerged. `is_exact` is False if
    `keywords` allow other values than the schema.
    """

    keywords: JsonObject
    is_exact: bool

    @property
    def can_nest(self) -> bool:
        """Whether it can have nested shapes."""
        return not _NESTING.isdisjoint(self.keywords)

    @property
    def types(self) -> tuple[str, ...]:
        """The allowed types, declared or implied by other keywords; () if any type is allowed."""
        declared = self.keywords.get("type")
        if isinstance(declared, str):
            return (declared,)
        if isinstance(declared, list):
            return tuple(declared)
        if "enum" in self.keywords:
            return tuple(dict.fromkeys(find_json_type(value) for value in self.keywords["enum"]))
        if "properties" in self.keywords or "additionalProperties" in self.keywords:
            return ("object",)
        return ("array",) if "items" in self.keywords else ()


class Shapes:
    """The shapes of an API's schemas, without the properties that are hidden in one direction."""

    def __init__(self, schemas: Mapping[str, JsonSchema], direction: DirectionName) -> None:
        self.schemas = schemas
        self.direction = Direction(Schemas(schemas), direction)
        self._named: dict[str, Shape] = {}

    def of(self, schema: JsonSchema) -> Shape:
        """Return the shape of `schema`, which may be a reference."""
        if not isinstance(schema, dict):
            return Shape({} if schema else {"not": {}}, is_exact=True)
        name = find_reference(schema)
        if not name:
            return self._of_object(schema)
        base = self._of_name(name)
        if len(schema) == 1:
            return base
        return _merge(base, self._of_object({key: schema[key] for key in schema if key != "$ref"}))

    def _of_name(self, name: str) -> Shape:
        found = self._named.get(name)
        if found is None:
            self._named[name] = Shape({}, is_exact=False)  # of a schema that only refers to itself
            found = self._named[name] = self.of(self.schemas.get(name, {}))
        return found

    def _of_object(self, schema: JsonObject) -> Shape:
        if _CHANGED.isdisjoint(schema):
            return Shape(schema, is_exact=True)
        own = {key: value for key, value in schema.items() if key not in ("allOf", "const")}
        if "const" in schema:
            own["enum"] = [schema["const"]]
        hidden = self.direction.find_hidden(schema)
        if hidden and "properties" in own:
            own["properties"] = {
                name: declared
                for name, declared in own["properties"].items()
                if not self.direction.is_hidden(declared)
            }
        members = schema.get("allOf")
        if not members:
            return _drop_requirements(Shape(own, is_exact=True), hidden)
        merged = self.of(members[0])
        for member in members[1:]:
            merged = _merge(merged, self.of(member))
        if own:
            merged = _merge(merged, Shape(own, is_exact=True))
        return _drop_requirements(merged, hidden)


def _drop_requirements(shape: Shape, hidden: frozenset[str]) -> Shape:
    """Return `shape` without requirements for hidden properties."""
    if hidden.isdisjoint(shape.keywords.get("required", ())):
        return shape
    required = [name for name in shape.keywords["required"] if name not in hidden]
    return Shape({**shape.keywords, "required": required}, shape.is_exact)


def _merge(base: Shape, own: Shape) -> Shape:
    """Merge two shapes of the same value; of annotations and contradictions, `own` wins."""
    if not base.keywords:
        return Shape(own.keywords, base.is_exact and own.is_exact)
    merged = dict(base.keywords)
    is_exact = base.is_exact and own.is_exact
    for keyword, value in own.keywords.items():
        if keyword not in merged or merged[keyword] == value or keyword in _ANNOTATIONS:
            merged[keyword] = value
        elif keyword not in _CHOICES:
            merged[keyword], exactly = _merge_values(keyword, merged[keyword], value)
            is_exact = is_exact and exactly
        else:
            is_exact = False  # the first choice is shown
    return Shape(merged, is_exact)


def _merge_values(keyword: str, first: JsonValue, second: JsonValue) -> tuple[JsonValue, bool]:
    """Return the merged value of a keyword, and whether it asserts what both values assert."""
    if keyword == "properties":
        return _merge_properties(first, second)
    if keyword == "items":
        return _merge_schemas(first, second)
    if keyword == "additionalProperties":
        if first is False or second is False:
            return False, False  # closed over the properties of both, as its author meant
        return _merge_schemas(first, second)
    joined = join_values(keyword, first, second)
    return (second, False) if joined is None else (joined, True)


def _merge_properties(first: JsonObject, second: JsonObject) -> tuple[JsonObject, bool]:
    merged = {**first, **second}
    is_exact = True
    for name in first.keys() & second.keys():
        if first[name] != second[name]:
            merged[name], exactly = _merge_schemas(first[name], second[name])
            is_exact = is_exact and exactly
    return merged, is_exact


def _merge_schemas(first: JsonSchema, second: JsonSchema) -> tuple[JsonSchema, bool]:
    """Return one schema for both; of two deep ones, the second, so that merging always ends."""
    if first is True or first == {}:
        return second, True
    if second is True or second == {}:
        return first, True
    if _is_flat(first) or _is_flat(second):
        return {"allOf": [first, second]}, True
    return second, False


def _is_flat(schema: JsonSchema) -> bool:
    return isinstance(schema, bool) or _DEEP.isdisjoint(schema)
