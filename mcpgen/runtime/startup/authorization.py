"""Authorization of callers, from the settings: their problems, and the configured authorization."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from mcpgen.contract.extras import MissingExtraError, is_installed
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.startup.server_settings import ServerSettings, list_shadowed

if TYPE_CHECKING:
    from mcpgen.runtime.auth.authorizer import Authorizer
    from mcpgen.runtime.auth.scopes import ScopeRules
    from mcpgen.runtime.content import JsonObject
    from mcpgen.runtime.handlers.declared import Declared
    from mcpgen.runtime.transports.http.authorization import HttpAuthorization
    from mcpgen.runtime.upstream.http.messages import Sender

_SETTINGS: Final = (
    "AUTH_ISSUER",
    "AUTH_AUDIENCE",
    "AUTH_JWKS_URL",
    "AUTH_INTROSPECTION_URL",
    "AUTH_CLIENT_ID",
    "AUTH_CLIENT_SECRET",
    "AUTH_SCOPES",
    "AUTH_TOKENS_FILE",
)
_READ: Final = frozenset({*_SETTINGS, "PUBLIC_URL"})
_REQUIRES: Final = (
    ("AUTH_AUDIENCE", "AUTH_ISSUER"),
    ("AUTH_JWKS_URL", "AUTH_ISSUER"),
    ("AUTH_INTROSPECTION_URL", "AUTH_ISSUER"),
    ("AUTH_CLIENT_ID", "AUTH_INTROSPECTION_URL"),
    ("AUTH_CLIENT_SECRET", "AUTH_INTROSPECTION_URL"),
    ("AUTH_CLIENT_SECRET", "AUTH_CLIENT_ID"),
)


def is_authorization_set(contract: JsonObject, environ: Mapping[str, str]) -> bool:
    """Return whether any setting of authorization has a value: the server must not serve all."""
    prefix, others = contract.get("env_prefix", ""), list_shadowed(contract)
    variables = (prefix + name for name in _SETTINGS)
    return any(environ.get(it, "").strip() for it in variables if it not in others)


def find_authorization_problems(
    contract: JsonObject, environ: Mapping[str, str]
) -> list[ConfigurationError]:
    """Return inconsistent settings of authorization, and a missing extra.

    Invalid values are reported by `find_invalid_settings`; as long as there are some, the others
    cannot be judged.
    """
    if not is_authorization_set(contract, environ):
        return []
    settings = ServerSettings.from_contract(contract, environ)
    if {error.setting for error in settings.find_invalid()} & {settings.spell(it) for it in _READ}:
        return []
    return list(_find_inconsistent(settings))


def _find_inconsistent(settings: ServerSettings) -> Iterator[ConfigurationError]:
    spell = settings.spell
    for name, required in _REQUIRES:
        if settings.is_set(name):
            yield from _require(settings, required, f"{spell(name)} is set")
    has_tokens = settings.is_set("AUTH_TOKENS_FILE")
    if settings.is_set("AUTH_SCOPES") and not settings.is_set("AUTH_ISSUER") and not has_tokens:
        yield ConfigurationError(
            f"missing {spell('AUTH_ISSUER')} or {spell('AUTH_TOKENS_FILE')}:"
            f" {spell('AUTH_SCOPES')} is set",
            setting=spell("AUTH_ISSUER"),
        )
    if settings.is_set("AUTH_ISSUER"):
        yield from _check_issuers(settings)
        if not is_installed("auth"):
            yield MissingExtraError("auth", needed_by=spell("AUTH_ISSUER"))
    yield from _reject_queries(settings, "PUBLIC_URL", [settings.get("PUBLIC_URL") or ""])
    if has_tokens:
        from mcpgen.runtime.auth.static_tokens import InvalidTokensFileError, StaticTokens

        try:
            StaticTokens(settings.get("AUTH_TOKENS_FILE"), setting=spell("AUTH_TOKENS_FILE"))
        except InvalidTokensFileError as error:
            yield error


def _check_issuers(settings: ServerSettings) -> Iterator[ConfigurationError]:
    from mcpgen.runtime.auth.presets import find_preset

    issuers = settings.get("AUTH_ISSUER")
    yield from _reject_queries(settings, "AUTH_ISSUER", issuers)
    if settings.is_set("AUTH_JWKS_URL") and len(issuers) > 1:
        variable = settings.spell("AUTH_JWKS_URL")
        yield ConfigurationError(
            f"{variable} is for a single issuer, but {settings.spell('AUTH_ISSUER')} has several",
            setting=variable,
        )
    for preset in map(find_preset, issuers):
        if preset.needs_audience:
            reason = (
                f"access tokens of {preset.name} do not name the server's URL as their audience"
            )
            yield from _require(settings, "AUTH_AUDIENCE", reason)
        if preset.needs_introspection:
            reason = f"only {preset.name} itself can check its access tokens"
            yield from _require(settings, "AUTH_INTROSPECTION_URL", reason)


def _require(settings: ServerSettings, name: str, reason: str) -> Iterator[ConfigurationError]:
    if not settings.is_set(name):
        variable = settings.spell(name)
        yield ConfigurationError(f"missing {variable}: {reason}", setting=variable)


def _reject_queries(
    settings: ServerSettings, name: str, urls: Iterable[str]
) -> Iterator[ConfigurationError]:
    if any("?" in url for url in urls):
        variable = settings.spell(name)
        yield ConfigurationError(f"invalid {variable}: it has a query", setting=variable)


def make_authorization(
    contract: JsonObject,
    environ: Mapping[str, str],
    *,
    declared: Declared | None = None,
    is_local: bool = True,
) -> HttpAuthorization | None:
    """Return the authorization that the settings define; None if there is none.

    `declared` are the resources and prompts that call tools. `is_local` states that only this
    machine can reach the server, under the address that `HttpAuthorization.listen_at` receives;
    otherwise PUBLIC_URL is required.

    Raises:
        ConfigurationError: a setting is invalid or missing; only the first problem is reported.
    """
    if not is_authorization_set(contract, environ):
        return None
    for problem in find_authorization_problems(contract, environ):
        raise problem
    settings = ServerSettings.from_contract(contract, environ)
    issuers = settings.get("AUTH_ISSUER") or ()
    if issuers and not is_local:
        for problem in _require(
            settings, "PUBLIC_URL", "access tokens must name the URL of the server"
        ):
            raise problem
    from mcpgen.runtime.startup.limits import read_limits
    from mcpgen.runtime.transports.http.authorization import HttpAuthorization
    from mcpgen.runtime.upstream.http.configured import make_sender

    sender = make_sender(contract, environ, read_limits(contract, environ))
    return HttpAuthorization(
        _make_authorizer(settings, sender.send),
        _make_scope_rules(contract, settings, declared),
        public_url=settings.get("PUBLIC_URL") or "",
        issuers=issuers,
        resource_name=contract.get("title", ""),
        close=sender.aclose,
    )


def _make_authorizer(settings: ServerSettings, send: Sender) -> Authorizer:
    from mcpgen.runtime.auth.authorizer import Authorizer
    from mcpgen.runtime.auth.fetching import IssuerClient
    from mcpgen.runtime.auth.introspection import Introspection
    from mcpgen.runtime.auth.jwt_tokens import JwtVerifier
    from mcpgen.runtime.auth.keys import IssuerKeys
    from mcpgen.runtime.auth.resources import canonicalize
    from mcpgen.runtime.auth.static_tokens import StaticTokens

    client, issuers = IssuerClient(send), settings.get("AUTH_ISSUER") or ()
    jwks_url = settings.get("AUTH_JWKS_URL") or ""
    keys = {issuer: IssuerKeys(issuer, client, jwks_url=jwks_url) for issuer in issuers}
    introspection = static = None
    if settings.is_set("AUTH_INTROSPECTION_URL"):
        introspection = Introspection(
            settings.get("AUTH_INTROSPECTION_URL"),
            client,
            client_id=settings.get("AUTH_CLIENT_ID") or "",
            client_secret=settings.get("AUTH_CLIENT_SECRET") or "",
            issuers=issuers,
        )
    if settings.is_set("AUTH_TOKENS_FILE"):
        name = "AUTH_TOKENS_FILE"
        static = StaticTokens(settings.get(name), setting=settings.spell(name))
    return Authorizer(
        audiences=frozenset(map(canonicalize, settings.get("AUTH_AUDIENCE") or ())),
        jwt=JwtVerifier(keys) if keys else None,
        introspection=introspection,
        static=static,
    )


def _make_scope_rules(
    contract: JsonObject, settings: ServerSettings, declared: Declared | None
) -> ScopeRules:
    from mcpgen.runtime.auth.scopes import ScopeRules, make_tool_scopes

    call_tool = contract.get("search", {}).get("call", "")

    def find_tools(method: str, params: Mapping[str, Any]) -> Iterator[str]:
        name = params.get("uri" if method == "resources/read" else "name")
        if type(name) is not str:
            return
        if method == "tools/call":
            yield name
            arguments = params.get("arguments")
            if name == call_tool and type(arguments) is dict:
                called = arguments.get("name")
                if type(called) is str:
                    yield called
        elif declared is not None and method == "prompts/get":
            yield declared.prompts.get(name, {}).get("tool", "")
        elif declared is not None and method == "resources/read":
            yield (declared.find_resource(name)[0] or {}).get("tool", "")

    return ScopeRules(
        settings.get("AUTH_SCOPES") or (),
        make_tool_scopes(contract),
        contract.get("authorization", {}).get("includes"),
        find_tools,
    )
