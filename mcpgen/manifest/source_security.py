"""Security that the manifest adds to a document: `sources[].security_schemes` and `security`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from mcpgen.diagnostics import Location, Problems, RejectedError
from mcpgen.ir.api import (
    Api,
    Operation,
    Parameter,
    SchemeUse,
    SecurityRequirement,
    SecurityScheme,
)
from mcpgen.ir.document import Document, SourceFile
from mcpgen.ir.file_set import MANIFEST_FILE
from mcpgen.ir.manifest import LocatedManifest, SourceEntry
from mcpgen.openapi.lower.nodes import Node, Source
from mcpgen.openapi.lower.security import read_schemes
from mcpgen.text.json_pointer import pointer_tokens

_SCHEMES, _SECURITY = "security_schemes", "security"
_WHY = "requests would be sent without the credential"


def with_source_security(api: Api, number: int, intent: LocatedManifest, problems: Problems) -> Api:
    """Apply the security of the source with this number to the API of its document.

    Raises:
        RejectedError: a scheme is incomplete, or `security` names an unknown one.
    """
    entry = intent.manifest.sources[number]
    if not entry.security_schemes and not entry.security:
        return api
    added = _read_schemes(entry, number, intent, problems)
    schemes = {scheme.id: scheme for scheme in (*api.security_schemes, *added)}
    stated = entry.security or ()
    _check_names(stated, schemes, number, intent, problems)
    return add_security(api, added, stated)


def add_security(
    api: Api,
    added: Sequence[SecurityScheme],
    stated: Sequence[Mapping[str, Sequence[str]]],
) -> Api:
    """Add security schemes to an API, and `stated` as the `security` of those without any.

    A scheme whose header, query parameter or cookie is declared by operations is used by these
    operations only. A required parameter makes it necessary, an optional one makes it an
    alternative.
    """
    schemes = {scheme.id: scheme for scheme in (*api.security_schemes, *added)}
    named = {name for requirement in stated for name in requirement}
    concerned = [scheme for scheme in schemes.values() if scheme in added or scheme.id in named]
    declared = {parameter.place for it in api.operations for parameter in _list_parameters(it)}
    carried = {scheme.place: scheme for scheme in concerned if scheme.place in declared}
    elsewhere = {scheme.id for scheme in carried.values()}
    default = tuple(
        dict.fromkeys(
            tuple(
                SchemeUse(name, tuple(scopes))
                for name, scopes in sorted(requirement.items())
                if name not in elsewhere
            )
            for requirement in stated
        )
    )
    return replace(
        api,
        security_schemes=tuple(schemes[name] for name in sorted(schemes)),
        operations=tuple(
            _add_requirement(operation, default, carried) for operation in api.operations
        ),
    )


def _list_parameters(operation: Operation) -> tuple[Parameter, ...]:
    return (*operation.parameters, *operation.reserved)


def _add_requirement(
    operation: Operation,
    default: tuple[SecurityRequirement, ...],
    carried: Mapping[tuple[str, str], SecurityScheme],
) -> Operation:
    alternatives = operation.security
    if not alternatives and not operation.is_public:
        alternatives = default
    required: list[SchemeUse] = []
    optional: list[SchemeUse] = []
    for parameter in _list_parameters(operation):
        if scheme := carried.get(parameter.place):
            (required if parameter.required else optional).append(SchemeUse(scheme.id))
    ways = [_join_requirements(alternative, required) for alternative in alternatives or ((),)]
    # The first alternative that is configured is used: `{}`, which always is, comes last.
    ways += [_join_requirements((use,), required) for use in optional]
    ways.sort(key=lambda way: not way)
    return replace(
        operation,
        security=() if ways == [()] else tuple(dict.fromkeys(ways)),
        parameters=tuple(it for it in operation.parameters if it.place not in carried),
    )


def _join_requirements(one: SecurityRequirement, other: Sequence[SchemeUse]) -> SecurityRequirement:
    """Return the requirement of both (AND), each scheme once."""
    uses = {use.scheme: use for use in (*other, *one)}
    return tuple(uses[name] for name in sorted(uses))


def _read_schemes(
    entry: SourceEntry, number: int, intent: LocatedManifest, problems: Problems
) -> tuple[SecurityScheme, ...]:
    """Read the schemes of a source, by the rules for those of a document."""

    def locate(pointer: str) -> Location:
        return intent.locate(("sources", str(number), *pointer_tokens(pointer)))

    root = {_SCHEMES: msgspec.to_builtins(entry.security_schemes)}
    document = Document(
        root=root,
        version="3.1",
        shown_as=MANIFEST_FILE,
        path=None,
        url=None,
        files=(SourceFile(MANIFEST_FILE, b""),),
        locate=locate,
    )
    found = Problems()
    schemes = read_schemes(Node(root[_SCHEMES], f"/{_SCHEMES}"), Source(document, found))
    for problem in found:
        problems.error(problem.code, problem.message, at=problem.at, why=_WHY, help=problem.help)
    if len(found):
        raise RejectedError
    return schemes


def _check_names(
    stated: Sequence[Mapping[str, Sequence[str]]],
    schemes: Mapping[str, SecurityScheme],
    number: int,
    intent: LocatedManifest,
    problems: Problems,
) -> None:
    unknown = [
        (index, name)
        for index, requirement in enumerate(stated)
        for name in requirement
        if name not in schemes
    ]
    for index, name in unknown:
        known = ", ".join(f"`{scheme}`" for scheme in sorted(schemes))
        problems.error(
            "security-scheme",
            f"unknown security scheme `{name}`",
            at=intent.locate(("sources", str(number), _SECURITY, str(index), name)),
            why=_WHY,
            help=f"known schemes: {known}"
            if known
            else f"declare it under `{_SCHEMES}`, or remove it here if the API needs no credential",
        )
    if unknown:
        raise RejectedError
