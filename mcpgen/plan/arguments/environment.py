"""Environment variables of a server: base URLs, server variables, credentials, its own settings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import urlsplit

from msgspec.structs import replace

from mcpgen.contract.server_settings import BY_NAME, SERVER_SETTINGS
from mcpgen.ir.api import Api, ApiSource, Operation, SecurityScheme, Server
from mcpgen.ir.tool_plan import EnvironmentVariable, source_prefix
from mcpgen.plan.arguments.settings import count_operation_usage
from mcpgen.plan.naming.words import digest, snake_case
from mcpgen.text.hosts import is_private
from mcpgen.text.prose import first_sentence, plain_line

_OAUTH_PARTS = ("client_id", "client_secret", "refresh_token", "access_token")
_PARTS: dict[str, tuple[str, ...]] = {
    "http basic": ("username", "password"),
    "mutualTLS": ("certificate_file", "key_file"),
    "oauth2": _OAUTH_PARTS,
    "openIdConnect": _OAUTH_PARTS,
}
_PUBLIC_PARTS = frozenset({"username", "client_id", "certificate_file", "key_file"})
SWITCH = BY_NAME["ALLOW_PRIVATE"].choices
_PARTS_OF_OWN = {"ALLOW_PRIVATE": "switch", "CA_FILE": "ca_file"}  # those that are no text
_PART_IN_WORDS = {
    "username": "User name",
    "password": "Password",
    "client_id": "OAuth 2 client id",
    "client_secret": "OAuth 2 client secret",
    "refresh_token": "OAuth 2 refresh token",
    "access_token": "OAuth 2 access token",
    "certificate_file": "Path of the client certificate",
    "key_file": "Path of the client certificate's key",
}


def plan_environment(
    api: Api,
    operations: tuple[Operation, ...],
    prefix: str,
    *,
    takes_files: bool,
    has_search: bool = False,
    has_handles: bool = False,
    asks_users: bool = False,
) -> tuple[EnvironmentVariable, ...]:
    """Return the environment variables that a server of these operations reads."""
    of_calls: list[EnvironmentVariable] = []
    for source in _list_sources(api, operations):
        own = [operation for operation in operations if operation.source == source.name]
        of_calls += _plan_addresses(source, own, source_prefix(prefix, source))
    of_calls += _plan_credentials(api, operations, prefix)
    of_calls += _plan_own_settings(prefix, {"document_urls": _names_url(api, operations)})
    has_accounts = _takes_credentials_from("user", api, operations)
    facts = {
        "requests": bool(operations),
        "files": takes_files,
        "search": has_search,
        "handles": has_handles,
        "questions": asks_users or has_accounts,
        "exchange": _takes_credentials_from("exchange", api, operations),
        "user": has_accounts,
    }
    return (
        *count_operation_usage(of_calls, api, operations, prefix),
        *_plan_own_settings(prefix, facts),
    )


def _plan_own_settings(prefix: str, facts: Mapping[str, bool]) -> list[EnvironmentVariable]:
    """Return the settings of the runtime that the contract lists because of these facts."""
    return [
        EnvironmentVariable(
            prefix + setting.name,
            setting.description,
            secret=setting.secret,
            part=_PARTS_OF_OWN.get(setting.name, ""),
            choices=setting.choices,
        )
        for setting in SERVER_SETTINGS
        if facts.get(setting.in_contract)
    ]


def _takes_credentials_from(source: str, api: Api, operations: tuple[Operation, ...]) -> bool:
    """Check whether a security scheme that an operation uses has this source (`from`)."""
    used = {use.scheme for it in operations for way in it.security for use in way}
    schemes = (scheme for scheme in api.security_schemes if scheme.id in used)
    return any(scheme.credential.from_ == source for scheme in schemes)


def _list_sources(api: Api, operations: tuple[Operation, ...]) -> list[ApiSource]:
    """Return the sources whose APIs the operations call."""
    used = {operation.source for operation in operations}
    unnamed = [replace(api.source_of(""), servers=api.servers)] if "" in used or not used else []
    return unnamed + [source for source in api.sources if source.name and source.name in used]


def _plan_addresses(
    source: ApiSource, operations: Sequence[Operation], prefix: str
) -> list[EnvironmentVariable]:
    """Return the variables for the URL of one API."""
    own = (server for operation in operations for server in operation.servers)
    return [
        _plan_base_url(source, operations, prefix),
        *_plan_server_variables([*source.servers, *own], prefix),
    ]


def _names_url(api: Api, operations: tuple[Operation, ...]) -> bool:
    """Check whether a URL in the document determines the destination of some request."""
    if any(_is_absolute(operation.servers) for operation in operations):
        return True
    used = {use.scheme for it in operations for way in it.security for use in way}
    schemes = (
        scheme
        for scheme in api.security_schemes
        if scheme.id in used and scheme.credential.from_ in ("environment", "user")
    )
    return any(scheme.type in ("oauth2", "openIdConnect") for scheme in schemes)


def _plan_base_url(
    source: ApiSource, operations: Sequence[Operation], prefix: str
) -> EnvironmentVariable:
    is_known = all(_is_absolute(operation.servers) for operation in operations)
    is_at_home = any(_is_at_home(operation.servers) for operation in operations)
    example = source.servers[0].url if _is_absolute(source.servers) else ""
    about = ". By default, that of the document." if is_known else "; the document has none."
    api = f"the API `{source.name}`" if source.name else "the API"
    if is_at_home:
        about = "; the document has a private one, which the operator must confirm."
    return EnvironmentVariable(
        name=f"{prefix}BASE_URL",
        description=f"Base URL of {api}{about}",
        example=example or "https://api.example.com",
    )


def _is_absolute(servers: tuple[Server, ...]) -> bool:
    return bool(servers) and re.match(r"https?://|\{", servers[0].url) is not None


def _is_at_home(servers: tuple[Server, ...]) -> bool:
    """Check whether the first server is this machine or in a private network."""
    host = urlsplit(servers[0].url).hostname if _is_absolute(servers) else None
    return is_private(host or "")


def _plan_server_variables(servers: Iterable[Server], prefix: str) -> list[EnvironmentVariable]:
    found: dict[str, EnvironmentVariable] = {}
    for server in servers:
        for variable in server.variables:
            name, choices = f"{prefix}SERVER_{_spell_upper(variable.name)}", variable.enum
            about = first_sentence(variable.description, 160)
            about = about or f"`{{{variable.name}}}` of the address."
            planned = EnvironmentVariable(
                name=name,
                description=about + (f" One of {', '.join(choices)}." if choices else ""),
                example=variable.default,
                choices=choices,
            )
            found.setdefault(name, planned)
    return [found[name] for name in sorted(found)]


def _plan_credentials(
    api: Api, operations: tuple[Operation, ...], prefix: str
) -> list[EnvironmentVariable]:
    used = {use.scheme for it in operations for way in it.security for use in way}
    schemes = [scheme for scheme in api.security_schemes if scheme.id in used]
    stems = _choose_credential_stems(api, schemes, prefix)
    return [
        EnvironmentVariable(
            name=_spell_setting(stems[scheme.id], part),
            description=_describe_part(scheme, part),
            secret=part not in _PUBLIC_PARTS,
            scheme=scheme.id,
            part=part,
        )
        for scheme in schemes
        for part in _list_parts(scheme)
    ]


def _choose_credential_stems(
    api: Api, schemes: Sequence[SecurityScheme], prefix: str
) -> dict[str, str]:
    """Choose the prefix of each scheme's settings, by scheme id.

    A published prefix stays, and no new prefix collides with it.
    """
    stems: dict[str, str] = {}
    for scheme in schemes:
        published = api.source_of(scheme.source).published_settings.get(scheme.local_id, "")
        if published.startswith(_choose_credential_prefix(api, scheme, prefix)):
            stems[scheme.id] = published
    sources = [source_prefix(prefix, source) for source in (ApiSource(""), *api.sources)]
    taken = {f"{prefix}{setting.name}" for setting in SERVER_SETTINGS}
    taken |= {f"{each}BASE_URL" for each in sources}
    kinds = {scheme.id: scheme for scheme in schemes}
    taken |= {name for id_, stem in stems.items() for name in _spell_settings(stem, kinds[id_])}
    for scheme in sorted(schemes, key=lambda scheme: (bool(scheme.source), scheme.id)):
        if scheme.id in stems:
            continue
        stem = _choose_credential_prefix(api, scheme, prefix) + _spell_upper(scheme.local_id)
        is_server = any(stem.startswith(f"{each}SERVER_") for each in sources)
        if is_server or taken & _spell_settings(stem, scheme):
            stem = f"{stem}_{digest(scheme.id).upper()}"
        stems[scheme.id] = stem
        taken |= _spell_settings(stem, scheme)
    return stems


def _spell_settings(stem: str, scheme: SecurityScheme) -> set[str]:
    return {_spell_setting(stem, part) for part in _list_parts(scheme)}


def _spell_setting(stem: str, part: str) -> str:
    return stem if part == "value" else f"{stem}_{part.upper()}"


def _choose_credential_prefix(api: Api, scheme: SecurityScheme, prefix: str) -> str:
    source = api.source_of(scheme.source)
    if source.credentials:
        return f"{source.credentials.rstrip('_')}_"
    return source_prefix(prefix, source)


def _list_parts(scheme: SecurityScheme) -> tuple[str, ...]:
    """Return the parts of a scheme's credential that are settings of the server."""
    if scheme.credential.from_ == "user":
        return ("client_id", "client_secret")
    if scheme.credential.from_ != "environment":
        return ()
    return _PARTS.get(f"{scheme.type} {scheme.http_scheme}".strip(), ("value",))


def _describe_part(scheme: SecurityScheme, part: str) -> str:
    if scheme.type == "apiKey":
        place = "query parameter" if scheme.location == "query" else scheme.location
        what = f"API key, sent as the {place} `{plain_line(scheme.name)}`"
    elif part == "value":
        what = "Bearer token" if scheme.http_scheme == "bearer" else "Value of `Authorization`"
    else:
        what = _PART_IN_WORDS[part]
    about = first_sentence(scheme.description, 160)
    return f"{what}. {about}".strip()


def _spell_upper(text: str) -> str:
    return snake_case(text).upper() or "VALUE"
