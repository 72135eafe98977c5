"""A form for the arguments of a tool, made from its input schema; texts become arguments."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

from msgspec import Struct, field

from mcpgen.factory.validate.arguments import NoArgumentsError, make_arguments
from mcpgen.jsonschema.references import follow_references, iterate_parts
from mcpgen.jsonschema.types import JsonObject, JsonValue
from mcpgen.jsonschema.validation import SchemaValidator

Kind = Literal["text", "integer", "number", "choice", "json"]

EMPTY_TEXT: Final = '""'
"""Input of a user that sends the empty string; an empty field is omitted."""

ALL_ARGUMENTS: Final = ""
"""Name of the only field if no fields can be made from the properties of a schema."""

_MAX_CHOICES: Final = 200
_MAX_ITEMS_SHOWN: Final = 80  # characters of the choices of an array's items
_SCALAR_KINDS: Final[dict[str, Kind]] = {
    "string": "text",
    "integer": "integer",
    "number": "number",
}
_ALTERNATIVES: Final = ("anyOf", "oneOf")


class FormField(Struct, frozen=True, kw_only=True):
    """The input of one argument."""

    name: str
    kind: Kind
    type: str  # as users read it: "integer", "string (date)", "array of string"
    is_required: bool = False
    is_nullable: bool = False
    accepts_text: bool = False  # of kind "json": text that is no JSON is a string
    description: str = ""
    choices: tuple[JsonValue, ...] = ()
    default: JsonValue = None  # the server's value for an omitted argument
    has_default: bool = False


class Arguments(Struct, frozen=True):
    """Arguments parsed from the fields of a form, and the errors in these fields."""

    values: JsonObject
    errors: dict[str, str] = field(default_factory=dict)  # by the name of a field
    other_errors: tuple[str, ...] = ()  # of no field

    @property
    def is_valid(self) -> bool:
        """Whether a call can be sent."""
        return not (self.errors or self.other_errors)


class ArgumentError(ValueError):
    """A text that does not describe a value of its field."""


class Form:
    """The fields of a tool's arguments, and their conversion and validation."""

    def __init__(self, schema: JsonObject) -> None:
        """Make the fields.

        A schema that cannot be compiled has a form, but its arguments are not validated;
        `trouble` states why.
        """
        self.fields = tuple(_make_fields(schema))
        self.trouble = ""
        self._schema = schema
        self._validator: SchemaValidator | None = None
        try:
            self._validator = SchemaValidator(schema)
        except ValueError as error:
            self.trouble = (
                f"the arguments are not checked, since the input schema is invalid: {error}"
            )

    def suggest(self) -> dict[str, str]:
        """Return texts to begin with: samples of the required arguments that are typed as JSON."""
        required = [it.name for it in self.fields if it.kind == "json" and it.is_required]
        if not required:
            return {}
        try:
            sample = make_arguments({"inputSchema": self._schema})
        except NoArgumentsError:
            return {}
        values = {**sample, ALL_ARGUMENTS: sample}
        return {
            name: json.dumps(values[name], indent=2, ensure_ascii=False)
            for name in required
            if name in values
        }

    def collect(self, texts: Mapping[str, str]) -> Arguments:
        """Convert the texts of the fields, by name, and validate the arguments."""
        values: JsonObject = {}
        errors: dict[str, str] = {}
        for each in self.fields:
            text = texts.get(each.name, "")
            if not text.strip():
                continue
            try:
                values[each.name] = convert(each, text)
            except ArgumentError as error:
                errors[each.name] = str(error)
        if ALL_ARGUMENTS in values:
            everything = values[ALL_ARGUMENTS]
            if not isinstance(everything, dict):
                return Arguments({}, {ALL_ARGUMENTS: "expected a JSON object"})
            values = everything
        others: list[str] = []
        if self._validator is not None:
            names = {each.name for each in self.fields}
            for path, sentence in self._validator.locate_problems(values):
                name = str(path[0]) if path and ALL_ARGUMENTS not in names else ALL_ARGUMENTS
                if name not in names:
                    others.append(sentence)
                elif name not in errors:
                    errors[name] = sentence
        return Arguments(values, errors, tuple(others))


def convert(form_field: FormField, text: str) -> JsonValue:
    """Return the value that a user typed.

    Raises:
        ArgumentError: it is no value of the field's kind.
    """
    if form_field.is_nullable and text.strip() == "null":
        return None
    if form_field.kind == "text":
        return "" if text == EMPTY_TEXT else text
    try:
        value = json.loads(text, parse_constant=_reject_constant)
    except RecursionError:
        raise ArgumentError("the JSON is nested too deeply") from None
    except ValueError as error:
        if form_field.accepts_text:
            return text
        raise ArgumentError(_describe_invalid(form_field, error)) from None
    if form_field.kind in ("integer", "number") and (
        isinstance(value, bool) or not isinstance(value, int | float)
    ):
        raise ArgumentError(f"expected {_ARTICLES[form_field.kind]}")
    return value


_ARTICLES: Final = {"integer": "an integer", "number": "a number"}


def _describe_invalid(form_field: FormField, error: ValueError) -> str:
    if form_field.kind in _ARTICLES:
        return f"expected {_ARTICLES[form_field.kind]}"
    where = ""
    if isinstance(error, json.JSONDecodeError):
        where = f" at line {error.lineno}, column {error.colno}: {error.msg}"
    return f"invalid JSON{where}"


def _reject_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


# Fields from a schema


def _make_fields(schema: JsonObject) -> Iterator[FormField]:
    definitions = schema.get("$defs")
    named = definitions if isinstance(definitions, dict) else {}
    properties: dict[str, JsonValue] = {}
    required: set[str] = set()
    has_more = False
    for part in iterate_parts(schema, named):
        declared = part.get("properties")
        properties |= declared if isinstance(declared, dict) else {}
        names = part.get("required")
        required |= {str(name) for name in names} if isinstance(names, list) else set()
        has_more = has_more or any(key in part for key in (*_ALTERNATIVES, "patternProperties"))
    if has_more and not properties:
        yield FormField(name=ALL_ARGUMENTS, kind="json", type="object", is_required=bool(required))
        return
    # Required arguments come first, since a user fills them in that order.
    for name in sorted(properties, key=lambda name: name not in required):
        yield _make_field(name, properties[name], named, is_required=name in required)


def _make_field(
    name: str, stated: JsonValue, named: Mapping[str, Any], *, is_required: bool
) -> FormField:
    own = stated if isinstance(stated, dict) else {}
    schema, is_nullable = _strip_null(own, named)
    types = _list_types(schema)
    is_nullable = is_nullable or "null" in types
    types -= {"null"}
    choices = _list_choices(schema, types)
    kind: Kind = "choice" if choices else "json"
    if not choices and len(types) == 1:
        kind = _SCALAR_KINDS.get(next(iter(types)), "json")
    description = own.get("description") or schema.get("description")
    return FormField(
        name=name,
        kind=kind,
        type=_describe_type(schema, types, named),
        is_required=is_required,
        is_nullable=is_nullable or None in choices,
        accepts_text=kind == "json" and (not types or "string" in types),
        description=description if isinstance(description, str) else "",
        choices=choices,
        default=own.get("default"),
        has_default="default" in own,
    )


def _strip_null(schema: JsonObject, named: Mapping[str, Any]) -> tuple[JsonObject, bool]:
    """Follow references, and replace "X or null" by X; return whether null was removed."""
    schema = {**follow_references(schema, named)} if "$ref" in schema else schema
    for keyword in _ALTERNATIVES:
        branches = schema.get(keyword)
        if not isinstance(branches, list):
            continue
        resolved = [follow_references(it, named) for it in branches]
        others = [it for it in resolved if it.get("type") != "null"]
        if len(others) == 1 and len(resolved) == 2:
            return {**schema, **others[0], keyword: []}, True
    return schema, False


def _list_types(schema: JsonObject) -> set[str]:
    stated = schema.get("type")
    return (
        {stated} if isinstance(stated, str) else set(stated) if isinstance(stated, list) else set()
    )


def _list_choices(schema: JsonObject, types: set[str]) -> tuple[JsonValue, ...]:
    if "const" in schema:
        return (schema["const"],)
    stated = schema.get("enum")
    if isinstance(stated, list) and 0 < len(stated) <= _MAX_CHOICES:
        return tuple(stated)
    return (True, False) if types == {"boolean"} else ()


def _describe_type(schema: JsonObject, types: set[str], named: Mapping[str, Any]) -> str:
    text = " or ".join(sorted(types)) or "any JSON"
    if types == {"array"}:
        items = follow_references(schema.get("items", {}), named)
        choices = ", ".join(
            json.dumps(it, ensure_ascii=False) for it in _list_choices(items, set())
        )
        inner = choices or " or ".join(sorted(_list_types(items)))
        return f"array of {inner}" if 0 < len(inner) <= _MAX_ITEMS_SHOWN else text
    stated = schema.get("format")
    return f"{text} ({stated})" if isinstance(stated, str) and types == {"string"} else text
