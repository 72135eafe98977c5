"""Conversion of a declared tool's inputs to OpenAPI parameters and a request body."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import urlsplit

from msgspec import UNSET, Struct, UnsetType

from mcpgen.diagnostics import did_you_mean
from mcpgen.ir.api import InputRef
from mcpgen.ir.manifest_entries import ToolEntry
from mcpgen.jsonschema.types import JsonObject, JsonSchema, JsonValue

_EXPRESSION = re.compile(r"\$inputs\.([A-Za-z_][A-Za-z0-9_]{0,63})\Z")
_INPUT = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}\Z")
_IN_BRACES = re.compile(r"\{([^{}]+)\}")
_OF_INPUTS = frozenset(
    {"$schema", "$defs", "type", "properties", "required", "additionalProperties", "description",
     "title"}
)  # fmt: skip
Refuse = Callable[[tuple[str, ...], str, str], None]
"""Reports a problem of a tool: its keys below the tool, the message and the help."""
_LOCATIONS = (("path", "path"), ("query", "query"), ("headers", "header"))


class MappedParameter(Struct, frozen=True):
    """A parameter of the request; `input` is "" if its value is fixed."""

    place: tuple[str, str]  # its location and wire name
    input: str
    value: JsonValue  # the fixed value
    schema: JsonSchema
    required: bool
    tokens: tuple[str, ...]  # where the manifest has it
    schema_tokens: tuple[str, ...]

    @property
    def declared(self) -> JsonObject:
        """The Parameter Object."""
        location, name = self.place
        return {"name": name, "in": location, "required": self.required, "schema": self.schema}


class Mapped(Struct, frozen=True):
    """A request, with its inputs in their places."""

    parameters: tuple[MappedParameter, ...]
    body: JsonValue | UnsetType  # its leaves may be `InputRef`
    body_schema: JsonSchema
    body_is_sent: bool  # with every call
    definitions: Mapping[str, JsonSchema]
    required: frozenset[str]


def map_inputs(name: str, entry: ToolEntry, refuse: Refuse) -> Mapped:
    """Map the inputs of a tool to its request; `refuse` reports each problem."""
    return _Mapping(name, entry, refuse).map()


class _Mapping:
    def __init__(self, name: str, entry: ToolEntry, refuse: Refuse) -> None:
        self._name = name
        self._entry = entry
        self._refuse = refuse
        self._used: dict[str, tuple[str, ...]] = {}
        inputs = entry.inputs if isinstance(entry.inputs, dict) else {}
        self._inputs: JsonObject = inputs.get("properties", {})
        self._required = frozenset(inputs.get("required", ()))

    def map(self) -> Mapped:
        self._check_inputs()
        in_path = _IN_BRACES.findall(urlsplit(self._entry.url).path)
        parameters = list(self._iterate_parameters(in_path))
        body = self._entry.body
        value: JsonValue | UnsetType = UNSET
        schema: JsonSchema = True
        if body is not None:
            value, schema = self._compose(body.value, ("body", "value"), is_in_list=False)
        for unused in self._inputs.keys() - self._used.keys():
            self._refuse(
                ("inputs", "properties", unused),
                f"unused input `{unused}`",
                f"use `$inputs.{unused}` in `path`, `query`, `headers` or `body`, or remove it",
            )
        is_optional = isinstance(value, InputRef) and value.input not in self._required
        definitions = (
            self._entry.inputs.get("$defs", {}) if isinstance(self._entry.inputs, dict) else {}
        )
        return Mapped(
            tuple(parameters),
            value,
            schema,
            not is_optional,
            {name: _relocate_references(schema) for name, schema in definitions.items()},
            self._required,
        )

    def _check_inputs(self) -> None:
        inputs = self._entry.inputs
        if isinstance(inputs, bool) or inputs.get("type", "object") != "object":
            self._refuse(("inputs",), "inputs are the properties of an object", "`type: object`")
            return
        for keyword in inputs.keys() - _OF_INPUTS:
            self._refuse(
                ("inputs", keyword),
                f"`{keyword}` cannot be said of all inputs together",
                "say what each input may be, under `properties`",
            )
        for name in self._inputs:
            if not _INPUT.match(name):
                self._refuse(
                    ("inputs", "properties", name),
                    f"invalid name of an input: `{name}`",
                    "use letters, digits and `_`",
                )
        for name in sorted(self._required - self._inputs.keys()):
            self._refuse(
                ("inputs", "required"), f"unknown input `{name}`", self._suggest_input(name)
            )

    def _iterate_parameters(self, in_path: list[str]) -> Iterator[MappedParameter]:
        for name in in_path:
            if name not in self._entry.path:
                yield from self._map_parameter("path", name, f"$inputs.{name}", ("url",))
        for key, location in _LOCATIONS:
            stated: dict[str, JsonValue] = getattr(self._entry, key)
            for name, value in stated.items():
                if location == "path" and name not in in_path:
                    self._refuse(
                        (key, name),
                        f"unknown path parameter `{{{name}}}`: it is not in the URL",
                        f"its parameters are {', '.join(in_path)}" if in_path else "it has none",
                    )
                    continue
                yield from self._map_parameter(location, name, value, (key, name))

    def _map_parameter(
        self, location: str, wire_name: str, value: JsonValue, tokens: tuple[str, ...]
    ) -> Iterator[MappedParameter]:
        placed = self._read(value, tokens)
        at = ("tools", self._name, *tokens)
        if isinstance(placed, InputRef):
            is_required = placed.input in self._required
            if location == "path" and not is_required:
                self._refuse(
                    tokens,
                    f"the path needs `{placed.input}`, and the input is optional",
                    "name it under `required` of `inputs`",
                )
            schema = _relocate_references(self._inputs[placed.input])
            place = ("tools", self._name, "inputs", "properties", placed.input)
            yield MappedParameter(
                (location, wire_name), placed.input, None, schema, is_required, at, place
            )
        elif isinstance(value, dict | list) and _has_expression(value):
            self._refuse(
                tokens,
                f"`{wire_name}` is composed of inputs, which only a body can be",
                "give it one input or one literal",
            )
        elif not isinstance(placed, UnsetType):
            placed, _ = self._compose(value, tokens, is_in_list=False)
            yield MappedParameter(
                (location, wire_name), "", placed, {"const": placed}, True, at, at
            )

    def _compose(
        self, value: JsonValue, tokens: tuple[str, ...], *, is_in_list: bool
    ) -> tuple[JsonValue, JsonSchema]:
        """Return a part of the body, and its schema."""
        if isinstance(value, dict):
            parts = {
                key: self._compose(member, (*tokens, key), is_in_list=False)
                for key, member in value.items()
            }
            return {key: part for key, (part, _) in parts.items()}, {
                "type": "object",
                "properties": {key: schema for key, (_, schema) in parts.items()},
                "required": [key for key, (part, _) in parts.items() if self._is_sent(part)],
                "additionalProperties": False,
            }
        if isinstance(value, list):
            items = [
                self._compose(item, (*tokens, str(number)), is_in_list=True)
                for number, item in enumerate(value)
            ]
            return [part for part, _ in items], {
                "type": "array",
                "prefixItems": [schema for _, schema in items],
                "minItems": len(items),
                "maxItems": len(items),
            }
        placed = self._read(value, tokens)
        if not isinstance(placed, InputRef):
            return placed, {"const": placed}
        if is_in_list and placed.input not in self._required:
            self._refuse(
                tokens,
                f"the list needs `{placed.input}`, and the input is optional",
                "name it under `required` of `inputs`",
            )
        return placed, _relocate_references(self._inputs[placed.input])

    def _is_sent(self, part: JsonValue) -> bool:
        return not isinstance(part, InputRef) or part.input in self._required

    def _read(self, value: JsonValue, tokens: tuple[str, ...]) -> JsonValue | UnsetType:
        """Return a literal or the `InputRef` of an expression; UNSET if it is invalid."""
        if not isinstance(value, str) or not value.startswith("$"):
            return value
        if value.startswith("$$"):
            return value[1:]
        found = _EXPRESSION.match(value)
        if found is None or found[1] not in self._inputs:
            name = found[1] if found else ""
            self._refuse(
                tokens,
                f"unknown input `{name}`" if found else f"invalid expression `{value}`",
                self._suggest_input(name)
                if found
                else "write `$inputs.NAME`, or `$$` for a text that begins with `$`",
            )
            return UNSET
        name = found[1]
        if name in self._used:
            self._refuse(
                tokens,
                f"the input `{name}` is used twice",
                "each input goes to one place; declare a second one",
            )
        self._used[name] = tokens
        return InputRef(name)

    def _suggest_input(self, name: str) -> str:
        known = ", ".join(f"`{known}`" for known in self._inputs)
        return did_you_mean(
            name,
            self._inputs,
            f"inputs are {known}" if known else "declare it under `properties` of `inputs`",
        )


def _has_expression(value: JsonValue) -> bool:
    if isinstance(value, dict):
        return any(map(_has_expression, value.values()))
    if isinstance(value, list):
        return any(map(_has_expression, value))
    return isinstance(value, str) and value.startswith("$") and not value.startswith("$$")


def _relocate_references(schema: JsonValue) -> JsonValue:
    """Return a schema with its references to `$defs` changed to a document's components."""
    if isinstance(schema, list):
        return [_relocate_references(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: value.replace("#/$defs/", "#/components/schemas/")
        if key == "$ref" and isinstance(value, str)
        else _relocate_references(value)
        for key, value in schema.items()
    }
