"""Credentials that a document declares as parameters, or not at all: detection and settings.

Also finds the other origins to which credentials would be sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, count
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from mcpgen.diagnostics import Place, Problems
from mcpgen.ir.api import Operation, Parameter, SecurityScheme, Server
from mcpgen.ir.credentials import CredentialDestination, HiddenCredential
from mcpgen.ir.manifest import SecuritySchemeEntry
from mcpgen.ir.tool_plan import ServerPlan, ToolPlan, source_prefix
from mcpgen.jsonschema.direction import Shapes
from mcpgen.jsonschema.types import JsonObject, JsonSchema
from mcpgen.plan.naming.words import snake_case
from mcpgen.plan.policy import Policy
from mcpgen.text.hosts import is_confirmed_origin, origin_of
from mcpgen.text.prose import first_sentence
from mcpgen.text.secret_names import (
    describes_credential,
    describes_other,
    is_explicit,
    is_generic,
    is_login,
    mentions_credential,
    requires_credentials,
)

_MOST = 0.5  # of the tools: what so many take belongs to the API, not to one of its resources
_NEARLY_ALL = 0.8
_SOME = 0.1
_LONGEST_DESCRIPTION = 100
_LONGEST_NAME = 60
_FEWEST = 3  # tools; fewer share a name by chance
_BEARER = re.compile(r"\bbearer\b", re.IGNORECASE)
_BASIC = re.compile(r"\bbasic\b", re.IGNORECASE)
_BEARER_SCHEME: JsonObject = {"type": "http", "scheme": "bearer"}


class _Use(Struct, frozen=True):
    """One parameter, or one member of a body, of one tool."""

    tool: ToolPlan
    argument: str  # as the manifest names it: "token", "body.token"
    name: str  # on the wire
    is_required: bool
    description: str
    is_password: bool  # by its format
    at: Place


def find_hidden_credentials(
    plan: ServerPlan, source: str = "", *, is_decided: bool = False
) -> tuple[HiddenCredential, ...]:
    """Find the credentials of one source's API that no security scheme of its document covers.

    Arguments that the manifest names are skipped, since the user has decided about them. With
    `is_decided`, the manifest also declares the security of the source.
    """
    finding = _Finding(plan, source)
    found = [*finding.headers(), *finding.parameters(), *finding.members()]
    covered = {name for it in found for name in it.tools}
    if not is_decided and len(covered) < len(finding.tools) * _MOST:
        found += finding.find_undeclared()
    return tuple(found)


class _Finding:
    def __init__(self, plan: ServerPlan, source: str) -> None:
        self._plan = plan
        self._source = source
        self.tools = [
            tool
            for tool in plan.tools
            if tool.operation.source == source and tool.operation.declared is None
        ]
        # Credentials are ordinary arguments of a login.
        self._logins = {tool.name for tool in self.tools if _is_login(tool)}
        self._others = [tool for tool in self.tools if tool.name not in self._logins]
        schemes = [scheme for scheme in plan.api.security_schemes if scheme.source == source]
        self._schemes = {scheme.id: scheme for scheme in schemes}
        self._shapes = Shapes(plan.api.schemas, "request")
        self._prefix = source_prefix(plan.env_prefix, plan.api.source_of(source))
        self._settings = {variable.name for variable in plan.environment}
        self._settings |= {f"{self._prefix}{it.local_id.upper()}" for it in schemes}

    def headers(self) -> Iterator[HiddenCredential]:
        """Find reserved headers that no security scheme of the tool sets."""
        for name, location in (("authorization", "header"), ("cookie", "cookie")):
            uses = [
                (tool, parameter)
                for tool in self.tools
                for parameter in tool.operation.reserved
                if parameter.name.lower() == name and not self._sets(tool, name, location)
            ]
            if not uses:
                continue
            parameters = [parameter for _, parameter in uses]
            if location == "cookie":
                scheme = self._choose_free_name("session")
                entry: JsonObject = {"type": "apiKey", "in": "cookie", "name": "session"}
            else:
                stem, entry = _choose_authorization_scheme(parameters)
                scheme = self._choose_free_name(stem)
            yield HiddenCredential(
                code="credential-header",
                subject=f"the header `{parameters[0].name}`",
                tools=tuple(tool.name for tool, _ in uses),
                is_certain=location == "header",
                at=parameters[0].at,
                schemes={scheme: entry},
                # No parameter has the name of the cookie, so that the scheme is named as well.
                security=({scheme: ()},) if location == "cookie" else (),
            )

    def _sets(self, tool: ToolPlan, name: str, location: str) -> bool:
        places = [
            self._schemes[use.scheme].place
            for alternative in tool.security
            for use in alternative
            if use.scheme in self._schemes
        ]
        return any(
            place == ("header", name) or place[0] == location == "cookie" for place in places
        )

    def parameters(self) -> Iterator[HiddenCredential]:
        """Find credentials among the parameters that are arguments."""
        of_schemes = {it.place: it.local_id for it in self._schemes.values() if it.type == "apiKey"}
        uses: dict[tuple[str, str], list[_Use]] = {}
        for tool in self.tools:
            for parameter in tool.operation.parameters:
                place = parameter.place
                if place not in of_schemes and not _may_be_credential(parameter.name):
                    continue
                name = _find_argument_name(tool, parameter)
                is_text = "string" in (self._shapes.of(parameter.schema).types or ("string",))
                is_decided = name in tool.stated.entry.parameters
                if name is not None and is_text and not is_decided:
                    uses.setdefault(place, []).append(_use(tool, name, parameter))
        for place, found in sorted(uses.items()):
            scheme = of_schemes.get(place)
            is_certain = True if scheme else self._assess(place[0], found)
            if is_certain is None:
                continue
            subject = f"the {place[0]} parameter `{found[0].name}`"
            if scheme:
                yield _find_argument(subject, found, is_certain, security=({scheme: ()},))
            elif place[0] == "path":
                parameters = self._build_entries(found)
                yield _find_argument(subject, found, is_certain, parameters=parameters)
            else:
                entry = {"type": "apiKey", "in": place[0], "name": found[0].name}
                if about := first_sentence(found[0].description, _LONGEST_DESCRIPTION):
                    entry["description"] = about
                name = self._choose_free_name(snake_case(found[0].name))
                yield _find_argument(subject, found, is_certain, schemes={name: entry})

    def _assess(self, location: str, found: Sequence[_Use]) -> bool | None:
        """Return True for a credential, False for a possible one, None for another parameter."""
        uses = [use for use in found if use.tool.name not in self._logins]
        if not uses or all(describes_other(use.description) for use in uses):
            return None
        share = len(uses) / len(self._others)
        explicit = is_explicit(uses[0].name)
        describes = mentions_credential if explicit else describes_credential
        is_described = any(describes(use.description) for use in uses)
        if location == "path":
            is_shared = share >= _NEARLY_ALL and len(uses) >= _FEWEST
            return is_described if is_shared and (explicit or is_described) else None
        is_secret = is_described or any(use.is_password for use in uses)
        is_alone = len(self._others) == 1
        if explicit and not (is_secret or share >= _SOME):
            return None
        if explicit:
            return share >= _MOST and (len(uses) > 1 or is_secret)
        if share >= _MOST and is_secret and (len(uses) > 1 or is_alone):
            return True
        if len(uses) < _FEWEST:
            return None
        return False if share >= (_SOME if is_secret else _NEARLY_ALL) else None

    def members(self) -> Iterator[HiddenCredential]:
        """Find credentials that nearly all bodies have as a member."""
        bodies = [(tool, body) for tool in self.tools if (body := self._list_properties(tool))]
        with_body = [tool for tool, _ in bodies if tool.name not in self._logins]
        uses: dict[str, list[_Use]] = {}
        for tool, properties in bodies:
            stated = tool.stated.entry.parameters
            for name in properties:
                if _may_be_credential(name) and f"body.{name}" not in stated:
                    use = self._use_of_member(tool, name, properties[name])
                    uses.setdefault(name, []).append(use)
        for name, found in sorted(uses.items()):
            number = sum(use.tool.name not in self._logins for use in found)
            is_shared = number >= max(_FEWEST, _NEARLY_ALL * len(with_body))
            if not is_shared or all(describes_other(use.description) for use in found):
                continue
            is_certain = any(describes_credential(use.description) for use in found)
            if is_certain or is_explicit(name):
                subject, parameters = f"the member `{name}` of the body", self._build_entries(found)
                yield _find_argument(subject, found, is_certain, parameters=parameters)

    def _list_properties(self, tool: ToolPlan) -> Mapping[str, JsonSchema]:
        for argument in tool.arguments:
            if argument.location == "body":
                properties = self._shapes.of(argument.schema).keywords.get("properties", {})
                return {name: it for name, it in properties.items() if it is not False}
        return {}

    def _use_of_member(self, tool: ToolPlan, name: str, schema: JsonSchema) -> _Use:
        body = next(item for item in tool.arguments if item.location == "body")
        required = self._shapes.of(body.schema).keywords.get("required", ())
        keywords = self._shapes.of(schema).keywords
        return _Use(
            tool,
            f"body.{name}",
            name,
            is_required=name in required,
            description=keywords.get("description") or "",
            is_password=keywords.get("format") == "password",
            at=tool.operation.at,
        )

    def _build_entries(self, found: Sequence[_Use]) -> dict[str, dict[str, JsonObject]]:
        """Return the manifest entries that read an argument from the environment, by operation.

        If every operation has a security scheme, the entries hide the argument instead.
        """
        name = self._choose_free_name(snake_case(found[0].name))
        entry: JsonObject = {"from_environment": f"{self._prefix}{name.upper()}", "secret": True}
        if all(use.tool.security and not use.is_required for use in found):
            entry = {"hidden": True}
        if not any(tool.operation.source for tool in self._plan.tools):  # of other sources
            return {"*": {use.argument: entry for use in found}}
        return {use.tool.operation.key: {use.argument: entry} for use in found}

    def _choose_free_name(self, stem: str) -> str:
        """Return a name for a scheme or a setting whose environment variable is free."""
        stem = stem[-_LONGEST_NAME:].strip("_") or "key"
        names = chain([stem, f"{stem}_parameter"], (f"{stem}_{number}" for number in count(2)))
        name = next(it for it in names if f"{self._prefix}{it.upper()}" not in self._settings)
        self._settings.add(f"{self._prefix}{name.upper()}")
        return name

    def find_undeclared(self) -> Iterator[HiddenCredential]:
        """Detect that an API requires a credential although no operation declares security."""
        tools = [tool for tool in self._others if not tool.operation.is_public]
        if not tools or any(tool.security for tool in self.tools):
            return
        refused = [tool for tool in tools if _list_answers(tool.operation, "401")]
        names = tuple(tool.name for tool in tools)
        usable = sorted(it.local_id for it in self._schemes.values() if it.type != "mutualTLS")
        if usable:
            ways: list[Mapping[str, tuple[str, ...]]] = [{name: ()} for name in usable]
            if len(refused) < len(tools):
                ways.append({})
            yield HiddenCredential(
                "no-credentials", "", names, is_certain=True, security=tuple(ways)
            )
        elif self._needs_credential(tools, refused):
            yield HiddenCredential(
                "no-credentials",
                "",
                names,
                is_certain=False,
                schemes={"token": _BEARER_SCHEME},
                security=({"token": ()}, {}),
            )

    def _needs_credential(self, tools: Sequence[ToolPlan], refused: Sequence[ToolPlan]) -> bool:
        most = max(_FEWEST, _MOST * len(tools))
        forbidden = [tool for tool in tools if _list_answers(tool.operation, "403")]
        is_refused = len(refused) >= min(_FEWEST, len(tools)) or len(forbidden) >= most
        if is_refused or requires_credentials(self._plan.api.description):
            return True
        described = [tool for tool in tools if requires_credentials(tool.operation.description)]
        return len(described) >= most


@lru_cache(maxsize=4096)  # many operations have arguments of the same names
def _may_be_credential(name: str) -> bool:
    return is_explicit(name) or is_generic(name)


def _find_argument_name(tool: ToolPlan, parameter: Parameter) -> str | None:
    """Return the name of the argument that sets a parameter; None if there is none."""
    place = parameter.wire_place
    found = (it.name for it in tool.arguments if (it.location, it.wire_name) == place)
    return next(found, None)


def _is_login(tool: ToolPlan) -> bool:
    return is_login(tool.operation.path, tool.operation.operation_id)


def _list_answers(operation: Operation, status: str) -> bool:
    return any(response.status == status for response in operation.responses)


def _use(tool: ToolPlan, argument: str, parameter: Parameter) -> _Use:
    schema = parameter.schema if isinstance(parameter.schema, dict) else {}
    return _Use(
        tool,
        argument,
        parameter.name,
        is_required=parameter.required,
        description=parameter.description or schema.get("description") or "",
        is_password=schema.get("format") == "password",
        at=parameter.at,
    )


def _find_argument(
    subject: str,
    found: Sequence[_Use],
    is_certain: bool,
    *,
    schemes: Mapping[str, JsonObject] | None = None,
    security: tuple[Mapping[str, tuple[str, ...]], ...] = (),
    parameters: Mapping[str, Mapping[str, JsonObject]] | None = None,
) -> HiddenCredential:
    return HiddenCredential(
        code="secret-argument",
        subject=subject,
        tools=tuple(use.tool.name for use in found),
        is_certain=is_certain,
        at=found[0].at,
        schemes=schemes or {},
        security=security,
        parameters=parameters or {},
    )


def _choose_authorization_scheme(parameters: Sequence[Parameter]) -> tuple[str, JsonObject]:
    """Return the name and the scheme of an `Authorization` header, by its descriptions."""
    texts = [
        " ".join([parameter.description, *map(str, parameter.examples)]) for parameter in parameters
    ]
    is_bearer, is_basic = (any(map(it.search, texts)) for it in (_BEARER, _BASIC))
    if is_bearer and not is_basic:
        return "token", _BEARER_SCHEME
    if is_basic and not is_bearer:
        return "basic", {"type": "http", "scheme": "basic"}
    return "authorization", {"type": "apiKey", "in": "header", "name": "Authorization"}


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
    if scheme.credential.from_ in ("header", "exchange"):
        return  # no token is requested at URLs of the document
    # Discovery leads to other origins at run time, so the contract has to state the confirmed ones.
    discovered = origin_of(scheme.openid_connect_url)
    keys: tuple[str, ...] = ("refreshUrl", "tokenUrl")
    if scheme.credential.from_ == "user":
        keys = ("deviceAuthorizationUrl", *keys)
    origins = set(collect_token_origins(scheme.flows, keys)) - {main} | {discovered} - {""}
    for origin in sorted(origins if names else ()):
        is_confirmed = origin in (main, only)
        yield CredentialDestination(
            origin, scheme.source, names, scheme.at, scheme.local_id, is_confirmed
        )


def collect_token_origins(
    flows: Mapping[str, object], keys: Sequence[str] = ("refreshUrl", "tokenUrl")
) -> tuple[str, ...]:
    """Return the origins that OAuth 2 flows send secrets to; relative URLs have none."""
    urls = [
        str(flow[key])
        for flow in flows.values()
        if isinstance(flow, Mapping)
        for key in keys
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
