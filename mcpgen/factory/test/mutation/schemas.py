"""Faults in the schema that arguments must fit: each lets more pass than the document allows.

The schema that judges is changed: what is listed, where that is the one, and else the fuller one
beside it. Where clients see it the prepared list says the same, so that only a call, or the
snapshot of the list, can tell.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mcpgen.factory.test.mutation import equivalence
from mcpgen.factory.test.mutation.contracts import Contract
from mcpgen.factory.test.mutation.mutants import GONE, Mutant, Tokens
from mcpgen.factory.test.mutation.package import JsonObject, PackageFiles

_BOUNDS = (
    "exclusiveMaximum", "exclusiveMinimum", "maxItems", "maxLength", "maxProperties", "maximum",
    "minItems", "minLength", "minProperties", "minimum", "multipleOf",
)  # fmt: skip
_DROPPED = (*_BOUNDS, "enum", "const", "format", "pattern", "type", "uniqueItems")
_MAPS = ("$defs", "properties", "patternProperties")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_ONES = ("additionalProperties", "items", "then", "else")

OPERATORS = {
    "dropped-required": "a member may be missing that must not",
    "extra-members": "members that nobody described are let through",
    **{f"dropped-{keyword}": f"`{keyword}` is gone" for keyword in _DROPPED},
}
"""What each operator does, by its id."""


def make_schema_mutants(package: PackageFiles) -> Iterator[Mutant]:
    """Make every mutant of every argument schema, by tool."""
    for tool in package.tools:
        contract = Contract(package, tool)
        listed: Tokens = ("listing", "inputSchema")
        full = contract.entry.get("input_schema")
        root: Tokens = listed if full is None else ("input_schema",)
        schema = contract.entry["listing"]["inputSchema"] if full is None else full
        for tokens, node in _walk_subschemas(schema, ()):
            yield from _loosen(contract, root, tokens, node, schema)


def _loosen(
    contract: Contract, root: Tokens, tokens: Tokens, node: JsonObject, schema: JsonObject
) -> Iterator[Mutant]:
    where = (*root, *tokens)
    shown = "/".join(tokens) or "the arguments"
    for keyword in _DROPPED:
        if keyword in node:
            rule = equivalence.of_keyword(schema, tokens, keyword)
            what = f"`{keyword}` of {shown} is gone"
            yield contract.mutant(f"dropped-{keyword}", (*where, keyword), GONE, what, rule)
    for name in node.get("required", ()):
        less = [other for other in node["required"] if other != name]
        rule = equivalence.of_required(schema, tokens)
        what = f"{shown} need no `{name}`"
        yield contract.mutant("dropped-required", (*where, "required"), less, what, rule)
    if node.get("additionalProperties") is False:
        rule = equivalence.of_extra_members(schema, tokens, is_listed=root[0] == "listing")
        what = f"{shown} may hold what nobody described"
        extra = (*where, "additionalProperties")
        yield contract.mutant("extra-members", extra, True, what, rule)


def _walk_subschemas(schema: Any, tokens: Tokens) -> Iterator[tuple[Tokens, JsonObject]]:
    """Give a schema and all within it; not what `not` and `if` hold, where less lets less pass."""
    if not isinstance(schema, dict):
        return
    yield tokens, schema
    for key in _MAPS:
        for name, node in schema.get(key, {}).items():
            yield from _walk_subschemas(node, (*tokens, key, name))
    for key in _LISTS:
        for number, node in enumerate(schema.get(key, ())):
            yield from _walk_subschemas(node, (*tokens, key, str(number)))
    for key in _ONES:
        yield from _walk_subschemas(schema.get(key), (*tokens, key))
