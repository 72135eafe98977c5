"""Rules for equivalent mutants, which no call can distinguish from the original.

Each rule decides from the contract alone, before anything runs, and is named in the report. A
surviving mutant that no rule covers counts against the tests.
"""

from __future__ import annotations

from typing import Any

import jsonschema_rs

from mcpgen.factory.test.mutation.mutants import Tokens, at
from mcpgen.jsonschema.types import JsonObject

RULES = {
    "scalar": "a value that is neither array nor object is spelled alike with any `explode`, and"
    " in every style that only sets a separator (OpenAPI 3.1, section 4.8.12.2)",
    "exploded": "exploded items travel in pairs of their own, which have no separator",
    "array-in-simple": "`simple` joins the items of an array by commas with any `explode`"
    " (RFC 6570, section 3.2.2)",
    "brackets": "`deepObject` has one spelling",
    "no-bound": "the bound is the one that holds without it",
    "implied": "every value of the `enum` or `const` beside it fits the keyword",
    "other-type": "the keyword says nothing of the types beside it",
    "annotation-format": "JSON Schema 2020-12 knows no such format, so no validator judges by it",
    "unused": "no `$ref` leads to the definition",
    "arguments": "MCP has arguments in an object, and a name that no handler takes is refused"
    " whatever the schema says",
    "flat-body": "the body is an object that the server makes of the arguments",
    "wrapped-anyway": "structured content is an object in MCP, so that what the API gives as none"
    " is wrapped with or without the key",
    "read-only": "MCP reads the hint only where `readOnlyHint` is false",
}
"""Reasons why mutants are equivalent, by the name of the rule."""

_DEEPEST = 8  # nesting of references and alternatives that is followed
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
    """Return the rule by which another style sends the same bytes; "" if none does."""
    if {parameter["style"], other} & {"label", "matrix", "simple"}:
        return ""
    if _types(contract, parameter) <= _SCALARS:
        return "scalar"
    is_exploded = parameter.get("explode") and parameter["style"] != "deepObject"
    return "exploded" if is_exploded else ""


def of_explode(contract: JsonObject, parameter: JsonObject) -> str:
    """Return the rule by which `explode` has no effect; "" if none does."""
    types = _types(contract, parameter)
    if types <= _SCALARS:
        return "scalar"
    if parameter["style"] == "deepObject":
        return "brackets"
    if parameter["style"] == "simple" and types <= _SCALARS | {"array"}:
        return "array-in-simple"
    return ""


def of_annotation(annotations: JsonObject, name: str) -> str:
    """Return the rule by which clients ignore a hint; "" if none does."""
    is_hint_of_change = name in ("destructiveHint", "idempotentHint")
    return "read-only" if annotations.get("readOnlyHint") and is_hint_of_change else ""


def of_result_key(contract: JsonObject) -> str:
    """Return the rule by which a result without its key is the same; "" if none does."""
    listed = contract["listing"]["outputSchema"]
    inside = listed.get("properties", {}).get(contract["result_key"])
    may_be_object = {"any", "object"} & _types_of(inside, listed, _DEEPEST)
    return "" if may_be_object else "wrapped-anyway"


def of_keyword(schema: JsonObject, tokens: Tokens, keyword: str) -> str:
    """Return the rule by which the same values are valid without a keyword; "" if none does."""
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
    """Return the rule by which it has no effect that a member is required; "" if none does."""
    return "unused" if _is_unused(schema, tokens) else ""


def of_flat_body(contract: JsonObject, tokens: Tokens, keyword: str) -> str:
    """Return the rule by which a keyword of a flat body has no effect; "" if none does.

    `keyword` is the removed one, of the schema at `tokens`.
    """
    flat = contract.get("flat_body")
    if flat is None or "input_schema" not in contract:
        return ""
    at_body = tokens == ("properties", flat["argument"])
    is_certain = at_body and keyword in ("type", "additionalProperties")
    return "flat-body" if is_certain else ""


def of_extra_members(schema: JsonObject, tokens: Tokens, *, is_listed: bool) -> str:
    """Return the rule by which allowing undeclared members has no effect; "" if none does."""
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
