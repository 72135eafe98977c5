"""Mutants of a tool's contract: faults in its request, its result and its annotations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from mcpgen.factory.test.mutation import equivalence
from mcpgen.factory.test.mutation.handlers import OTHER_VERB
from mcpgen.factory.test.mutation.mutants import (
    GONE,
    JsonChange,
    Mutant,
    PackageFiles,
    Tokens,
)
from mcpgen.jsonschema.types import JsonObject
from mcpgen.text.json_pointer import json_pointer

_OTHER_STYLE = {
    "cookie": "form",
    "deepObject": "form",
    "form": "pipeDelimited",
    "label": "simple",
    "matrix": "simple",
    "pipeDelimited": "spaceDelimited",
    "simple": "label",
    "spaceDelimited": "pipeDelimited",
    "tabDelimited": "pipeDelimited",
}
_DELIMITED = {"pipeDelimited", "spaceDelimited", "tabDelimited"}
_STYLES_OF = {
    "path": {"label", "matrix", "simple"} | _DELIMITED,
    "header": {"simple"} | _DELIMITED,
    "cookie": {"form"},
}
_OTHER_PLACE = {"cookie": "header", "header": "query", "path": "query", "query": "header"}
_OTHER_MEDIA_TYPE = {"application/json": "application/x-www-form-urlencoded"}


class Contract:
    """Contract of one tool, which creates mutants of it."""

    def __init__(self, package: PackageFiles, tool: str) -> None:
        self.package = package
        self.tool = tool
        self.file, self.entry = package.tools[tool]

    @property
    def request(self) -> JsonObject:
        """Rules that map the arguments to an HTTP request."""
        request: JsonObject = self.entry["request"]
        return request

    def with_type(self, parameter: JsonObject) -> JsonObject:
        """Return a parameter with the type of the setting that supplies its value, if one does."""
        for variable in self.package.server.get("environment", ()):
            if variable["name"] == parameter.get("setting"):
                type_ = variable.get("reads_as", {}).get("type", "string")
                return {**parameter, "type_of_setting": type_}
        return parameter

    def mutant(
        self, operator: str, tokens: Tokens, value: Any, what: str, equivalent: str = ""
    ) -> Mutant:
        """Create a mutant that changes one value, in the file that contains it."""
        file, whole = self.file, ("tools", self.tool, *tokens)
        if tokens[0] == "listing" and self.tool in self.package.listed:
            file, whole = self.package.listing_file, (self.package.listed[self.tool], *tokens[1:])
        place = f"{file}#{json_pointer(whole)}"
        return Mutant(
            operator, self.tool, place, what, (JsonChange(file, whole, value),), equivalent
        )


def make_contract_mutants(package: PackageFiles) -> Iterator[Mutant]:
    """Yield the mutants of the contracts without those of their schemas, by tool."""
    for tool in package.tools:
        contract = Contract(package, tool)
        made = (mutant for make in _MAKERS for mutant in make(contract))
        yield from sorted(made, key=lambda mutant: OPERATORS.index(mutant.operator))


def _change_method(contract: Contract) -> Iterator[Mutant]:
    verb = contract.request["method"]
    other = OTHER_VERB.get(verb, "POST")
    yield contract.mutant(
        "contract-verb", ("request", "method"), other, f"`{verb}` became `{other}`"
    )


def _change_parameters(contract: Contract) -> Iterator[Mutant]:
    for number, parameter in enumerate(contract.request.get("parameters", ())):
        tokens: Tokens = ("request", "parameters", str(number))
        name, place, style = parameter["name"], parameter["in"], parameter.get("style", "")
        what = f"`{name}` became `{name}_`"
        yield contract.mutant("contract-name", (*tokens, "name"), f"{name}_", what)
        if other := _OTHER_PLACE.get(place):
            what = f"`{name}` moved from {place} to {other}"
            yield contract.mutant("contract-place", (*tokens, "in"), other, what)
        yield contract.mutant("dropped-rule", tokens, GONE, f"the rule of `{name}` is gone")
        typed = contract.with_type(parameter)
        other = _OTHER_STYLE.get(style)
        if other and other in _STYLES_OF.get(place, {other}):
            rule = equivalence.of_style(contract.entry, typed, other)
            what = f"the style of `{name}` is `{other}`, not `{style}`"
            yield contract.mutant("flipped-style", (*tokens, "style"), other, what, rule)
        if style:
            explode = not parameter.get("explode", False)
            rule = equivalence.of_explode(contract.entry, typed)
            what = f"`explode` of `{name}` is {str(explode).lower()}"
            yield contract.mutant("flipped-explode", (*tokens, "explode"), explode, what, rule)
        if parameter.get("allow_reserved"):
            what = f"reserved characters of `{name}` are escaped"
            yield contract.mutant("escaped-reserved", (*tokens, "allow_reserved"), False, what)


def _swap_arguments(contract: Contract) -> Iterator[Mutant]:
    arguments = contract.entry.get("arguments", {})
    for (one, keyword), (other, other_keyword) in pairwise(arguments.items()):
        swapped = {**arguments, one: other_keyword, other: keyword}
        what = f"`{one}` and `{other}` reach the handler in each other's place"
        yield contract.mutant("swapped-arguments", ("arguments",), swapped, what)


def _change_body(contract: Contract) -> Iterator[Mutant]:
    for number, entry in enumerate(contract.request.get("body", {}).get("media_types", ())):
        tokens: Tokens = ("request", "body", "media_types", str(number))
        kind = entry["media_type"]
        other = _OTHER_MEDIA_TYPE.get(kind, "application/json")
        what = f"the body is `{other}`, not `{kind}`"
        yield contract.mutant("wrong-media-type", (*tokens, "media_type"), other, what)
        for name in entry.get("encoding", {}):
            what = f"how `{name}` of the body travels is forgotten"
            yield contract.mutant("lost-encoding", (*tokens, "encoding", name), GONE, what)


def _change_accept(contract: Contract) -> Iterator[Mutant]:
    if contract.request.get("accept") and "outputSchema" in contract.entry["listing"]:
        accept = ["text/x-other"]
        what = "another media type is asked for"
        yield contract.mutant("wrong-accept", ("request", "accept"), accept, what)


def _change_credentials(contract: Contract) -> Iterator[Mutant]:
    at = ("request", "security")
    requirements = contract.request.get("security", ())
    schemes = sorted(contract.package.server.get("security_schemes", {}))
    if any(requirements):
        yield contract.mutant("no-credential", at, [], "no credential is sent")
    elif schemes:
        what = f"`{schemes[0]}` is sent where no credential belongs"
        yield contract.mutant("needless-credential", at, [{schemes[0]: []}], what)
    for number, requirement in enumerate(requirements):
        for scheme in requirement:
            tokens = (*at, str(number))
            less = {name: scopes for name, scopes in requirement.items() if name != scheme}
            if less:
                what = f"`{scheme}` is not sent along"
                yield contract.mutant("less-credentials", tokens, less, what)
            for other in [name for name in schemes if name not in requirement][:1]:
                swapped = {
                    (other if name == scheme else name): scopes
                    for name, scopes in requirement.items()
                }
                what = f"`{other}` is sent in place of `{scheme}`"
                yield contract.mutant("wrong-credential", tokens, swapped, what)


def _change_result_key(contract: Contract) -> Iterator[Mutant]:
    key = contract.entry.get("result_key", "")
    if "outputSchema" not in contract.entry["listing"]:
        return
    rule = equivalence.of_result_key(contract.entry) if key else ""
    what = f"the result is {'no longer ' if key else ''}wrapped"
    yield contract.mutant("result-key", ("result_key",), "" if key else "result", what, rule)


def _drop_names(contract: Contract) -> Iterator[Mutant]:
    for name in contract.entry.get("defaults", {}):
        what = f"the default of `{name}` is gone"
        yield contract.mutant("dropped-default", ("defaults", name), GONE, what)
    for name in contract.entry.get("wire_names", {}):
        what = f"`{name}` travels under the name that the tool has for it"
        yield contract.mutant("wire-name", ("wire_names", name), GONE, what)


def _flip_annotation(contract: Contract) -> Iterator[Mutant]:
    annotations = contract.entry["listing"].get("annotations", {})
    for name, value in annotations.items():
        if isinstance(value, bool):
            tokens = ("listing", "annotations", name)
            rule = equivalence.of_annotation(annotations, name)
            what = f"`{name}` is {str(not value).lower()}"
            yield contract.mutant("flipped-annotation", tokens, not value, what, rule)


_MAKERS: tuple[Callable[[Contract], Iterator[Mutant]], ...] = (
    _change_method,
    _change_parameters,
    _swap_arguments,
    _change_body,
    _change_accept,
    _change_credentials,
    _change_result_key,
    _drop_names,
    _flip_annotation,
)
OPERATORS = tuple(
    """
    contract-verb contract-name contract-place dropped-rule flipped-style flipped-explode
    escaped-reserved swapped-arguments wrong-media-type lost-encoding wrong-accept no-credential
    less-credentials wrong-credential needless-credential result-key dropped-default wire-name
    flipped-annotation
    """.split()
)
"""Ids of the operators, in the order in which a tool's mutants are created and selected."""

_BOUNDS = (
    "exclusiveMaximum", "exclusiveMinimum", "maxItems", "maxLength", "maxProperties", "maximum",
    "minItems", "minLength", "minProperties", "minimum", "multipleOf",
)  # fmt: skip
_DROPPED = (*_BOUNDS, "enum", "const", "format", "pattern", "type", "uniqueItems")
_MAPS = ("$defs", "properties", "patternProperties")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_ONES = ("additionalProperties", "items", "then", "else")

SCHEMA_OPERATORS = (
    "dropped-required",
    "extra-members",
    *(f"dropped-{keyword}" for keyword in _DROPPED),
)


def make_schema_mutants(package: PackageFiles) -> Iterator[Mutant]:
    """Yield the mutants of the argument schemas, by tool."""
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
            rule = rule or equivalence.of_flat_body(contract.entry, tokens, keyword)
            what = f"`{keyword}` of {shown} is gone"
            yield contract.mutant(f"dropped-{keyword}", (*where, keyword), GONE, what, rule)
    for name in node.get("required", ()):
        less = [other for other in node["required"] if other != name]
        rule = equivalence.of_required(schema, tokens)
        if not tokens and name == contract.entry.get("flat_body", {}).get("argument"):
            rule = rule or "flat-body"
        what = f"{shown} need no `{name}`"
        yield contract.mutant("dropped-required", (*where, "required"), less, what, rule)
    if node.get("additionalProperties") is False:
        rule = equivalence.of_extra_members(schema, tokens, is_listed=root[0] == "listing")
        rule = rule or equivalence.of_flat_body(contract.entry, tokens, "additionalProperties")
        what = f"{shown} may hold what nobody described"
        extra = (*where, "additionalProperties")
        yield contract.mutant("extra-members", extra, True, what, rule)


def _walk_subschemas(schema: Any, tokens: Tokens) -> Iterator[tuple[Tokens, JsonObject]]:
    """Yield a schema and its subschemas, except those in `not` and `if`.

    With fewer keywords, these would make the schema stricter.
    """
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


SERVER_OPERATORS = (
    "credential-name",
    "credential-place",
    "credential-scheme",
    "unset-credential",
    "lost-group",
    "lost-alias",
)
_OTHER_BASE_URL = {"cookie": "header", "header": "query", "query": "header"}
_OTHER_SCHEME = {"basic": "bearer", "bearer": "basic"}


def make_server_mutants(package: PackageFiles) -> Iterator[Mutant]:
    """Yield the mutants of the server's contract; only of credentials that a tool uses."""
    file = f"{package.generated}/contract.json"
    used = {
        scheme
        for _, contract in package.tools.values()
        for requirement in contract["request"].get("security", ())
        for scheme in requirement
    }

    def mutant(operator: str, tokens: Tokens, value: Any, what: str) -> Mutant:
        place = f"{file}#{json_pointer(tokens)}"
        return Mutant(operator, "", place, what, (JsonChange(file, tokens, value),))

    for name, scheme in package.server.get("security_schemes", {}).items():
        tokens: Tokens = ("security_schemes", name)
        if name not in used:
            continue
        if scheme["type"] == "apiKey":
            other = f"{scheme['name']}-Other"
            what = f"`{scheme['name']}` became `{other}`"
            yield mutant("credential-name", (*tokens, "name"), other, what)
            place = _OTHER_BASE_URL[scheme["in"]]
            what = f"`{scheme['name']}` moved from {scheme['in']} to {place}"
            yield mutant("credential-place", (*tokens, "in"), place, what)
        other = _OTHER_SCHEME.get(str(scheme.get("scheme", "")).lower(), "")
        if other:
            what = f"`{name}` is `{other}`"
            yield mutant("credential-scheme", (*tokens, "scheme"), other, what)
    for number, variable in enumerate(package.server.get("environment", ())):
        if variable.get("scheme") in used:
            what = f"`{variable['name']}` belongs to no credential"
            tokens = ("environment", str(number), "scheme")
            yield mutant("unset-credential", tokens, GONE, what)
    for number, group in enumerate(package.server.get("groups", ())):
        yield mutant("lost-group", ("groups", str(number)), GONE, f"`{group}` is not loaded")
    for alias in package.server.get("aliases", {}):
        yield mutant("lost-alias", ("aliases", alias), GONE, f"`{alias}` is forgotten")
