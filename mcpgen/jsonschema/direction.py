"""JSON Schemas simplified: `allOf` merged, and `readOnly` and `writeOnly` applied by direction."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from mcpgen.jsonschema.references import KEYWORDS_WITH_DATA, find_reference, iterate_parts
from mcpgen.jsonschema.schemas import Schemas
from mcpgen.jsonschema.types import MAPS_OF_SCHEMAS, JsonObject, JsonSchema, JsonValue
from mcpgen.jsonschema.values import find_json_type
from mcpgen.text.json_pointer import json_pointer

DirectionName: TypeAlias = Literal["request", "response"]

_MARKERS: Mapping[DirectionName, str] = {"request": "readOnly", "response": "writeOnly"}
_REFERENCE = re.compile(rb'"#/\$defs/(?:[^"\\]|\\.)*"')  # in JSON
_SAME_VALUE = frozenset({"allOf", "anyOf", "else", "oneOf", "then"})
_AFFECTED = _SAME_VALUE | {"required"}


class Direction:
    """The named schemas of an API, without the properties that are hidden in one direction."""

    def __init__(self, schemas: Schemas, name: DirectionName) -> None:
        self._whole = schemas
        self._marker = _MARKERS[name]
        self._mark = f'"{self._marker}":'.encode()

    @cached_property
    def schemas(self) -> Schemas:
        """The named schemas in this direction, converted on demand.

        If none of them has the keyword, both directions share their compiled schemas.
        """
        if self._mark not in msgspec.json.encode(dict(self._whole.named)):
            return self._whole
        return Schemas(_ConvertedOnDemand(self, self._whole.named), self._whole.bounds)

    def is_hidden(self, schema: JsonSchema) -> bool:
        """Whether a property with this schema does not exist in this direction."""
        if isinstance(schema, bool):
            return False
        if "$ref" not in schema and "allOf" not in schema:
            return schema.get(self._marker) is True
        return any(
            part.get(self._marker) is True for part in iterate_parts(schema, self._whole.named)
        )

    def find_hidden(self, schema: JsonSchema) -> frozenset[str]:
        """Return the names of hidden properties that a schema, its `$ref` or `allOf` declares."""
        return frozenset(
            name
            for part in iterate_parts(schema, self._whole.named)
            for name, declared in part.get("properties", {}).items()
            if self.is_hidden(declared)
        )

    @cached_property
    def _hiding_references(self) -> frozenset[bytes]:
        """The references to definitions that are hidden or declare a hidden property, as JSON."""
        if self.schemas is self._whole:
            return frozenset()
        references = [{"$ref": f"#/$defs{json_pointer((name,))}"} for name in self._whole.named]
        hiding = [it["$ref"] for it in references if self.is_hidden(it) or self.find_hidden(it)]
        return frozenset(map(msgspec.json.encode, hiding))

    def convert(self, schema: JsonSchema) -> JsonSchema:
        """Return `schema` in this direction as `of`; the schema itself if nothing is hidden."""
        text = msgspec.json.encode(schema)
        hiding = self._hiding_references
        is_plain = self._mark not in text and (
            not hiding or hiding.isdisjoint(_REFERENCE.findall(text))
        )
        return schema if is_plain else self.of(schema)

    def of(self, schema: JsonSchema, inherited: frozenset[str] = frozenset()) -> JsonSchema:
        """Return `schema` in this direction; its `$ref`s refer to `schemas`.

        `inherited` names the properties that an enclosing schema of the same value hides.
        """
        if isinstance(schema, bool):
            return schema
        hidden = inherited
        if not _AFFECTED.isdisjoint(schema):
            hidden |= self.find_hidden(schema)
        converted: JsonObject = {}
        for keyword, value in schema.items():
            if keyword == "properties":
                shown = {name: it for name, it in value.items() if not self.is_hidden(it)}
                converted[keyword] = self._convert_values(shown)
            elif keyword == "required":
                converted[keyword] = [name for name in value if name not in hidden]
            elif keyword in KEYWORDS_WITH_DATA:
                converted[keyword] = value
            elif keyword in MAPS_OF_SCHEMAS:
                converted[keyword] = self._convert_values(value)
            else:
                passed_on = hidden if keyword in _SAME_VALUE else frozenset()
                converted[keyword] = self._convert_keyword(value, passed_on)
        return converted

    def _convert_keyword(self, value: JsonValue, inherited: frozenset[str]) -> JsonValue:
        if isinstance(value, dict):
            return self.of(value, inherited)
        if isinstance(value, list):
            return [self.of(part, inherited) if isinstance(part, dict) else part for part in value]
        return value

    def _convert_values(self, schemas: Mapping[str, JsonSchema]) -> JsonObject:
        return {name: self.of(schema) for name, schema in schemas.items()}


class _ConvertedOnDemand(Mapping[str, JsonSchema]):
    """Named schemas in one direction; each is converted when it is first read."""

    def __init__(self, direction: Direction, named: Mapping[str, JsonSchema]) -> None:
        self._direction = direction
        self._named = named
        self._converted: dict[str, JsonSchema] = {}

    def __getitem__(self, name: str) -> JsonSchema:
        if name not in self._converted:
            self._converted[name] = self._direction.convert(self._named[name])
        return self._converted[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._named)

    def __len__(self) -> int:
        return len(self._named)


def join_values(keyword: str, one: JsonValue, other: JsonValue) -> JsonValue | None:
    """Return the value of a keyword that asserts as much as its two values together.

    None: the keyword has no such value, because they contradict each other, because it contains
    schemas, or because it can state only one of them.
    """
    if keyword not in _JOINED:
        return None
    joined = _JOINED[keyword](one, other)
    return None if joined == [] else joined


def intersect(one: JsonSchema, other: JsonSchema) -> JsonSchema:
    """Return a schema that allows what both allow, or False if they contradict each other.

    What no single keyword can assert, such as two patterns, stays in `allOf`. Annotations of
    `one` win.
    """
    if one is False or other is False:
        return False
    if one is True or other is True:
        return other if one is True else one
    both = {**other, **one}
    if one and other:
        _join(one, other, both)
    return False if [] in (both.get("type"), both.get("enum")) else both


def _join(one: JsonObject, other: JsonObject, both: JsonObject) -> None:
    """Join in `both` the keywords that both sides have."""
    for keyword in other.keys() & one.keys():
        if one[keyword] == other[keyword]:
            continue
        join = _JOINED.get(keyword) or _JOINED_SCHEMAS.get(keyword)
        if join is not None:
            both[keyword] = join(one[keyword], other[keyword])
        elif keyword in _ASSERTIONS:
            both["allOf"] = [*both.get("allOf", ()), {keyword: other[keyword]}]
    _join_properties(one, other, both)


def _join_properties(one: JsonObject, other: JsonObject, both: JsonObject) -> None:
    """Join `properties`; what one side does not declare must be additional there."""
    names = {**one.get("properties", {}), **other.get("properties", {})}
    if names:
        both["properties"] = {
            name: intersect(_find_property(one, name), _find_property(other, name))
            for name in names
        }


def _find_property(schema: JsonObject, name: str) -> JsonSchema:
    declared: JsonSchema | None = schema.get("properties", {}).get(name)
    if declared is not None:
        return declared
    if schema.get("patternProperties"):
        return True  # may match one of the patterns; the finished value is checked
    additional: JsonSchema = schema.get("additionalProperties", True)
    return additional


def _join_types(one: JsonValue, other: JsonValue) -> list[str]:
    left, right = _list_types(one), _list_types(other)
    joined = [name for name in left if name in right or (name == "integer" and "number" in right)]
    if "integer" in right and "number" in left and "integer" not in left:
        joined.append("integer")
    return joined


def _list_types(declared: JsonValue) -> list[str]:
    return [declared] if isinstance(declared, str) else list(declared)


def _join_multiples(one: JsonValue, other: JsonValue) -> JsonValue:
    left, right = Fraction(str(one)), Fraction(str(other))
    joined = Fraction(
        lcm(left.numerator * right.denominator, right.numerator * left.denominator),
        left.denominator * right.denominator,
    )
    return int(joined) if joined.denominator == 1 else float(joined)


def _join_prefixes(one: list[Any], other: list[Any]) -> list[Any]:
    longer, shorter = (one, other) if len(one) >= len(other) else (other, one)
    joined = [intersect(left, right) for left, right in zip(longer, shorter, strict=False)]
    return joined + longer[len(shorter) :]


_JOINED: dict[str, Callable[[Any, Any], JsonValue]] = {
    "type": _join_types,
    "enum": lambda one, other: [value for value in one if value in other],
    "required": lambda one, other: list(dict.fromkeys([*one, *other])),
    **dict.fromkeys(("minimum", "exclusiveMinimum"), max),
    **dict.fromkeys(("minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum"), min),
    **dict.fromkeys(("maxLength", "maxItems", "maxProperties"), min),
    "multipleOf": _join_multiples,
    "uniqueItems": lambda one, other: one or other,
}
_JOINED_SCHEMAS: dict[str, Callable[[Any, Any], JsonValue]] = {
    "items": intersect,
    "prefixItems": _join_prefixes,
    "additionalProperties": intersect,
    "allOf": lambda one, other: [*one, *other],
}
_ASSERTIONS = frozenset(
    {"const", "contains", "dependentSchemas", "format", "not", "pattern", "patternProperties"}
)


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
        name = find_reference(schema) if "$ref" in schema else ""
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
        hidden = self.direction.find_hidden(schema)
        if not hidden and "allOf" not in schema and "const" not in schema:
            return Shape(schema, is_exact=True)
        own = {key: value for key, value in schema.items() if key not in ("allOf", "const")}
        if "const" in schema:
            own["enum"] = [schema["const"]]
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
