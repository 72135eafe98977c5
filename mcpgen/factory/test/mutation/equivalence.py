"""Rules for equivalent mutants, which no call can distinguish from the original.

Rules are decided from the contract alone, before any test runs, and named in the report. A
surviving mutant without a rule counts against the tests.
"""

from __future__ import annotations

from typing import Any

import jsonschema_rs

from mcpgen.factory.test.mutation.mutants import Tokens, at
from mcpgen.jsonschema.types import JsonObject

RULES = {
    "scalar": "a scalar value is serialized the same with any `explode`, and in every style that"
    " only sets a separator (OpenAPI 3.1, section 4.8.12.2)",
    "exploded": "exploded items are separate pairs, so the separator of the style is not used",
    "array-in-simple": "`simple` joins the items of an array with commas for any `explode`"
    " (RFC 6570, section 3.2.2)",
    "brackets": "`deepObject` has only one serialization",
    "no-bound": "the keyword has the value that applies without it",
    "implied": "the keyword allows every value of the `enum` or `const` next to it",
    "other-type": "the keyword does not apply to the types in `type`",
    "annotation-format": "JSON Schema 2020-12 does not define the format, so validators ignore it",
    "unused": "no `$ref` refers to the definition",
    "arguments": "arguments are always an object in MCP, and unknown names are rejected whatever"
    " the schema says",
    "flat-body": "the server builds the body from the arguments, always as an object",
    "wrapped-anyway": "structured content is an object in MCP, so other values are wrapped with or"
    " without the key",
    "read-only": "MCP defines the hint only for tools whose `readOnlyHint` is false",
}
"""Explanations of the rules, by their names: why a call cannot detect the mutant."""

_DEEPEST = 8  # levels of references and alternatives that are followed
_SCALARS = frozenset({"boolean", "integer", "null", "number", "string"})
_FORMATS = frozenset(
    {
        "date", "date-time", "duration", "email", "hostname", "idn-email", "idn-hostname", "ipv4",
        "ipv6", "iri", "iri-reference", "json-pointer", "regex", "relative-json-pointer", "time",
        "uri", "uri-reference", "uri-template", "uuid",
    }
)  # fmt: skip
_KEYWORDS_OF = {
    "array": ("maxItems", "minItems", "uniqueItems"),
    "number": ("exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"),
    "object": ("maxProperties", "minProperties"),
    "string": ("format", "maxLength", "minLength", "pattern"),
}
_TYPE_OF = {keyword: type_ for type_, keywords in _KEYWORDS_OF.items() for keyword in keywords}


def of_style(contract: JsonObject, parameter: JsonObject, other: str) -> str:
    """Return the rule under which another style sends the same bytes; "" if none applies."""
    if {parameter["style"], other} & {"label", "matrix", "simple"}:
        return ""
    if _types(contract, parameter) <= _SCALARS:
        return "scalar"
    is_exploded = parameter.get("explode") and parameter["style"] != "deepObject"
    return "exploded" if is_exploded else ""


def of_explode(contract: JsonObject, parameter: JsonObject) -> str:
    """Return the rule under which `explode` has no effect; "" if none applies."""
    types = _types(contract, parameter)
    if types <= _SCALARS:
        return "scalar"
    if parameter["style"] == "deepObject":
        return "brackets"
    if parameter["style"] == "simple" and types <= _SCALARS | {"array"}:
        return "array-in-simple"
    return ""


def of_annotation(annotations: JsonObject, name: str) -> str:
    """Return the rule under which clients ignore a hint; "" if none applies."""
    is_hint_of_change = name in ("destructiveHint", "idempotentHint")
    return "read-only" if annotations.get("readOnlyHint") and is_hint_of_change else ""


def of_result_key(contract: JsonObject) -> str:
    """Return the rule under which a result without its key is the same; "" if none applies."""
    listed = contract["listing"]["outputSchema"]
    inside = listed.get("properties", {}).get(contract["result_key"])
    may_be_object = {"any", "object"} & _types_of(inside, listed, _DEEPEST)
    return "" if may_be_object else "wrapped-anyway"


def of_keyword(schema: JsonObject, tokens: Tokens, keyword: str) -> str:
    """Return the rule under which a keyword excludes no value; "" if none applies."""
    node = at(schema, tokens)
    value = node[keyword]
    if _is_unused(schema, tokens):
        return "unused"
    if not tokens and keyword == "type":
        return "arguments"
    if (keyword.startswith("min") and keyword != "minimum" and value == 0) or value is False:
        return "no-bound"
    if keyword == "format" and value not in _FORMATS:
        return "annotation-format"
    listed = [node["const"]] if "const" in node else node.get("enum", [])
    if keyword not in ("const", "enum") and listed:
        judge = jsonschema_rs.Draft202012Validator({keyword: value}, validate_formats=True)
        if all(judge.is_valid(each) for each in listed):
            return "implied"
    types = _read_types(node)
    about = _TYPE_OF.get(keyword, "")
    if about and types and about not in types and not (about == "number" and "integer" in types):
        return "other-type"
    return ""


def of_required(schema: JsonObject, tokens: Tokens) -> str:
    """Return the rule under which requiring a member has no effect; "" if none applies."""
    return "unused" if _is_unused(schema, tokens) else ""


def of_flat_body(contract: JsonObject, tokens: Tokens, keyword: str) -> str:
    """Return the rule under which a keyword of a flat body has no effect; "" if none applies.

    `keyword` is a keyword of the schema at `tokens`.
    """
    flat = contract.get("flat_body")
    if flat is None or "input_schema" not in contract:
        return ""
    at_body = tokens == ("properties", flat["argument"])
    is_certain = at_body and keyword in ("type", "additionalProperties")
    return "flat-body" if is_certain else ""


def of_extra_members(schema: JsonObject, tokens: Tokens, *, is_listed: bool) -> str:
    """Return the rule under which allowing undeclared members has no effect; "" if none applies."""
    if _is_unused(schema, tokens):
        return "unused"
    return "arguments" if not tokens and not is_listed else ""


def _is_unused(schema: JsonObject, tokens: Tokens) -> bool:
    if tokens[:1] != ("$defs",):
        return False
    return not _refers(schema, f"#/$defs/{tokens[1]}")


def _refers(node: Any, target: str) -> bool:
    if isinstance(node, list):
        return any(_refers(each, target) for each in node)
    if not isinstance(node, dict):
        return False
    return node.get("$ref") == target or any(_refers(each, target) for each in node.values())


def _types(contract: JsonObject, parameter: JsonObject) -> frozenset[str]:
    """Return the types that a parameter's argument may have; {"any"} if they are not stated."""
    if "type_of_setting" in parameter:
        return frozenset({parameter["type_of_setting"]})
    root: JsonObject = contract.get("input_schema") or contract["listing"]["inputSchema"]
    schema = root.get("properties", {}).get(parameter.get("argument", ""))
    return _types_of(schema, root, _DEEPEST)


def _types_of(schema: Any, root: JsonObject, depth: int) -> frozenset[str]:
    if not isinstance(schema, dict) or depth == 0:
        return frozenset({"any"})
    if types := _read_types(schema):
        return types
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        return _types_of(root.get("$defs", {}).get(name), root, depth - 1)
    for key in ("anyOf", "oneOf"):
        if schema.get(key):
            parts = (_types_of(part, root, depth - 1) for part in schema[key])
            return frozenset().union(*parts)
    return frozenset({"any"})


def _read_types(schema: JsonObject) -> frozenset[str]:
    named = schema.get("type", [])
    return frozenset([named] if isinstance(named, str) else named)
