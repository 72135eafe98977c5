"""Tolerant lowering of single schema keywords to JSON Schema 2020-12.

Each reader takes the value of a keyword and its place, and returns the lowered keywords. Values
with one plausible meaning are repaired, others are dropped, with a warning.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import jsonschema_rs
from msgspec import Struct

from mcpgen.diagnostics import DROPPED, Repair
from mcpgen.jsonschema.types import JsonObject, JsonValue
from mcpgen.jsonschema.values import find_json_type
from mcpgen.openapi.lower.nodes import Source, escape, object_of
from mcpgen.openapi.source.source_text import describe_type

TYPES = frozenset({"null", "boolean", "object", "array", "number", "string", "integer"})
_OTHER_TYPE_NAMES: dict[str, JsonObject] = {
    "int": {"type": "integer"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "long": {"type": "integer", "format": "int64"},
    "float": {"type": "number", "format": "float"},
    "double": {"type": "number", "format": "double"},
    "decimal": {"type": "number"},
    "bool": {"type": "boolean"},
    "str": {"type": "string"},
    "text": {"type": "string"},
    "date": {"type": "string", "format": "date"},
    "datetime": {"type": "string", "format": "date-time"},
    "date-time": {"type": "string", "format": "date-time"},
    "uuid": {"type": "string", "format": "uuid"},
    "dict": {"type": "object"},
    "map": {"type": "object"},
    "list": {"type": "array"},
    "any": {},
    "mixed": {},
    "": {},
}
_LARGEST_SIZE = 2**53


class Place(Struct, frozen=True):
    """A keyword of the schema at `pointer`, with the document for its problems."""

    keyword: str
    pointer: str
    source: Source

    def warn(self, code: str, message: str, help: str = "", repair: Repair | None = None) -> None:
        """Report a repair of the keyword."""
        pointer = f"{self.pointer}/{escape(self.keyword)}"
        self.source.warn(code, message, pointer, help=help, repair=repair)

    def drop(self, reason: str) -> JsonObject:
        """Report that the keyword was dropped; return no keywords."""
        message = f"invalid `{self.keyword}`: {reason}; it was dropped"
        self.warn("schema-keyword", message, repair=DROPPED)
        return {}


def _read_type(value: JsonValue, place: Place) -> JsonObject:
    names: list[str] = []
    found: JsonObject = {}
    for declared in value if isinstance(value, list) else [value]:
        name = "null" if declared is None else declared
        if isinstance(name, str) and name in TYPES:
            names.append(name)
        elif name == "file":  # Swagger 2.0
            names.append("string")
            found["format"] = "binary"
        else:
            meaning = _repair_type(name, place)
            if "type" not in meaning:
                return {}
            found |= meaning
            names.append(meaning["type"])
    distinct = list(dict.fromkeys(names))
    if not distinct:
        return {}
    return {**found, "type": distinct[0] if len(distinct) == 1 else distinct}


def _repair_type(name: JsonValue, place: Place) -> JsonObject:
    lowered = name.strip().lower() if isinstance(name, str) else None
    meaning = {"type": lowered} if lowered in TYPES else _OTHER_TYPE_NAMES.get(lowered or "any")
    if lowered is None or meaning is None:
        shown = f"`{name}`" if isinstance(name, str) else describe_type(name)
        return place.drop(f"unknown type {shown}")
    place.warn(
        "schema-type", f"invalid type `{name}`; it was read as {meaning.get('type', 'any type')}"
    )
    return meaning


def _read_text(value: JsonValue, place: Place) -> JsonObject:
    if isinstance(value, str):
        return {place.keyword: value}
    return {} if value is None else drop_unexpected("a string", value, place)


def drop_unexpected(expected: str, value: JsonValue, place: Place) -> JsonObject:
    """Report that the keyword was dropped because of its type; return no keywords."""
    return place.drop(f"expected {expected}, found {describe_type(value)}")


def _read_flag(value: JsonValue, place: Place) -> JsonObject:
    if value is True or value == "true":
        return {place.keyword: True}
    if value is False or value in ("false", None):
        return {}
    return drop_unexpected("a boolean", value, place)


def _number(value: JsonValue) -> int | float | None:
    if isinstance(value, str):
        try:
            value = float(value) if not value.strip().lstrip("-").isdecimal() else int(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) < float("inf") else None


def _read_size(value: JsonValue, place: Place) -> JsonObject:
    number = _number(value)
    if number is None or number < 0 or number != int(number):
        return {} if value is None else place.drop("expected an integer of at least 0")
    if number > _LARGEST_SIZE:
        return place.drop(f"{number} is too large")
    if isinstance(value, str):
        place.warn("schema-keyword", f"`{place.keyword}` is a number in quotes")
    return {place.keyword: int(number)}


def _read_bound(value: JsonValue, place: Place) -> JsonObject:
    if isinstance(value, bool) and place.keyword.startswith("exclusive"):
        if place.source.version not in ("2.0", "3.0"):
            message = f"`{place.keyword}` is a boolean; it was read as in OpenAPI 3.0"
            place.warn("schema-keyword", message)
        return {}  # `reconcile` joins it with the bound
    number = _number(value)
    if number is None:
        return {} if value is None else drop_unexpected("a number", value, place)
    if place.keyword == "multipleOf" and number <= 0:
        return place.drop("expected a number greater than 0")
    return {place.keyword: number}


def _read_required(value: JsonValue, place: Place) -> JsonObject:
    if not isinstance(value, list):
        is_silent = value is None or value is False
        return {} if is_silent else drop_unexpected("an array of names", value, place)
    distinct = list(dict.fromkeys(name for name in value if isinstance(name, str)))
    if len(distinct) != len(value):
        place.warn("duplicate-required", "duplicate or invalid name in `required`; it was dropped")
    return {"required": distinct} if distinct else {}


def _read_enum(value: JsonValue, place: Place) -> JsonObject:
    if not isinstance(value, list) or not value:
        return place.drop("expected an array with at least one value")
    return {"enum": _distinct_values(value)}


def _distinct_values(values: list[JsonValue]) -> list[JsonValue]:
    """Remove duplicates; 1 and true are different, as in JSON."""
    distinct: dict[str, JsonValue] = {}
    for value in values:
        distinct.setdefault(f"{type(value).__name__}:{value!r}", value)
    return list(distinct.values())


def _read_pattern(value: JsonValue, place: Place) -> JsonObject:
    if not isinstance(value, str):
        return {} if value is None else drop_unexpected("a string", value, place)
    if _compiles(value):
        return {"pattern": value} if value else {}
    place.warn(
        "pattern",
        f"invalid pattern `{value}`; it was dropped",
        help="write a regular expression of JavaScript (ECMA-262), without flags",
        repair=DROPPED,
    )
    return {}


@cache
def _compiles(pattern: str) -> bool:
    """Return whether the validator of generated servers accepts `pattern`."""
    try:
        jsonschema_rs.validator_for({"type": "string", "pattern": pattern})
    except (jsonschema_rs.ValidationError, ValueError):
        return False
    return True


def _read_examples(value: JsonValue, place: Place) -> JsonObject:
    if place.keyword == "example":
        return {"examples": [value]}
    if isinstance(value, dict):  # a map of Example Objects instead of a list
        value = [item["value"] for item in value.values() if "value" in object_of(item)]
    return {"examples": value} if isinstance(value, list) and value else {}


def _keep(value: JsonValue, place: Place) -> JsonObject:
    return {place.keyword: value}


def _read_dependent(value: JsonValue, place: Place) -> JsonObject:
    if isinstance(value, dict) and all(
        isinstance(names, list) and all(isinstance(name, str) for name in names)
        for names in value.values()
    ):
        return {place.keyword: {key: list(dict.fromkeys(names)) for key, names in value.items()}}
    return place.drop("expected an object of arrays of names")


_Reader = Callable[[JsonValue, Place], JsonObject]
READERS: dict[str, _Reader] = {
    "type": _read_type,
    "enum": _read_enum,
    "const": _keep,
    "default": _keep,
    "xml": _keep,  # for the serialisation of XML bodies; never shown to clients
    "required": _read_required,
    "pattern": _read_pattern,
    "dependentRequired": _read_dependent,
    "example": _read_examples,
    "examples": _read_examples,
    **dict.fromkeys(
        ("title", "description", "format", "contentEncoding", "contentMediaType"), _read_text
    ),
    **dict.fromkeys(("uniqueItems", "deprecated", "readOnly", "writeOnly"), _read_flag),
    **dict.fromkeys(
        (
            "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties",
            "minContains", "maxContains",
        ),
        _read_size,
    ),
    **dict.fromkeys(
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), _read_bound
    ),
}  # fmt: skip
"""Readers of all supported keywords that do not contain schemas; other keywords are dropped."""


NOT_OF_FILES = ("minLength", "maxLength", "pattern", "example", "examples", "default")
"""Keywords that do not apply to files: lengths count bytes, and the value is no JSON string."""


def reconcile(out: JsonObject, schema: JsonObject, pointer: str, source: Source) -> None:
    """Repair contradictions between several keywords of a lowered schema."""
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if schema.get(exclusive) is True and bound in out:
            out[exclusive] = out.pop(bound)
    if "nullable" in schema and source.version not in ("2.0", "3.0"):
        source.warn(
            "schema-keyword",
            "`nullable` does not exist after OpenAPI 3.0; it was read as in 3.0",
            f"{pointer}/nullable",
            help='write `type: [..., "null"]`',
        )
    if out.get("type") == "array" and "items" not in out and "prefixItems" not in out:
        out["items"] = {}
    for low, high in (
        ("minimum", "maximum"), ("minLength", "maxLength"), ("minItems", "maxItems"),
        ("minProperties", "maxProperties"),
    ):  # fmt: skip
        if low in out and high in out and out[low] > out[high]:
            source.warn(
                "empty-range",
                f"`{low}` {out[low]} is greater than `{high}` {out[high]}; both were dropped",
                f"{pointer}/{low}",
            )
            del out[low], out[high]
    if out.get("format") == "binary":
        for keyword in NOT_OF_FILES:
            out.pop(keyword, None)
    if "default" in out and not _fits(out["default"], out):
        source.warn(
            "default-type",
            "invalid default for its schema; it was dropped",
            f"{pointer}/default",
            repair=DROPPED,
        )
        del out["default"]


def with_null(schema: JsonObject) -> JsonObject:
    """Return `schema` extended to accept null (`nullable` of OpenAPI 3.0)."""
    if "const" in schema:
        schema["enum"] = [schema.pop("const")]
    if "enum" in schema and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
    declared = schema.get("type")
    if isinstance(declared, str) and declared != "null":
        schema["type"] = [declared, "null"]
    elif isinstance(declared, list) and "null" not in declared:
        schema["type"] = [*declared, "null"]
    if not any(keyword in schema for keyword in ("$ref", "allOf", "anyOf", "oneOf", "not")):
        return schema
    outside: JsonObject = {
        keyword: schema.pop(keyword)
        for keyword in ("title", "description", "default", "deprecated", "readOnly", "writeOnly")
        if keyword in schema
    }
    return {"anyOf": [schema, {"type": "null"}], **outside}


def _fits(value: JsonValue, schema: JsonObject) -> bool:
    """Return whether a default is valid for the type and, if it is a scalar, the enum."""
    if schema.get("nullable") is True and value is None:
        return True
    allowed = schema.get("type")
    if allowed is not None:
        names = allowed if isinstance(allowed, list) else [allowed]
        found = find_json_type(value)
        if found not in names and not (found == "integer" and "number" in names):
            return False
    enum = schema.get("enum")
    return enum is None or isinstance(value, list | dict) or value in enum
