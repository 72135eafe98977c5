"""JSON Schemas reduced to what a `TypedDict` can say, nested objects lifted out and named.

What comes out has few forms, so that what is made of it can be proven: an object with properties
(at the top of a definition only), a map, an array, a union, a reference, an enumeration, a simple
type, or anything at all. No bounds, patterns, defaults or prose; properties by name.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from mcpgen.jsonschema.types import JsonObject, JsonSchema
from mcpgen.text.identifiers import Identifier, pascal_case

Shape: TypeAlias = dict[str, Any]

ANYTHING: Final[Shape] = {}
NULL: Final[Shape] = {"type": "null"}
_SIMPLE_TYPES = frozenset({"string", "integer", "number", "boolean", "null"})
_LONGEST_NAME = 80
_MOST_NESTING = 40
_MOST_LIFTED = 500  # out of one definition, so that nested `allOf`s cannot multiply without end
_PREFIX = "#/$defs/"
_SURROGATE = re.compile("[\ud800-\udfff]")
_ALTERNATIVES = frozenset({"anyOf", "oneOf", "enum", "const"})
_SHOWN = _ALTERNATIVES.union(
    ("$ref", "additionalProperties", "allOf", "items", "properties", "required", "type")
)


def reduce_definitions(
    definitions: Mapping[Identifier, JsonSchema], taken: Iterable[str] = ()
) -> tuple[dict[str, Shape], dict[str, str]]:
    """Reduce schemas to shapes; nested objects become definitions of their own.

    A lifted object is called after the class and the properties that lead to it, so that its name
    changes only when its place does; names in `taken` are left to others. Gives the shapes, and
    for each the definition that it came out of.
    """
    reducer = _Reducer(definitions, set(taken) | set(definitions))
    origin: dict[str, str] = {}
    for name in sorted(definitions):
        reducer.define(name, definitions[name])
        origin |= dict.fromkeys(reducer.shapes.keys() - origin.keys(), name)
    return reducer.shapes, origin


class _Reducer:
    def __init__(self, definitions: Mapping[Identifier, JsonSchema], taken: set[str]) -> None:
        self.shapes: dict[str, Shape] = {}
        self._definitions = definitions
        self._taken = taken
        self._lifted = 0
        self._flattened: dict[str, JsonObject | None] = {}

    def define(self, name: str, schema: JsonSchema) -> None:
        """Put the shape of `schema` under `name`."""
        self._lifted = 0
        schema = _sole_part(schema)
        lifted = self._object(name, schema, 0)
        if lifted is None:
            is_mixed = isinstance(schema, dict) and isinstance(schema.get("type"), list)
            lifted = self._shape(f"{name}Object" if is_mixed else name, schema, 0)
        self.shapes[name] = lifted

    def _object(self, name: str, schema: JsonSchema, depth: int) -> Shape | None:
        """Give the shape of an object with properties, or None when `schema` is something else."""
        if not isinstance(schema, dict) or "$ref" in schema or depth > _MOST_NESTING:
            return None
        merged = self._merged(schema)
        if merged is None or not merged["properties"]:
            return None
        types = merged.get("type", "object")
        if types != "object" and types != ["object"]:
            return None
        properties = {
            key: self._nested(name + (pascal_case(key) or "Value"), value, depth + 1)
            for key, value in sorted(merged["properties"].items())
            if _is_text(key)
        }
        required = sorted(set(merged["required"]) & set(properties))
        return {"type": "object", "properties": properties, "required": required}

    def _merged(self, schema: JsonSchema) -> JsonObject | None:
        """Flatten `allOf` into one set of properties; None when a part is no object."""
        if not isinstance(schema, dict):
            return None
        reference = _referred(schema)
        if reference is not None:
            return self._merged_reference(reference)
        merged: JsonObject = {
            "properties": dict(schema.get("properties") or {}),
            "required": list(schema.get("required") or ()),
        }
        if "type" in schema:
            merged["type"] = schema["type"]
        elif not merged["properties"] and _ALTERNATIVES.intersection(schema):
            return None
        for part in schema.get("allOf") or ():
            inner = self._merged(part)
            if inner is not None:
                _add_part(merged, inner)
            elif not _says_nothing(part):
                return None
        return merged

    def _merged_reference(self, reference: str) -> JsonObject | None:
        if reference not in self._flattened and reference in self._definitions:
            self._flattened[reference] = None  # what refers to itself through `allOf` is no object
            definition = self._definitions[Identifier(reference)]
            self._flattened[reference] = self._merged(definition)
        return self._flattened.get(reference)

    def _nested(self, name: str, schema: JsonSchema, depth: int) -> Shape:
        """Give a shape to stand inside another: an object is lifted out and referred to."""
        schema = _sole_part(schema)
        if not isinstance(schema, dict) or depth > _MOST_NESTING or self._lifted > _MOST_LIFTED:
            return ANYTHING
        types = schema.get("type")
        if isinstance(types, list) and len(types) > 1:
            return union(
                self._nested(name, {**schema, "type": each}, depth) for each in sorted(types)
            )
        if schema.get("nullable") is True:
            bare = {key: value for key, value in schema.items() if key != "nullable"}
            return union([self._nested(name, bare, depth), NULL])
        self._lifted += 1
        lifted_name = self._free_name(name)
        self._taken.add(lifted_name)  # before what is nested in it looks for names
        lifted = self._object(lifted_name, schema, depth)
        if lifted is None:
            self._taken.discard(lifted_name)
            return self._shape(name, schema, depth)
        self.shapes[lifted_name] = lifted
        return {"$ref": _PREFIX + lifted_name}

    def _free_name(self, name: str) -> str:
        if len(name) > _LONGEST_NAME:
            digest = hashlib.sha256(name.encode()).hexdigest()[:8]
            name = name[: _LONGEST_NAME - 8] + digest.upper()
        free, number = name, 2
        while free in self._taken:
            free, number = f"{name}{number}", number + 1
        return free

    def _shape(self, name: str, schema: JsonSchema, depth: int) -> Shape:
        if not isinstance(schema, dict) or depth > _MOST_NESTING:
            return ANYTHING
        reference = _referred(schema)
        if reference is not None:
            return {"$ref": _PREFIX + reference} if reference in self._definitions else ANYTHING
        if "const" in schema or "enum" in schema:
            return _enumeration(schema)
        for keyword in ("oneOf", "anyOf"):
            if alternatives := schema.get(keyword):
                return union(
                    self._nested(f"{name}Option{number}", alternative, depth + 1)
                    for number, alternative in enumerate(alternatives, start=1)
                )
        if not all(_says_nothing(part) for part in schema.get("allOf") or ()):
            return ANYTHING
        return self._of_type(name, schema, depth)

    def _of_type(self, name: str, schema: JsonObject, depth: int) -> Shape:
        match schema.get("type"):
            case str(simple) if simple in _SIMPLE_TYPES:
                return {"type": simple}
            case "array":
                if "prefixItems" in schema:
                    return {"type": "array", "items": ANYTHING}
                items = self._nested(f"{name}Item", schema.get("items", True), depth + 1)
                return {"type": "array", "items": items}
            case "object":
                values = schema.get("additionalProperties", True)
                if values is True and len(patterns := schema.get("patternProperties") or {}) == 1:
                    values = next(iter(patterns.values()))
                value = self._nested(f"{name}Value", values, depth + 1)
                return {"type": "object", "additionalProperties": value}
            case list(types):
                return union(
                    self._nested(name, {**schema, "type": each}, depth + 1)
                    for each in sorted(types)
                )
            case _:
                return ANYTHING


def union(alternatives: Iterable[Shape]) -> Shape:
    """Give the shape that is any of `alternatives`: flat, without doubles, null last."""
    flat: list[Shape] = []
    for alternative in alternatives:
        if alternative == ANYTHING:
            return ANYTHING
        for member in alternative.get("anyOf", [alternative]):
            if member not in flat:
                flat.append(member)
    if not flat:
        return ANYTHING
    flat.sort(key=lambda member: member == NULL)
    return flat[0] if len(flat) == 1 else {"anyOf": flat}


def _enumeration(schema: JsonObject) -> Shape:
    values = [schema["const"]] if "const" in schema else schema["enum"]
    if not isinstance(values, list) or not values:
        return ANYTHING
    spelled = [value for value in values if _is_text(value) or isinstance(value, bool | int)]
    with_null = [NULL] if None in values else []
    if len(spelled) + len(with_null) != len(values):
        kind = schema.get("type")
        return {"type": kind} if isinstance(kind, str) and kind in _SIMPLE_TYPES else ANYTHING
    unique: list[Any] = []
    for value in spelled:
        # 1, 1.0 and True are equal in Python and distinct in JSON.
        if not any(value == other and type(value) is type(other) for other in unique):
            unique.append(value)
    return union(([{"enum": unique}] if unique else []) + with_null)


def _says_nothing(schema: JsonSchema) -> bool:
    """Whether a part of an `allOf` has no keyword that a `TypedDict` could show."""
    return not isinstance(schema, dict) or not _SHOWN.intersection(schema)


def _sole_part(schema: JsonSchema) -> JsonSchema:
    """Take `allOf` away where it wraps one schema, as documents do to put prose beside a `$ref`."""
    while isinstance(schema, dict) and _SHOWN.intersection(schema) <= {"allOf", "type"}:
        parts = [part for part in schema.get("allOf") or () if not _says_nothing(part)]
        if len(parts) != 1 or schema.get("nullable") or isinstance(schema.get("type"), list):
            break
        schema = parts[0]
    return schema


def _add_part(merged: JsonObject, part: JsonObject) -> None:
    for key, value in part["properties"].items():
        if merged["properties"].get(key, True) in (True, {}):
            merged["properties"][key] = value
    merged["required"] += part["required"]
    if "type" in part:
        merged.setdefault("type", part["type"])


def _referred(schema: JsonObject) -> str | None:
    reference = schema.get("$ref")
    return reference.removeprefix(_PREFIX) if isinstance(reference, str) else None


def _is_text(value: Any) -> bool:
    """Whether a value is a string that UTF-8 can write."""
    return isinstance(value, str) and not _SURROGATE.search(value)


def references(shape: Shape) -> set[str]:
    """Give the names of the definitions that a shape refers to."""
    found: set[str] = set()
    to_read: list[Any] = [shape]
    while to_read:
        node = to_read.pop()
        if isinstance(node, dict):
            reference = node.get("$ref")
            if isinstance(reference, str):
                found.add(reference.removeprefix(_PREFIX))
            to_read.extend(value for key, value in node.items() if key != "enum")
        elif isinstance(node, list):
            to_read.extend(node)
    return found
