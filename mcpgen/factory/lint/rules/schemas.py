"""Rules for the schemas of arguments and of results, in the portable profile."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import jsonschema_rs

from mcpgen.factory.lint.findings import Finding, flag
from mcpgen.factory.lint.listing import Listing
from mcpgen.ir.client_checks import collect_features, iterate_property_names, read_text
from mcpgen.ir.portable_profile import (
    FORMATS,
    MAX_DEPTH,
    MAX_ENUM,
    MAX_PARAMETERS,
    MAX_PATTERN,
    NOT_IN_EVERY_ENGINE,
    PROPERTY_NAME,
)
from mcpgen.jsonschema.features import CHOICES, Subschema, iterate_schemas
from mcpgen.jsonschema.types import JsonObject, JsonSchema, JsonValue

_PROPERTY: Final = re.compile(PROPERTY_NAME)
_FOREIGN: Final = re.compile(NOT_IN_EVERY_ENGINE)
_ROOT_COMBINATORS: Final = (*CHOICES, "not", "if")
_IDENTIFIERS: Final = (
    "$schema", "$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef",
)  # fmt: skip
_BOUNDS: Final = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")
_NUMBER: Final = re.compile(r"\d[\d,_ ]*(?:\.\d+)?")
_NUMBER_WORDS: Final = {"zero": 0, "one": 1, "two": 2, "three": 3, "positive": 1, "non-negative": 0}
_KNOWN_DIALECT: Final = re.compile(r"(draft-0[467]|2019-09|2020-12)/schema#?\Z")
_SHOWN: Final = 3


def check_schemas(listing: Listing) -> Iterator[Finding]:
    """Check the schemas of all tools by the rules that apply to every client."""
    for tool in listing.all_tools:
        name = read_text(tool, "name")
        for key in ("inputSchema", "outputSchema"):
            if key in tool or key == "inputSchema":
                yield from _check_validity(name, key, tool.get(key))
        schema = tool.get("inputSchema")
        if isinstance(schema, dict):
            yield from _check_arguments(name, schema)


def _check_validity(name: str, key: str, schema: JsonValue) -> Iterator[Finding]:
    if not isinstance(schema, dict):
        fault = "has no" if schema is None else "has an invalid"
        message = f"`{name}` {fault} `{key}`"
        yield flag("schema-invalid", message, tool=name, tokens=(key,), detail=f"{key}: {fault}")
        return
    if not jsonschema_rs.meta.is_valid(_without_unknown_dialect(schema)):
        message = f"the `{key}` of `{name}` is no valid JSON Schema"
        yield flag("schema-invalid", message, tool=name, tokens=(key,), detail=f"{key}: invalid")
    elif schema.get("type") != "object":
        message = f'the root of the `{key}` of `{name}` is not `"type": "object"`'
        yield flag("schema-root", message, tool=name, tokens=(key,), detail=f"{key}: not an object")


def _without_unknown_dialect(schema: JsonObject) -> JsonObject:
    """Return a schema without `$schema`, unless it names a dialect of JSON Schema."""
    dialect = schema.get("$schema")
    if isinstance(dialect, str) and _KNOWN_DIALECT.search(dialect):
        return schema
    return {keyword: value for keyword, value in schema.items() if keyword != "$schema"}


def _check_arguments(name: str, schema: JsonObject) -> Iterator[Finding]:
    """Check what depends on no client: the number of arguments, bounds in words, strictness."""
    properties = schema.get("properties")
    count = len(properties) if isinstance(properties, dict) else 0
    at = ("inputSchema",)
    if count > MAX_PARAMETERS:
        message = f"`{name}` has {count} arguments (at most {MAX_PARAMETERS} help)"
        yield flag("many-parameters", message, tool=name, tokens=(*at, "properties"))
    if schema.get("additionalProperties") is not False:
        message = f"`{name}` accepts arguments that it does not have"
        yield flag("open-arguments", message, tool=name, tokens=at, detail="open")
    silent = [
        node.tokens[-1]
        for node in iterate_schemas(schema)
        if isinstance(node.schema, dict)
        and node.keyword == "properties"
        and not _states_bounds(node.schema)
    ]
    if silent:
        shown = ", ".join(f"`{each}`" for each in silent[:_SHOWN])
        more = f" and {len(silent) - _SHOWN} more" if len(silent) > _SHOWN else ""
        message = f"the descriptions of {shown}{more} of `{name}` do not state the bounds"
        yield flag("bounds-in-words", message, tool=name, tokens=at, detail="not stated")


def _states_bounds(schema: JsonObject) -> bool:
    """Return whether the description states each meaningful bound."""
    bounds = {
        float(value)
        for keyword in _BOUNDS
        if isinstance(value := schema.get(keyword), int | float)
        and not isinstance(value, bool)
        and not (keyword in ("minLength", "minItems") and value <= 1)
        and abs(value) < 2**31 - 1  # the range of an integer type is no statement
    }
    if not bounds:
        return True
    text = read_text(schema, "description").lower()
    numbers = {float(re.sub(r"[,_ ]", "", found)) for found in _NUMBER.findall(text)}
    numbers |= {-number for number in numbers}
    numbers |= {float(value) for word, value in _NUMBER_WORDS.items() if word in text}
    return bounds <= numbers


def check_portable_schemas(listing: Listing, *, is_strict: bool) -> Iterator[Finding]:
    """Check the schemas of arguments against the portable profile.

    The strict one has no composition and no reference anywhere.
    """
    for tool in listing.all_tools:
        name, schema = read_text(tool, "name"), tool.get("inputSchema")
        if not isinstance(schema, dict):
            continue
        yield from _check_root(name, schema)
        yield from _check_references(name, "inputSchema", schema)
        if isinstance(output := tool.get("outputSchema"), dict):
            yield from _check_references(name, "outputSchema", output)
        yield from _check_depth(name, schema)
        for tokens, key in iterate_property_names(schema):
            if not _PROPERTY.fullmatch(key):
                yield flag(
                    "property-name",
                    f"`{name}` has the property `{key}`",
                    tool=name,
                    tokens=("inputSchema", *tokens),
                    detail="other characters, or too long",
                )
        for node in iterate_schemas(schema):
            yield from _check_node(name, node)
        if is_strict:
            yield from _check_composition(tool, name)


def _check_root(name: str, schema: JsonObject) -> Iterator[Finding]:
    if found := [keyword for keyword in _ROOT_COMBINATORS if keyword in schema]:
        keywords = ", ".join(f"`{keyword}`" for keyword in found)
        yield flag(
            "schema-root",
            f"{keywords} at the root of the arguments of `{name}`",
            tool=name,
            tokens=("inputSchema", found[0]),
            detail=f"{keywords} at the root",
        )


def _check_references(name: str, key: str, schema: JsonObject) -> Iterator[Finding]:
    for node in iterate_schemas(schema):
        reference = node.schema.get("$ref") if isinstance(node.schema, dict) else None
        if isinstance(reference, str) and not _has_target(schema, reference):
            yield flag(
                "schema-reference",
                f"the `{key}` of `{name}` refers to `{reference[:80]}`, which it does not contain",
                tool=name,
                tokens=(key, *node.tokens, "$ref"),
                detail="a missing definition",
            )


def _has_target(schema: JsonObject, reference: str) -> bool:
    if reference == "#":
        return True
    if not reference.startswith("#/"):
        return False
    node: JsonValue = schema
    for token in reference[2:].split("/"):
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(node, list) and key.isdecimal() and int(key) < len(node):
            node = node[int(key)]
        elif isinstance(node, dict) and key in node:
            node = node[key]
        else:
            return False
    return isinstance(node, dict | bool)


def _check_depth(name: str, schema: JsonObject) -> Iterator[Finding]:
    """Count levels of objects and arrays; the arguments themselves are none."""
    depths = [node.depth for node in iterate_schemas(schema) if _has_constraints(node.schema)]
    depth = max(depths, default=0) - 1
    if depth > MAX_DEPTH:
        yield flag(
            "schema-size",
            f"the arguments of `{name}` nest {depth} levels (limit: {MAX_DEPTH})",
            tool=name,
            tokens=("inputSchema",),
            detail="too deep",
        )


def _has_constraints(schema: JsonSchema) -> bool:
    """Return whether a model has to fill in something certain, and not just any JSON."""
    return isinstance(schema, dict) and not schema.keys() <= {"title", "description", "default"}


def _check_node(name: str, node: Subschema) -> Iterator[Finding]:
    at = ("inputSchema", *node.tokens)
    where = f"`{name}` (/{'/'.join(at)})"
    schema = node.schema
    if _is_empty(node, schema):
        message = f"an empty schema in {where}"
        yield flag("empty-schema", message, tool=name, tokens=at, detail="empty")
    if not isinstance(schema, dict):
        return
    kind = schema.get("type")
    if isinstance(kind, list) and len(kind) > 1:
        message = f"several types in {where}"
        yield flag("type-union", message, tool=name, tokens=(*at, "type"), detail="several types")
    if kind == "array" and "items" not in schema:
        message = f"an array without `items` in {where}"
        yield flag("array-items", message, tool=name, tokens=at, detail="an array without `items`")
    for keyword in _IDENTIFIERS:
        if keyword in schema:
            message = f"`{keyword}` in {where}"
            yield flag(
                "schema-keyword", message, tool=name, tokens=(*at, keyword), detail=f"`{keyword}`"
            )
    yield from _check_string(name, where, at, schema)
    values = schema.get("enum")
    if isinstance(values, list) and len(values) > MAX_ENUM:
        message = f"an `enum` of {len(values):,} values in {where} (limit: {MAX_ENUM})"
        yield flag("schema-size", message, tool=name, tokens=(*at, "enum"), detail="a long `enum`")
    yield from _check_required(name, where, at, schema)


def _is_empty(node: Subschema, schema: JsonSchema) -> bool:
    if node.keyword in ("additionalProperties", "unevaluatedProperties", "unevaluatedItems"):
        return False
    if node.keyword in ("not", "if", "then", "else", "contains", "propertyNames"):
        return False
    return isinstance(schema, bool) or (not schema and node.keyword != "")


def _check_string(
    name: str, where: str, at: tuple[str, ...], schema: JsonObject
) -> Iterator[Finding]:
    form = schema.get("format")
    if isinstance(form, str) and form not in FORMATS and schema.get("type") == "string":
        message = f"the format `{form[:40]}` in {where}"
        detail = f"the format `{form[:40]}`"
        yield flag("schema-format", message, tool=name, tokens=(*at, "format"), detail=detail)
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and (len(pattern) > MAX_PATTERN or _FOREIGN.search(pattern)):
        message = f"the pattern `{pattern[:60]}` in {where}"
        yield flag(
            "schema-pattern", message, tool=name, tokens=(*at, "pattern"), detail="a pattern"
        )


def _check_required(
    name: str, where: str, at: tuple[str, ...], schema: JsonObject
) -> Iterator[Finding]:
    required, properties = schema.get("required"), schema.get("properties")
    if not isinstance(required, list):
        return
    names = [each for each in required if isinstance(each, str)]
    known = set(properties) if isinstance(properties, dict) else set()
    wrong = sorted({each for each in names if names.count(each) > 1})
    # A schema that is combined with others may require what they declare.
    wrong += sorted(set(names) - known) if "properties" in schema else []
    if wrong:
        listed = ", ".join(f"`{each}`" for each in wrong[:_SHOWN])
        yield flag(
            "required-names",
            f"`required` names {listed} twice or without a property in {where}",
            tool=name,
            tokens=(*at, "required"),
            detail="a name twice in `required`" if len(set(names)) < len(names) else "no property",
        )


def _check_composition(tool: JsonObject, name: str) -> Iterator[Finding]:
    seen: set[str] = set()
    for feature in collect_features(tool):
        if feature.name in ("choice", "reference", "not") and feature.spelling not in seen:
            seen.add(feature.spelling)
            rule = "schema-reference" if feature.name == "reference" else "schema-keyword"
            yield flag(
                rule,
                f"{feature.spelling} in the arguments of `{name}`",
                tool=name,
                tokens=("inputSchema", *feature.tokens),
                detail=feature.spelling,
            )
