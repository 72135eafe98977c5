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
    JsonObject,
    Mutant,
    PackageFiles,
    Tokens,
)
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
    """The contract of one tool, and how a mutant of it is made."""

    def __init__(self, package: PackageFiles, tool: str) -> None:
        self.package = package
        self.tool = tool
        self.file, self.entry = package.tools[tool]

    @property
    def request(self) -> JsonObject:
        """How its request travels."""
        request: JsonObject = self.entry["request"]
        return request

    def with_type(self, parameter: JsonObject) -> JsonObject:
        """Return a parameter with the type of the setting that has its value, if one has."""
        for variable in self.package.server.get("environment", ()):
            if variable["name"] == parameter.get("setting"):
                type_ = variable.get("reads_as", {}).get("type", "string")
                return {**parameter, "type_of_setting": type_}
        return parameter

    def mutant(
        self, operator: str, tokens: Tokens, value: Any, what: str, equivalent: str = ""
    ) -> Mutant:
        """Change one value in the file that states it."""
        file, whole = self.file, ("tools", self.tool, *tokens)
        if tokens[0] == "listing" and self.tool in self.package.listed:
            file, whole = self.package.listing_file, (self.package.listed[self.tool], *tokens[1:])
        place = f"{file}#{json_pointer(whole)}"
        return Mutant(
            operator, self.tool, place, what, (JsonChange(file, whole, value),), equivalent
        )


def make_contract_mutants(package: PackageFiles) -> Iterator[Mutant]:
    """Make every mutant of what the contracts say beside their schemas, by tool."""
    for tool in package.tools:
        contract = Contract(package, tool)
        for _, make in OPERATORS.values():
            yield from make(contract)


def _change_method(contract: Contract) -> Iterator[Mutant]:
    verb = contract.request["method"]
    other = OTHER_VERB.get(verb, "POST")
    yield contract.mutant(
        "contract-verb", ("request", "method"), other, f"`{verb}` became `{other}`"
    )


def _list_parameters(contract: Contract) -> Iterator[tuple[Tokens, JsonObject]]:
    for number, parameter in enumerate(contract.request.get("parameters", ())):
        yield ("request", "parameters", str(number)), parameter


def _rename_parameter(contract: Contract) -> Iterator[Mutant]:
    for tokens, parameter in _list_parameters(contract):
        other = f"{parameter['name']}_"
        what = f"`{parameter['name']}` became `{other}`"
        yield contract.mutant("contract-name", (*tokens, "name"), other, what)


def _move_parameter(contract: Contract) -> Iterator[Mutant]:
    for tokens, parameter in _list_parameters(contract):
        other = _OTHER_PLACE.get(parameter["in"])
        if other:
            what = f"`{parameter['name']}` moved from {parameter['in']} to {other}"
            yield contract.mutant("contract-place", (*tokens, "in"), other, what)


def _drop_rule(contract: Contract) -> Iterator[Mutant]:
    for tokens, parameter in _list_parameters(contract):
        what = f"the rule of `{parameter['name']}` is gone"
        yield contract.mutant("dropped-rule", tokens, GONE, what)


def _change_style(contract: Contract) -> Iterator[Mutant]:
    for tokens, parameter in _list_parameters(contract):
        style = parameter.get("style", "")
        other = _OTHER_STYLE.get(style, "")
        if other and other in _STYLES_OF.get(parameter["in"], {other}):
            rule = equivalence.of_style(contract.entry, contract.with_type(parameter), other)
            what = f"the style of `{parameter['name']}` is `{other}`, not `{style}`"
            yield contract.mutant("flipped-style", (*tokens, "style"), other, what, rule)


def _flip_explode(contract: Contract) -> Iterator[Mutant]:
    for tokens, parameter in _list_parameters(contract):
        if parameter.get("style"):
            explode = not parameter.get("explode", False)
            rule = equivalence.of_explode(contract.entry, contract.with_type(parameter))
            what = f"`explode` of `{parameter['name']}` is {str(explode).lower()}"
            yield contract.mutant("flipped-explode", (*tokens, "explode"), explode, what, rule)


def _escape_reserved(contract: Contract) -> Iterator[Mutant]:
    for tokens, parameter in _list_parameters(contract):
        if parameter.get("allow_reserved"):
            what = f"reserved characters of `{parameter['name']}` are escaped"
            yield contract.mutant("escaped-reserved", (*tokens, "allow_reserved"), False, what)


def _swap_arguments(contract: Contract) -> Iterator[Mutant]:
    arguments = contract.entry.get("arguments", {})
    for (one, keyword), (other, other_keyword) in pairwise(arguments.items()):
        swapped = {**arguments, one: other_keyword, other: keyword}
        what = f"`{one}` and `{other}` reach the handler in each other's place"
        yield contract.mutant("swapped-arguments", ("arguments",), swapped, what)


def _change_media_type(contract: Contract) -> Iterator[Mutant]:
    for number, entry in enumerate(contract.request.get("body", {}).get("media_types", ())):
        kind = entry["media_type"]
        other = _OTHER_MEDIA_TYPE.get(kind, "application/json")
        tokens = ("request", "body", "media_types", str(number), "media_type")
        what = f"the body is `{other}`, not `{kind}`"
        yield contract.mutant("wrong-media-type", tokens, other, what)


def _drop_encoding(contract: Contract) -> Iterator[Mutant]:
    for number, entry in enumerate(contract.request.get("body", {}).get("media_types", ())):
        for name in entry.get("encoding", {}):
            tokens = ("request", "body", "media_types", str(number), "encoding", name)
            what = f"how `{name}` of the body travels is forgotten"
            yield contract.mutant("lost-encoding", tokens, GONE, what)


def _change_accept(contract: Contract) -> Iterator[Mutant]:
    if contract.request.get("accept") and "outputSchema" in contract.entry["listing"]:
        accept = ["text/x-other"]
        what = "another media type is asked for"
        yield contract.mutant("wrong-accept", ("request", "accept"), accept, what)


def _drop_credentials(contract: Contract) -> Iterator[Mutant]:
    if any(contract.request.get("security", ())):
        what = "no credential is sent"
        yield contract.mutant("no-credential", ("request", "security"), [], what)


def _list_credentials(contract: Contract) -> Iterator[tuple[Tokens, JsonObject, str]]:
    """Each scheme of each alternative, with where the alternative stands."""
    for number, requirement in enumerate(contract.request.get("security", ())):
        for scheme in requirement:
            yield ("request", "security", str(number)), requirement, scheme


def _drop_one_credential(contract: Contract) -> Iterator[Mutant]:
    for tokens, requirement, scheme in _list_credentials(contract):
        less = {name: scopes for name, scopes in requirement.items() if name != scheme}
        if less:
            what = f"`{scheme}` is not sent along"
            yield contract.mutant("less-credentials", tokens, less, what)


def _swap_credential(contract: Contract) -> Iterator[Mutant]:
    for tokens, requirement, scheme in _list_credentials(contract):
        others = sorted(contract.package.server["security_schemes"].keys() - requirement.keys())
        for other in others[:1]:
            swapped = {(other if name == scheme else name): it for name, it in requirement.items()}
            what = f"`{other}` is sent in place of `{scheme}`"
            yield contract.mutant("wrong-credential", tokens, swapped, what)


def _add_credential(contract: Contract) -> Iterator[Mutant]:
    schemes = sorted(contract.package.server.get("security_schemes", {}))
    if schemes and not any(contract.request.get("security", ())):
        what = f"`{schemes[0]}` is sent where no credential belongs"
        value: list[JsonObject] = [{schemes[0]: []}]
        yield contract.mutant("needless-credential", ("request", "security"), value, what)


def _change_result_key(contract: Contract) -> Iterator[Mutant]:
    key = contract.entry.get("result_key", "")
    if "outputSchema" not in contract.entry["listing"]:
        return
    if key:
        rule = equivalence.of_result_key(contract.entry)
        what = "the result is no longer wrapped"
        yield contract.mutant("result-key", ("result_key",), "", what, rule)
    else:
        what = "the result is wrapped"
        yield contract.mutant("result-key", ("result_key",), "result", what)


def _drop_default(contract: Contract) -> Iterator[Mutant]:
    for name in contract.entry.get("defaults", {}):
        what = f"the default of `{name}` is gone"
        yield contract.mutant("dropped-default", ("defaults", name), GONE, what)


def _drop_wire_name(contract: Contract) -> Iterator[Mutant]:
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


Make = Callable[[Contract], Iterator[Mutant]]
OPERATORS: dict[str, tuple[str, Make]] = {
    "contract-verb": ("another HTTP method", _change_method),
    "contract-name": ("a parameter under another name", _rename_parameter),
    "contract-place": ("a parameter in another place of the request", _move_parameter),
    "dropped-rule": ("a parameter whose rule is gone", _drop_rule),
    "flipped-style": ("another style of a parameter", _change_style),
    "flipped-explode": ("`explode` the other way round", _flip_explode),
    "escaped-reserved": ("reserved characters that must stay are escaped", _escape_reserved),
    "swapped-arguments": ("two arguments in each other's place", _swap_arguments),
    "wrong-media-type": ("a body of another media type", _change_media_type),
    "lost-encoding": ("a member of a form that travels differently", _drop_encoding),
    "wrong-accept": ("another media type is asked for", _change_accept),
    "no-credential": ("no credential", _drop_credentials),
    "less-credentials": ("one credential of two that belong together", _drop_one_credential),
    "wrong-credential": ("another credential", _swap_credential),
    "needless-credential": ("a credential where none belongs", _add_credential),
    "result-key": ("a result in another shape", _change_result_key),
    "dropped-default": ("a default that is not sent", _drop_default),
    "wire-name": ("a member of an argument under its own name", _drop_wire_name),
    "flipped-annotation": ("an annotation that says the opposite", _flip_annotation),
}
"""What each operator does, by its id, and how."""


_BOUNDS = (
    "exclusiveMaximum", "exclusiveMinimum", "maxItems", "maxLength", "maxProperties", "maximum",
    "minItems", "minLength", "minProperties", "minimum", "multipleOf",
)  # fmt: skip
_DROPPED = (*_BOUNDS, "enum", "const", "format", "pattern", "type", "uniqueItems")
_MAPS = ("$defs", "properties", "patternProperties")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_ONES = ("additionalProperties", "items", "then", "else")

SCHEMA_OPERATORS = {
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


SERVER_OPERATORS = {
    "credential-name": "a key under another name",
    "credential-place": "a key in another place of the request",
    "credential-scheme": "`basic` in place of `bearer`, and the other way round",
    "unset-credential": "a setting that belongs to no credential",
    "lost-group": "a group of tools that is not loaded",
    "lost-alias": "a former name of a tool that is forgotten",
}
"""What each operator does, by its id."""

_OTHER_BASE_URL = {"cookie": "header", "header": "query", "query": "header"}
_OTHER_SCHEME = {"basic": "bearer", "bearer": "basic"}


def make_server_mutants(package: PackageFiles) -> Iterator[Mutant]:
    """Make every mutant of the server's contract; of credentials, of those that a tool uses."""
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
