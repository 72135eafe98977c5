"""Python types of arguments and results for handlers, with the model classes that they need."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from mcpgen.ir.tool_plan import Annotation, ModelPlan
from mcpgen.jsonschema.direction import DirectionName, Shape, Shapes
from mcpgen.jsonschema.references import PREFIX, find_reference, iterate_subschemas
from mcpgen.jsonschema.types import JsonObject, JsonSchema, JsonValue
from mcpgen.plan.naming.names import ClassNames, to_class_name
from mcpgen.plan.schemas.schema_part import ABOUT
from mcpgen.text.identifiers import Identifier
from mcpgen.text.prose import whole_sentence

_PRIMITIVES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
}
_SURROGATE = re.compile("[\ud800-\udfff]")
_MAX_LITERALS = 8
_MAX_LITERAL_LENGTH = 40
_MAX_MEMBERS = 6  # of a union; longer ones are unreadable in a signature
_MAX_NESTING = 24
_MAX_DOCSTRING = 90  # of a property: one line of a class


class Typed(Struct, frozen=True):
    """A type as an expression, as the schema of a model's property, and the classes in it."""

    source: str
    schema: JsonObject
    models: frozenset[Identifier] = frozenset()

    @property
    def annotation(self) -> Annotation:
        """The type as a handler's signature has it."""
        return Annotation(self.source, tuple(sorted(self.models)))


_ANYTHING = Typed("object", {})
_NULL = Typed("None", {"type": "null"})
_ANY_OBJECT = Typed("dict[str, Any]", {"type": "object", "additionalProperties": {}})


class Types:
    """Builds types, and collects the classes that they need in `definitions`.

    A named schema with properties is one class wherever it is used; if a request has fewer
    properties than a response, the request's class is called `<Name>Input`. An inline object is
    named after its parent and property. Without `models` no class is made.
    """

    def __init__(self, requests: Shapes, responses: Shapes, *, models: bool) -> None:
        self.definitions: dict[Identifier, JsonObject] = {}
        self._descriptions: dict[Identifier, dict[str, str]] = {}  # of properties, by class
        self.uses: dict[Identifier, frozenset[Identifier]] = {}  # classes that a class refers to
        self._shapes: Mapping[DirectionName, Shapes] = {"request": requests, "response": responses}
        self._models = models
        self._names = ClassNames()
        self._named: dict[tuple[str, DirectionName], Typed] = {}
        self._pending: list[tuple[Identifier, Shape, DirectionName]] = []  # without properties yet
        may_differ = models and (requests.direction.may_hide or responses.direction.may_hide)
        self._differing = _find_differing_names(requests) if may_differ else frozenset()
        self._homes = _find_homes(requests.schemas) if models else {}
        self._inline: dict[tuple[int, DirectionName], Typed] = {}  # types of schemas with a home
        if models:
            for name in sorted(requests.schemas):
                self._names.assign(name, f"#/{name}")

    def shape_of(self, schema: JsonSchema) -> Shape:
        """Return the shape of a schema in requests."""
        return self._shapes["request"].of(schema)

    def of(self, schema: JsonSchema, direction: DirectionName, hint: str) -> Typed:
        """Return the type of `schema`; `hint` names the classes that inline objects need."""
        typed = self._build_type(schema, direction, hint, 0)
        while self._pending:
            self._fill(*self._pending.pop())
        return typed

    def collect_models(self, annotations: Iterable[Annotation]) -> dict[Identifier, ModelPlan]:
        """Return the classes in `annotations`, and those that they refer to, by name."""
        waiting = [name for annotation in annotations for name in annotation.models]
        found: set[Identifier] = set()
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += self.uses[name]
        return {
            name: ModelPlan(self.definitions[name], self._descriptions[name])
            for name in sorted(found)
        }

    def _build_type(
        self, schema: JsonSchema, direction: DirectionName, hint: str, depth: int
    ) -> Typed:
        if depth > _MAX_NESTING:
            return _ANYTHING
        name = find_reference(schema)
        if name and isinstance(schema, dict) and schema.keys() <= ABOUT:
            return self._build_named(name, direction, depth)
        home = self._homes.get(id(schema))
        key = (id(schema), direction)
        if home is not None and key in self._inline:
            return self._inline[key]
        shape, owner = self._shapes[direction].of(schema), ""
        if home is not None and shape.can_nest:  # else it has no name
            component, suffix = home
            stem, owner = self._choose_class_name(component, direction)
            hint, owner = f"{to_class_name(stem)}{suffix}", f"{owner}/{suffix}"
        built = self._build_from_shape(shape, direction, hint, owner, depth)
        if home is not None:
            self._inline[key] = built
        return built

    def _choose_class_name(self, name: str, direction: DirectionName) -> tuple[str, str]:
        """Return the name of a named schema's class, and the owner of that name."""
        if direction == "request" and name in self._differing:
            return f"{to_class_name(name)}Input", f"#/{name}?request"
        return name, f"#/{name}"

    def _build_named(self, name: str, direction: DirectionName, depth: int) -> Typed:
        key = (name, direction)
        found = self._named.get(key)
        if found is None:
            shape = self._shapes[direction].of({"$ref": PREFIX + name})
            hint, owner = self._choose_class_name(name, direction)
            self._named[key] = _ANYTHING  # of a circle without objects
            found = self._build_from_shape(shape, direction, hint, owner, depth + 1)
            self._named[key] = found
        return found

    def _is_class(self, shape: Shape) -> bool:
        if not self._models or "properties" not in shape.keywords:
            return False
        is_object = set(shape.types) - {"null"} == {"object"}
        return is_object and bool(_list_members(shape.keywords))

    def _build_from_shape(
        self, shape: Shape, direction: DirectionName, hint: str, owner: str, depth: int
    ) -> Typed:
        keywords = shape.keywords
        if self._is_class(shape):
            typed = self._build_class(shape, direction, hint, owner)
            return _build_union([typed, _NULL]) if "null" in shape.types else typed
        choice = keywords.get("anyOf") or keywords.get("oneOf")
        if choice and "properties" not in keywords:
            members = [
                self._build_type(member, direction, f"{hint}Variant{index + 1}", depth + 1)
                for index, member in enumerate(choice)
                if member is not False
            ]
            nulls = [_NULL] if "null" in shape.types else []
            return _build_union([*members, *nulls])
        if "enum" in keywords:
            return _build_literal(keywords["enum"], shape)
        if not shape.types:
            return _ANYTHING
        return _build_union(
            [self._build_from_type(name, keywords, direction, hint, depth) for name in shape.types]
        )

    def _build_from_type(
        self, name: str, keywords: JsonObject, direction: DirectionName, hint: str, depth: int
    ) -> Typed:
        if name == "array":
            items = keywords.get("items", True)
            item = self._build_type(items, direction, f"{hint}Item", depth + 1)
            schema: JsonObject = {"type": "array", "items": item.schema}
            return Typed(f"list[{item.source}]", schema, item.models)
        if name == "object":
            extra = keywords.get("additionalProperties")
            if not isinstance(extra, dict) or not extra or _list_members(keywords):
                return _ANY_OBJECT
            value = self._build_type(extra, direction, f"{hint}Value", depth + 1)
            schema = {"type": "object", "additionalProperties": value.schema}
            return Typed(f"dict[str, {value.source}]", schema, value.models)
        return Typed(_PRIMITIVES[name], {"type": name}) if name in _PRIMITIVES else _ANYTHING

    def _build_class(self, shape: Shape, direction: DirectionName, hint: str, owner: str) -> Typed:
        """Return the class of an object; `_fill` adds its properties later, without recursion."""
        class_name = self._names.assign(hint, owner or f"{direction}:{hint}")
        if class_name not in self.definitions:
            self.definitions[class_name] = {"type": "object"}
            self._pending.append((class_name, shape, direction))
        return Typed(class_name, {"$ref": PREFIX + class_name}, frozenset((class_name,)))

    def _fill(self, class_name: Identifier, shape: Shape, direction: DirectionName) -> None:
        """Add the properties of a class."""
        uses: set[Identifier] = set()
        properties: JsonObject = {}
        descriptions: dict[str, str] = {}
        for name, value in sorted(_list_members(shape.keywords).items()):
            typed = self._build_type(value, direction, f"{class_name}{to_class_name(name)}", 1)
            properties[name] = typed.schema
            if description := _describe(value):
                descriptions[name] = description
            uses |= typed.models
        self._descriptions[class_name] = descriptions
        required = sorted(properties.keys() & shape.keywords.get("required", ()))
        self.definitions[class_name] |= {"properties": properties, "required": required}
        self.uses[class_name] = frozenset(uses)


def _find_homes(schemas: Mapping[str, JsonSchema]) -> dict[int, tuple[str, str]]:
    """Return the homes of inline schemas, by identity: name of the definition, words of the path.

    A class is named after the home of its schema, even if it is reached by inheritance.
    """
    homes: dict[int, tuple[str, str]] = {}
    taken: set[tuple[str, str]] = set()
    waiting: list[tuple[JsonSchema, str, str]] = [
        (schemas[name], name, "") for name in sorted(schemas, reverse=True)
    ]
    while waiting:
        schema, name, words = waiting.pop()
        if not isinstance(schema, dict):
            continue
        if words and (name, words) not in taken and "$ref" not in schema:
            taken.add((name, words))
            homes[id(schema)] = (name, words)
        waiting += [(member, name, words) for member in schema.get("allOf", ())]
        for keyword in ("anyOf", "oneOf"):
            waiting += [
                (member, name, f"{words}Variant{index + 1}")
                for index, member in enumerate(schema.get(keyword, ()))
            ]
        for keyword, word in (("items", "Item"), ("additionalProperties", "Value")):
            if keyword in schema:
                waiting.append((schema[keyword], name, words + word))
        waiting += [
            (value, name, words + to_class_name(key))
            for key, value in sorted(schema.get("properties", {}).items(), reverse=True)
        ]
    return homes


def _list_members(keywords: JsonObject) -> JsonObject:
    """Return the properties that an object may have and whose names UTF-8 can encode."""
    return {
        name: schema
        for name, schema in keywords.get("properties", {}).items()
        if schema is not False and not _SURROGATE.search(name)
    }


def _describe(schema: JsonSchema) -> str:
    """Describe a property in one sentence; "" if its description has none that fits."""
    text = schema.get("description") if isinstance(schema, dict) else None
    return whole_sentence(text, _MAX_DOCSTRING) if isinstance(text, str) else ""


def _build_union(members: list[Typed]) -> Typed:
    if len(members) == 1:
        return _ANYTHING if members[0].source == "object" else members[0]
    distinct = list({member.source: member for member in members}.values())
    distinct.sort(key=lambda member: member.source == "None")
    if not distinct or len(distinct) > _MAX_MEMBERS or any(m.source == "object" for m in distinct):
        return _ANYTHING
    if len(distinct) == 1:
        return distinct[0]
    models: frozenset[Identifier] = frozenset().union(*(member.models for member in distinct))
    return Typed(
        " | ".join(member.source for member in distinct),
        _join_schemas(member.schema for member in distinct),
        models,
    )


def _join_schemas(schemas: Iterable[JsonObject]) -> JsonObject:
    """Return the schema that allows what any of `schemas` allows: flat, distinct, null last."""
    flat: list[JsonObject] = []
    for schema in schemas:
        flat += [member for member in schema.get("anyOf", [schema]) if member not in flat]
    flat.sort(key=lambda member: member == _NULL.schema)
    return flat[0] if len(flat) == 1 else {"anyOf": flat}


def _build_literal(values: list[JsonValue], shape: Shape) -> Typed:
    """Return a short, readable `Literal`, or else the plain type."""
    present = [value for value in values if value is not None]
    is_short = len(present) <= _MAX_LITERALS and all(_is_readable(value) for value in present)
    nulls = [_NULL] if len(present) < len(values) else []
    if present and is_short and len({type(value) for value in present}) == 1:
        # Plain ASCII without quotes and backslashes: Python reads JSON as it is.
        literals = ", ".join(map(json.dumps, present))
        enum = list(dict.fromkeys(present))
        return _build_union([Typed(f"Literal[{literals}]", {"enum": enum}), *nulls])
    names = [name for name in shape.types if name in _PRIMITIVES and name != "null"]
    return _build_union([*(Typed(_PRIMITIVES[name], {"type": name}) for name in names), *nulls])


def _is_readable(value: JsonValue) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, int):
        return abs(value) < 10**12
    return (
        isinstance(value, str)
        and len(value) <= _MAX_LITERAL_LENGTH
        and value.isascii()
        and value.isprintable()
        and not set(value) & set("\"'\\")
    )


def _find_differing_names(requests: Shapes) -> frozenset[str]:
    """Return the definitions that differ between requests and responses, directly or not."""
    differing = {
        name
        for name, schema in requests.schemas.items()
        if any(
            part.get("readOnly") is True or part.get("writeOnly") is True
            for part in iterate_subschemas(schema)
        )
    }
    users: dict[str, set[str]] = {}
    for name, targets in requests.edges.items():
        for target in targets:
            users.setdefault(target, set()).add(name)
    waiting = sorted(differing)
    while waiting:
        for user in sorted(users.get(waiting.pop(), ())):
            if user not in differing:
                differing.add(user)
                waiting.append(user)
    return frozenset(differing)
