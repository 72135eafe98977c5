"""Credential destinations: origins other than the API's own to which credentials would be sent."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlsplit

from msgspec.structs import replace

from mcpgen.diagnostics import Problems
from mcpgen.ir.api import SecurityScheme, Server
from mcpgen.ir.credentials import CredentialDestination
from mcpgen.ir.manifest import SecuritySchemeEntry
from mcpgen.ir.tool_plan import ServerPlan, ToolPlan
from mcpgen.plan.policy import Policy
from mcpgen.text.origins import is_confirmed_origin, origin_of

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_ONLY_PLACEHOLDER = re.compile(r"[^:]*://\{[^{}]*\}(:.*)?")
_REGISTRABLE = re.compile(r"[^{}]*\.[^.{}]+\.[^.{}]+")
_SHOWN = 5


def with_destinations(plan: ServerPlan, confirmed: Mapping[str, Sequence[str]]) -> ServerPlan:
    """Add the destinations of credentials to a plan; `confirmed` are origins, by source."""
    sources = sorted({tool.operation.source for tool in plan.tools} | {""})
    found = [it for source in sources for it in _iterate_destinations(plan, source)]
    return replace(
        plan,
        credential_origins={name: tuple(confirmed[name]) for name in sorted(confirmed)},
        destinations=tuple(
            replace(it, is_confirmed=it.is_confirmed or _is_in(it, confirmed.get(it.source, ())))
            for it in found
        ),
    )


def collect_confirmed_origins(policy: Policy) -> dict[str, tuple[str, ...]]:
    """Return the origins that the manifest confirms for credentials, by source.

    This includes the origins of token URLs in the manifest.
    """
    manifest = policy.manifest
    confirmed = {"": _collect_scheme_origins(manifest.security_schemes)}
    for name, entry in zip(policy.source_names, manifest.sources, strict=False):
        stated = (*entry.credential_origins, *_collect_scheme_origins(entry.security_schemes))
        confirmed[name] = (*confirmed.get(name, ()), *stated)
    return {name: origins for name, origins in confirmed.items() if origins}


def _collect_scheme_origins(schemes: Mapping[str, SecuritySchemeEntry]) -> tuple[str, ...]:
    return tuple(
        origin for entry in schemes.values() for origin in collect_token_origins(entry.flows)
    )


def is_confirmed_destination(plan: ServerPlan, origin: str) -> bool:
    """Check whether an origin is a confirmed destination of credentials."""
    return any(
        it.is_confirmed and (it.origin == origin or _is_in(it, (origin,)))
        for it in plan.destinations
    )


def _is_in(destination: CredentialDestination, confirmed: Sequence[str]) -> bool:
    return destination.origin in map(_spell, confirmed) or is_confirmed_origin(
        destination.origin, confirmed
    )


def _spell(origin: str) -> str:
    return origin.rstrip("/").lower() if "{" in origin else origin_of(origin)


def _iterate_destinations(plan: ServerPlan, source: str) -> Iterator[CredentialDestination]:
    """Find the destinations of one source.

    The main server of its document is not included. If the document has no main server, the only
    origin of all operations counts as confirmed.
    """
    tools = [tool for tool in plan.tools if tool.operation.source == source]
    servers = plan.servers_of(source)
    main = origin_of(_fill_in_defaults(servers[0])) if servers else ""
    origins = {origin for tool in tools if (origin := _find_origin(tool))}
    only = origins.pop() if not main and len(origins) == 1 else ""
    of_servers: dict[str, list[ToolPlan]] = {}
    for tool in filter(_carries_credentials, tools):
        if _find_origin(tool) not in ("", main):
            of_servers.setdefault(_show_server(tool.operation.servers[0]), []).append(tool)
    for origin, concerned in sorted(of_servers.items()):
        names = tuple(tool.name for tool in concerned)
        is_only = _find_origin(concerned[0]) == only
        yield CredentialDestination(
            origin, source, names, concerned[0].operation.at, is_confirmed=is_only
        )
    users = _group_tools_by_scheme(plan)
    for scheme in plan.api.security_schemes:
        if scheme.source == source:
            yield from _find_token_destinations(scheme, tuple(users.get(scheme.id, ())), main, only)


def _group_tools_by_scheme(plan: ServerPlan) -> dict[str, list[str]]:
    """Return the names of the tools that use each security scheme."""
    users: dict[str, list[str]] = {}
    for tool in plan.tools:
        for scheme in {use.scheme for way in tool.security for use in way}:
            users.setdefault(scheme, []).append(tool.name)
    return users


def _find_token_destinations(
    scheme: SecurityScheme, names: tuple[str, ...], main: str, only: str
) -> Iterator[CredentialDestination]:
    # Discovery leads elsewhere at run time, so the contract has to state what is confirmed.
    discovered = origin_of(scheme.openid_connect_url)
    origins = set(collect_token_origins(scheme.flows)) - {main} | {discovered} - {""}
    for origin in sorted(origins if names else ()):
        is_confirmed = origin in (main, only)
        yield CredentialDestination(
            origin, scheme.source, names, scheme.at, scheme.local_id, is_confirmed
        )


def collect_token_origins(flows: Mapping[str, object]) -> tuple[str, ...]:
    """Return the origins that OAuth 2 flows send secrets to; relative URLs have none."""
    urls = [
        str(flow[key])
        for flow in flows.values()
        if isinstance(flow, Mapping)
        for key in ("refreshUrl", "tokenUrl")
        if flow.get(key)
    ]
    return tuple(sorted({origin_of(url) for url in urls} - {""}))


def _carries_credentials(tool: ToolPlan) -> bool:
    has_secret = any(fixed.setting is not None and fixed.setting.secret for fixed in tool.fixed)
    return has_secret or any(tool.security)


def _find_origin(tool: ToolPlan) -> str:
    """Return the origin of a tool's requests; "" if only the environment decides it."""
    servers = tool.operation.servers
    origin = origin_of(_fill_in_defaults(servers[0])) if servers else ""
    return "" if _ONLY_PLACEHOLDER.fullmatch(origin) else origin


def _fill_in_defaults(server: Server) -> str:
    defaults = {variable.name: variable.default for variable in server.variables}
    return _PLACEHOLDER.sub(lambda match: defaults.get(match[1]) or match[0], server.url)


def _show_server(server: Server) -> str:
    """Return the origin to confirm, with host variables only if a domain follows them."""
    try:
        host = urlsplit(server.url).hostname or ""
    except ValueError:
        host = ""
    has_domain = "{" in host and _REGISTRABLE.search(f".{host.rpartition('}')[2]}") is not None
    return origin_of(server.url if has_domain else _fill_in_defaults(server))


def report_destinations(plan: ServerPlan, problems: Problems) -> None:
    """Report the destinations that the manifest does not confirm."""
    for it in plan.destinations:
        if it.is_confirmed:
            continue
        shown = ", ".join(f"`{name}`" for name in it.tools[:_SHOWN])
        more = f" and {len(it.tools) - _SHOWN:,} more" if len(it.tools) > _SHOWN else ""
        origins = sorted({*plan.credential_origins.get(it.source, ()), it.origin})
        entry = ", ".join(f'"{origin}"' for origin in origins)
        problems.warning(
            "credential-destination",
            f"credentials would be sent to another origin: {it.origin}",
            at=it.at,
            why=f"{it.subject_phrase} would send them there, and not to the API's own server, so"
            f" these calls are refused until you confirm the origin. Tools: {shown}{more}",
            help="if it belongs to the API, write in mcpgen.yaml, in the entry of the source:"
            f" `credential_origins: [{entry}]`",
        )
