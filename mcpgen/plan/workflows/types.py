"""Schemas of the values that flow through a workflow, as far as the document describes them."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from mcpgen.diagnostics import did_you_mean
from mcpgen.ir.api import Operation
from mcpgen.ir.workflow import ListOf, Literal, ObjectOf, Value
from mcpgen.jsonschema.direction import Shape, Shapes
from mcpgen.jsonschema.schemas import find_json_type
from mcpgen.jsonschema.types import JsonSchema, JsonValue
from mcpgen.plan.schemas.tool_schema import list_response_schemas
from mcpgen.text.json_pointer import pointer_tokens


class NothingThereError(ValueError):
    """A JSON Pointer that no value of a schema has; the message states what exists instead."""


class Known(Struct, frozen=True):
    """A schema and the definitions that it refers to."""

    schema: JsonSchema
    shapes: Shapes

    @property
    def shape(self) -> Shape:
        """The shape of the schema."""
        return self.shapes.of(self.schema)

    @property
    def types(self) -> frozenset[str]:
        """The allowed JSON types; empty if any is allowed."""
        return frozenset(self.shape.types)

    def at(self, pointer: str) -> Known:
        """Return the part at a JSON Pointer.

        Raises:
            NothingThereError: no valid value has this part.
        """
        known = self
        for token in pointer_tokens(pointer):
            known = replace(known, schema=_find_child(known.shape, token))
        return known


def _find_child(shape: Shape, token: str) -> JsonSchema:
    keywords = shape.keywords
    if {"anyOf", "oneOf", "patternProperties"} & keywords.keys():
        return True
    types = set(shape.types)
    if types and not types & {"object", "array"}:
        raise NothingThereError(f"a value of type {' or '.join(sorted(types))} has no members")
    properties = keywords.get("properties", {})
    if token in properties:
        schema: JsonSchema = properties[token]
        if schema is False:
            raise NothingThereError(f"`{token}` must be left out")
        return schema
    if token.isdecimal() and "object" not in types:
        items: JsonSchema = keywords.get("items", True)
        return items
    if types == {"array"}:
        raise NothingThereError(f"a list has no member `{token}`; `/0` is its first item")
    extra: JsonSchema = keywords.get("additionalProperties", not properties)
    if extra is False:
        hint = did_you_mean(token, properties, f"it has {_format_names(properties)}")
        raise NothingThereError(f"there is no member `{token}`; {hint}")
    return extra


def _format_names(names: Mapping[str, object]) -> str:
    shown = [f"`{name}`" for name in sorted(names)[:8]]
    return ", ".join(shown) or "none"


ANYTHING = Known(True, Shapes({}, "response"))


def find_response_schema(operation: Operation, shapes: Shapes) -> Known:
    """Return the schema of the body of a successful response."""
    found, is_sure = list_response_schemas(operation)
    return Known(found[0], shapes) if len(found) == 1 and is_sure else ANYTHING


def describe_mismatch(types: frozenset[str], wanted: frozenset[str]) -> str:
    """Describe why no value of some types can be of others; "" if one can, or if unknown."""
    if not types or not wanted or types & wanted:
        return ""
    if ("number" in wanted and "integer" in types) or ("integer" in wanted and "number" in types):
        return ""
    return f"it is {_format_types(types)}, and {_format_types(wanted)} is wanted"


def _format_types(types: frozenset[str]) -> str:
    named = sorted(types - {"null"}) or ["null"]
    return " or ".join(f"{'an' if name[0] in 'aeiou' else 'a'} {name}" for name in named)


def read_literal(value: Value) -> tuple[bool, JsonValue]:
    """Whether a value has no expressions in it, and what it is then."""
    match value:
        case Literal(value=plain):
            return True, plain
        case ListOf(items=items):
            found = [read_literal(item) for item in items]
            return all(is_plain for is_plain, _ in found), [plain for _, plain in found]
        case ObjectOf(members=members):
            named = {name: read_literal(item) for name, item in members}
            is_plain = all(is_plain for is_plain, _ in named.values())
            return is_plain, {name: plain for name, (_, plain) in named.items()}
        case _:
            return False, None


def list_literal_types(value: Literal | ListOf | ObjectOf) -> frozenset[str]:
    """Return the JSON types of a literal value."""
    match value:
        case ListOf():
            return frozenset({"array"})
        case ObjectOf():
            return frozenset({"object"})
        case Literal(value=plain):
            return frozenset({find_json_type(plain)})
