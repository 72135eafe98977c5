"""Shapes: one level of a schema, with references resolved, `allOf` merged, for one direction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from msgspec import Struct

from mcpgen.jsonschema.references import find_reference
from mcpgen.jsonschema.types import JsonObject, JsonSchema, JsonValue

Direction = Literal["request", "response"]
_SIZES_LOW = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"})
_SIZES_HIGH = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"})
_ABOUT = frozenset(
    {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "xml"}
)
_CHOICES = ("anyOf", "oneOf")
_MAX_REFERENCES = 64


class Shape(Struct, frozen=True):
    """One level of a schema: `keywords` without `$ref` and `allOf`; its children are raw schemas.

    `is_exact` is False where merging said less than the schema does.
    """

    keywords: JsonObject
    is_exact: bool

    @property
    def types(self) -> tuple[str, ...]:
        """The types that are allowed, told or plain from the other keywords; () is any."""
        told = self.keywords.get("type")
        if isinstance(told, str):
            return (told,)
        if isinstance(told, list):
            return tuple(told)
        if "enum" in self.keywords:
            return tuple(dict.fromkeys(json_type(value) for value in self.keywords["enum"]))
        if "properties" in self.keywords or "additionalProperties" in self.keywords:
            return ("object",)
        return ("array",) if "items" in self.keywords else ()


def json_type(value: JsonValue) -> str:
    """The JSON Schema type of a value; whole numbers are integers."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


class Shapes:
    """The definitions of an API, as a request or a response shows them."""

    def __init__(self, schemas: Mapping[str, JsonSchema], direction: Direction) -> None:
        self.schemas = schemas
        self.direction = direction
        self._hidden = "readOnly" if direction == "request" else "writeOnly"
        self._named: dict[str, Shape] = {}

    def of(self, schema: JsonSchema) -> Shape:
        """The shape of `schema`, which may be a reference."""
        if not isinstance(schema, dict):
            return Shape({} if schema else {"not": {}}, is_exact=True)
        name = find_reference(schema)
        if not name:
            return self._of_object(schema)
        base = self._of_name(name)
        if len(schema) == 1:
            return base
        own = self._of_object({key: value for key, value in schema.items() if key != "$ref"})
        return _merge(base, own)

    def _of_name(self, name: str) -> Shape:
        found = self._named.get(name)
        if found is None:
            self._named[name] = Shape({}, is_exact=False)  # what a circle in place comes to
            found = self._named[name] = self.of(self.schemas.get(name, {}))
        return found

    def _of_object(self, schema: JsonObject) -> Shape:
        own = schema
        if "const" in own:
            own = {key: value for key, value in own.items() if key != "const"}
            own["enum"] = [schema["const"]]
        properties = own.get("properties")
        if properties and any(self.is_hidden(value) for value in properties.values()):
            own = self._without_hidden(own)
        members = own.get("allOf")
        if not members:
            return Shape(own, is_exact=True)
        own = {key: value for key, value in own.items() if key != "allOf"}
        merged = self.of(members[0])
        if len(members) == 1 or own:
            # What one member says about itself is no description of the whole.
            merged = Shape(dict(merged.keywords), merged.is_exact)
        for member in members[1:]:
            merged = _merge(merged, self.of(member))
        if own:
            merged = _merge(merged, Shape(own, is_exact=True))
        return self._consistent(merged)

    def _without_hidden(self, schema: JsonObject) -> JsonObject:
        kept: JsonObject = {}
        hidden: JsonObject = {}
        for name, value in schema["properties"].items():
            (hidden if self.is_hidden(value) else kept)[name] = value
        seen = {**schema, "properties": kept, _HIDDEN: sorted(hidden)}
        required = [name for name in schema.get("required", ()) if name not in hidden]
        seen.pop("required", None)
        if required:
            seen["required"] = required
        return seen

    @staticmethod
    def _consistent(shape: Shape) -> Shape:
        """`shape` without requirements for properties that another member hides."""
        hidden = shape.keywords.get(_HIDDEN)
        if not hidden or not set(hidden) & set(shape.keywords.get("required", ())):
            return shape
        keywords = dict(shape.keywords)
        keywords["required"] = [name for name in keywords["required"] if name not in hidden]
        return Shape(keywords, shape.is_exact)

    def is_hidden(self, schema: JsonSchema) -> bool:
        """Whether a property with this schema does not exist in this direction."""
        for _ in range(_MAX_REFERENCES):
            if not isinstance(schema, dict):
                return False
            if schema.get(self._hidden) is True:
                return True
            name = find_reference(schema)
            if not name:
                members = schema.get("allOf")
                if not (isinstance(members, list) and len(members) == 1):
                    return False
                schema = members[0]
            else:
                schema = self.schemas.get(name, {})
        return False


_HIDDEN = "x-hidden"
"""Names that were removed, so that another member's `required` can follow. Never shown."""


def _merge(base: Shape, own: Shape) -> Shape:
    """Both at once; where the two only describe, `own` wins."""
    if not base.keywords:
        return Shape(own.keywords, base.is_exact and own.is_exact)
    merged = dict(base.keywords)
    is_exact = base.is_exact and own.is_exact
    for keyword, value in own.keywords.items():
        if keyword not in merged or merged[keyword] == value or keyword in _ABOUT:
            merged[keyword] = value
            continue
        combine = _COMBINE.get(keyword)
        if combine is None:
            is_exact = False
            if keyword not in _CHOICES:  # of two choices, the first is shown
                merged[keyword] = value
        else:
            merged[keyword], exactly = combine(merged[keyword], value)
            is_exact = is_exact and exactly
    return Shape(merged, is_exact)


_Combined = tuple[JsonValue, bool]


def _both_types(first: JsonValue, second: JsonValue) -> _Combined:
    one = [first] if isinstance(first, str) else first
    two = [second] if isinstance(second, str) else second
    common = [name for name in one if name in two or (name == "integer" and "number" in two)]
    common += [name for name in two if name == "integer" and "number" in one and name not in one]
    if not common:
        return second, False
    return (common[0] if len(common) == 1 else common), True


def _both_enums(first: JsonValue, second: JsonValue) -> _Combined:
    common = [value for value in first if value in second]
    return (common, True) if common else (second, False)


def _both_required(first: JsonValue, second: JsonValue) -> _Combined:
    return list(dict.fromkeys((*first, *second))), True


def _both_properties(first: JsonValue, second: JsonValue) -> _Combined:
    merged = dict(first)
    is_exact = True
    for name, schema in second.items():
        if name in merged and merged[name] != schema:
            merged[name], exactly = _both_schemas(merged[name], schema)
            is_exact = is_exact and exactly
        else:
            merged[name] = schema
    return merged, is_exact


def _both_schemas(first: JsonSchema, second: JsonSchema) -> _Combined:
    """One schema for both; of two that go deep, the second, so that merging always ends."""
    if first is True or first == {}:
        return second, True
    if second is True or second == {}:
        return first, True
    if _is_flat(first) or _is_flat(second):
        return {"allOf": [first, second]}, True
    return second, False


def _is_flat(schema: JsonSchema) -> bool:
    if not isinstance(schema, dict):
        return True
    return not any(
        keyword in schema
        for keyword in (
            "$ref",
            "allOf",
            "anyOf",
            "oneOf",
            "properties",
            "items",
            "additionalProperties",
        )
    )


def _both_additional(first: JsonValue, second: JsonValue) -> _Combined:
    if first is False or second is False:
        return False, False  # closed over the union, which is what its writer meant
    return _both_schemas(first, second)


_COMBINE: dict[str, Callable[[JsonValue, JsonValue], _Combined]] = {
    "type": _both_types,
    "enum": _both_enums,
    "required": _both_required,
    _HIDDEN: _both_required,
    "properties": _both_properties,
    "items": _both_schemas,
    "additionalProperties": _both_additional,
    **dict.fromkeys(_SIZES_LOW, lambda first, second: (max(first, second), True)),
    **dict.fromkeys(_SIZES_HIGH, lambda first, second: (min(first, second), True)),
}
