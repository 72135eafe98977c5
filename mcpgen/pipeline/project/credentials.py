"""Credentials that a document hides: `new` writes manifest entries, other commands report them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from mcpgen.diagnostics import Location, Problems
from mcpgen.ir.api import Api
from mcpgen.ir.credentials import CredentialDestination, HiddenCredential
from mcpgen.ir.file_set import MANIFEST_FILE
from mcpgen.ir.manifest import LocatedManifest, SourceEntry
from mcpgen.ir.manifest_entries import OperationEntry
from mcpgen.ir.tool_plan import EnvironmentVariable, ServerPlan
from mcpgen.jsonschema.types import JsonObject
from mcpgen.manifest.source_security import with_source_security
from mcpgen.plan.arguments.credentials import (
    find_hidden_credentials,
    is_confirmed_destination,
    with_destinations,
)
from mcpgen.plan.policy import Policy
from mcpgen.render.manifest_yaml import in_flow, join_security
from mcpgen.text.hosts import origin_of

Confirm = Callable[[CredentialDestination], bool]
"""Decides whether an origin may receive credentials."""
Decide = Callable[[HiddenCredential], HiddenCredential]
"""Decides about one credential: `is_certain` of the returned one makes the entry active."""


def with_credentials(
    api: Api, policy: Policy, credentials: Sequence[HiddenCredential], problems: Problems
) -> tuple[Api, Policy]:
    """Apply the active entries of a manifest that is yet to be written."""
    active = [it for it in credentials if it.is_certain]
    source = msgspec.convert({"document": "openapi.yaml", **source_keys(active)}, SourceEntry)
    stated: JsonObject = {}
    for it in active:
        for operation, entries in it.parameters.items():
            stated.setdefault(operation, {"parameters": {}})["parameters"] |= entries
    operations = {key: msgspec.convert(entry, OperationEntry) for key, entry in stated.items()}
    manifest = policy.manifest
    secured = LocatedManifest(
        replace(manifest, sources=(source,)), lambda _: Location(MANIFEST_FILE)
    )
    intent = LocatedManifest(
        replace(manifest, operations=operations), policy.intent.locate, {"operations": stated}
    )
    return with_source_security(api, 0, secured, problems), replace(policy, intent=intent)


def with_confirmed(
    plan: ServerPlan, origins: Sequence[str], confirm: Confirm | None, problems: Problems
) -> ServerPlan:
    """Apply what the user confirms as destinations of credentials: `origins`, and by answers.

    An origin that no credential would go to is reported as an error.
    """
    confirmed = tuple(origin_of(origin) for origin in origins)
    plan = with_destinations(plan, {"": confirmed} if confirmed else {})
    known = sorted({it.origin for it in plan.destinations})
    for text, origin in zip(origins, confirmed, strict=True):
        if not is_confirmed_destination(plan, origin):
            problems.error(
                "confirm-origin",
                f"no credential would be sent to the origin `{text}`",
                why="the option is for origins that the document names beside that of its API",
                help=f"use one of {', '.join(known)}" if known else "leave the option out",
            )
    if confirm is not None:
        unconfirmed = {it.origin: it for it in plan.destinations if not it.is_confirmed}
        confirmed += tuple(origin for origin, it in unconfirmed.items() if confirm(it))
    return with_destinations(plan, {"": confirmed} if confirmed else {})


def source_keys(credentials: Sequence[HiddenCredential]) -> JsonObject:
    """Return the keys of an entry of `sources` that declare these credentials."""
    schemes = {name: dict(scheme) for it in credentials for name, scheme in it.schemes.items()}
    security = [
        {name: list(scopes) for name, scopes in requirement.items()}
        for requirement in join_security(credentials)
    ]
    keys: JsonObject = {"security_schemes": schemes, "security": security}
    return {key: value for key, value in keys.items() if value}


def report_decided(
    credentials: Sequence[HiddenCredential], plan: ServerPlan, problems: Problems
) -> None:
    """Report what `new` wrote into the manifest; `plan` is the one with the active entries."""
    for credential in credentials:
        if credential.is_denied:
            continue
        if not credential.is_certain:
            _warn(
                credential,
                problems,
                "mcpgen.yaml has the entry as a comment: remove the `#`, and run `mcpgen generate`",
            )
            continue
        settings = _settings_of(credential, plan)
        shown = " and ".join(f"`{setting.name}`" for setting in settings)
        problems.note(
            credential.code,
            f"{_tools(credential)} read a credential from the environment",
            at=credential.at,
            why=f"{credential.sentence} {_format_list(credential)}",
            help=f"set {shown}; mcpgen.yaml has the entry" if shown else "see mcpgen.yaml",
        )


def report_hidden(plan: ServerPlan, sources: Mapping[str, SourceEntry], problems: Problems) -> None:
    """Report the credentials that neither the documents nor the manifest declare.

    `sources` are by the prefix of their operation keys.
    """
    for name, source in sources.items():
        for credential in find_hidden_credentials(
            plan, name, is_decided=source.security is not None
        ):
            _warn(credential, problems, _entry(credential))


def _warn(credential: HiddenCredential, problems: Problems, help: str) -> None:
    message = {
        "no-credentials": f"{_tools(credential)} send no credential, and the API seems to need one",
        "credential-header": f"{_tools(credential)} cannot send {credential.subject}",
        "secret-argument": f"{_tools(credential)} take a secret as an argument",
    }[credential.code]
    problems.warning(
        credential.code,
        message,
        at=credential.at,
        why=f"{credential.sentence} {_format_list(credential)}",
        help=help,
    )


def _entry(credential: HiddenCredential) -> str:
    """Return the manifest's entry for a credential on one line."""
    parts = []
    if credential.schemes:
        parts.append(f"security_schemes: {in_flow(dict(credential.schemes))}")
    if credential.security:
        parts.append(f"security: {in_flow(list(credential.security))}")
    if parts:
        shown = f"write in mcpgen.yaml, in the entry of the source: `{', '.join(parts)}`"
    else:
        operation, parameters = next(iter(credential.parameters.items()))
        entry = in_flow({operation: {"parameters": parameters}})
        shown = f"write in mcpgen.yaml: `operations: {entry}`"
        if len(credential.parameters) > 1:
            shown += f", and the same for {len(credential.parameters) - 1} other operations"
    if credential.code == "no-credentials":
        return f"{shown}; or `security: []`, if it needs none"
    return shown


def _settings_of(credential: HiddenCredential, plan: ServerPlan) -> tuple[EnvironmentVariable, ...]:
    named = {name for requirement in credential.security for name in requirement}
    named |= credential.schemes.keys()
    settings = {
        entry["from_environment"]
        for entries in credential.parameters.values()
        for entry in entries.values()
        if "from_environment" in entry
    }
    return tuple(it for it in plan.environment if it.scheme in named or it.name in settings)


def _tools(credential: HiddenCredential) -> str:
    number = len(credential.tools)
    return f"{number:,} tool{'' if number == 1 else 's'}"


def _format_list(credential: HiddenCredential) -> str:
    shown = [f"`{name}`" for name in credential.tools[:_SHOWN]]
    more = len(credential.tools) - len(shown)
    return f"Tools: {', '.join(shown)}{f' and {more:,} more' if more else ''}"


_SHOWN = 5
