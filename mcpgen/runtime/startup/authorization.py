"""Authorization of callers as the settings define it: what is wrong with them, and the result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from mcpgen.contract.extras import MissingExtraError, is_installed
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.startup.server_settings import ServerSettings

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


def is_authorization_set(prefix: str, environ: Mapping[str, str]) -> bool:
    """Return whether any setting of authorization has a value: the server must not serve all."""
    return any(environ.get(f"{prefix}{name}", "").strip() for name in _SETTINGS)


def find_authorization_problems(
    contract: JsonObject, environ: Mapping[str, str]
) -> list[ConfigurationError]:
    """Return inconsistent settings of authorization, and a missing extra.

    Invalid values are reported by `find_invalid_settings`; as long as there are some, the others
    cannot be judged.
    """
    prefix = contract.get("env_prefix", "")
    if not is_authorization_set(prefix, environ):
        return []
    settings = ServerSettings(prefix, environ)
    if any(error.setting.removeprefix(prefix) in _READ for error in settings.find_invalid()):
        return []
    return list(_find_inconsistent(settings, prefix))


def _find_inconsistent(settings: ServerSettings, prefix: str) -> Iterator[ConfigurationError]:
    for name, required in _REQUIRES:
        if settings.is_set(name) and not settings.is_set(required):
            yield _make_error(
                prefix, required, f"missing {prefix}{required}: {prefix}{name} is set"
            )
    has_tokens = settings.is_set("AUTH_TOKENS_FILE")
    if settings.is_set("AUTH_SCOPES") and not settings.is_set("AUTH_ISSUER") and not has_tokens:
        yield _make_error(
            prefix,
            "AUTH_ISSUER",
            f"missing {prefix}AUTH_ISSUER or {prefix}AUTH_TOKENS_FILE: {prefix}AUTH_SCOPES is set",
        )
    if settings.is_set("AUTH_ISSUER"):
        yield from _check_issuers(settings, prefix)
        if not is_installed("auth"):
            yield MissingExtraError("auth", needed_by=f"{prefix}AUTH_ISSUER")
    if "?" in (settings.get("PUBLIC_URL") or ""):
        yield _make_error(prefix, "PUBLIC_URL", f"invalid {prefix}PUBLIC_URL: it has a query")
    if has_tokens:
        from mcpgen.runtime.auth.static_tokens import InvalidTokensFileError, StaticTokens

        try:
            StaticTokens(settings.get("AUTH_TOKENS_FILE"), setting=f"{prefix}AUTH_TOKENS_FILE")
        except InvalidTokensFileError as error:
            yield error


def _check_issuers(settings: ServerSettings, prefix: str) -> Iterator[ConfigurationError]:
    from mcpgen.runtime.auth.presets import find_preset

    issuers = settings.get("AUTH_ISSUER")
    if any("?" in issuer for issuer in issuers):
        yield _make_error(prefix, "AUTH_ISSUER", f"invalid {prefix}AUTH_ISSUER: it has a query")
    if settings.is_set("AUTH_JWKS_URL") and len(issuers) > 1:
        yield _make_error(
            prefix,
            "AUTH_JWKS_URL",
            f"{prefix}AUTH_JWKS_URL is for a single issuer, but {prefix}AUTH_ISSUER has several",
        )
    for preset in map(find_preset, issuers):
        if preset.needs_audience and not settings.is_set("AUTH_AUDIENCE"):
            yield _make_error(
                prefix,
                "AUTH_AUDIENCE",
                f"missing {prefix}AUTH_AUDIENCE: access tokens of {preset.name} do not name the"
                " server's URL as their audience",
            )
        if preset.needs_introspection and not settings.is_set("AUTH_INTROSPECTION_URL"):
            yield _make_error(
                prefix,
                "AUTH_INTROSPECTION_URL",
                f"missing {prefix}AUTH_INTROSPECTION_URL: only {preset.name} itself can check its"
                " access tokens",
            )


def _make_error(prefix: str, name: str, text: str) -> ConfigurationError:
    return ConfigurationError(text, setting=f"{prefix}{name}")


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
    prefix = contract.get("env_prefix", "")
    if not is_authorization_set(prefix, environ):
        return None
    for problem in find_authorization_problems(contract, environ):
        raise problem
    settings = ServerSettings(prefix, environ)
    issuers = settings.get("AUTH_ISSUER") or ()
    if issuers and not is_local and not settings.is_set("PUBLIC_URL"):
        raise _make_error(
            prefix,
            "PUBLIC_URL",
            f"missing {prefix}PUBLIC_URL: access tokens must name the URL of the server",
        )
    from mcpgen.runtime.startup.limits import read_limits
    from mcpgen.runtime.transports.http.authorization import HttpAuthorization
    from mcpgen.runtime.upstream.http.configured import make_sender

    sender = make_sender(contract, environ, read_limits(contract, environ))
    return HttpAuthorization(
        _make_authorizer(settings, sender.send, prefix),
        _make_scope_rules(contract, settings, declared),
        public_url=settings.get("PUBLIC_URL") or "",
        issuers=issuers,
        resource_name=contract.get("title", ""),
        close=sender.aclose,
    )


def _make_authorizer(settings: ServerSettings, send: Sender, prefix: str) -> Authorizer:
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
        static = StaticTokens(settings.get(name), setting=f"{prefix}{name}")
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
