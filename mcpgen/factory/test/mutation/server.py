"""Faults in the contract of the server as a whole: its credentials, its address, its groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mcpgen.factory.test.mutation.mutants import GONE, JsonChange, Mutant, Tokens
from mcpgen.factory.test.mutation.package import PackageFiles
from mcpgen.text.json_pointer import json_pointer

OPERATORS = {
    "credential-name": "a key under another name",
    "credential-place": "a key in another place of the request",
    "credential-scheme": "`basic` in place of `bearer`, and the other way round",
    "unset-credential": "a setting that belongs to no credential",
    "lost-group": "a group of tools that is not loaded",
    "lost-alias": "a former name of a tool that is forgotten",
}
"""What each operator does, by its id."""

_OTHER_PLACE = {"cookie": "header", "header": "query", "query": "header"}
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
            place = _OTHER_PLACE[scheme["in"]]
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
