"""Selection of the credentials for a request, by OpenAPI's `security` and their sources."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from mcpgen.contract.base_url import BaseUrls
from mcpgen.contract.needs import settings_of_schemes
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ConfigurationError, ToolError
from mcpgen.runtime.upstream.auth.schemes import (
    AppliedCredentials,
    CallerScheme,
    SecurityScheme,
    make_scheme,
)
from mcpgen.runtime.upstream.http.messages import Sender

if TYPE_CHECKING:
    from mcpgen.runtime.auth.access import Access
    from mcpgen.runtime.state.store import Store
    from mcpgen.runtime.upstream.auth.account_store import AccountStore

_NO_CREDENTIALS = AppliedCredentials()


class Credentials:
    """The configured security schemes of one server."""

    def __init__(
        self,
        schemes: Mapping[str, SecurityScheme],
        callers: Mapping[str, CallerScheme] = MappingProxyType({}),
    ) -> None:
        """Join the schemes of the environment, and those of callers."""
        self._schemes: Mapping[str, SecurityScheme] = {**schemes, **callers}
        self._callers = callers

    @property
    def has_callers_secrets(self) -> bool:
        """Whether requests have credentials that belong to their callers."""
        return bool(self._callers)

    @property
    def callers(self) -> Mapping[str, CallerScheme]:
        """The schemes whose credentials belong to callers, by name."""
        return self._callers

    @property
    def secrets(self) -> tuple[str, ...]:
        """The server's secret values, for redaction."""
        return tuple(secret for scheme in self._schemes.values() for secret in scheme.secrets)

    def choose(
        self,
        operation: str,
        security: Sequence[Mapping[str, Sequence[str]]],
        access: Access | None = None,
    ) -> Mapping[str, Sequence[str]]:
        """Return the first alternative whose credentials are all available; `{}` comes last.

        An operation that also works without credentials (`{}`) mostly returns more to a caller who
        has them, and the order of alternatives has no meaning in OpenAPI.

        Raises:
            ToolError: no alternative is available; names the settings or what callers can do.
        """
        for requirement in security:
            if requirement and all(self._is_available(name, access) for name in requirement):
                return requirement
        if not security or not all(security):
            return {}
        raise self._make_missing_error(operation, security, access)

    def choose_possible(
        self, security: Sequence[Mapping[str, Sequence[str]]]
    ) -> Mapping[str, Sequence[str]]:
        """Return the first alternative that a caller with all credentials can use; else `{}`."""
        for requirement in security:
            schemes = [self._schemes.get(name) for name in requirement]
            if requirement and all(it is not None and it.is_configured for it in schemes):
                return requirement
        return {}

    def _make_missing_error(
        self,
        operation: str,
        security: Sequence[Mapping[str, Sequence[str]]],
        access: Access | None,
    ) -> ToolError:
        sentences: list[str] = []
        ways: list[str] = []
        for requirement in security:
            missing = [name for name in requirement if not self._is_available(name, access)]
            of_callers = [self._callers[name] for name in missing if name in self._callers]
            sentences += [scheme.explain_missing(access) for scheme in of_callers]
            if not of_callers:
                names = " and ".join(self.list_variables(requirement))
                ways.append(names or "nothing: no setting serves it")
        lacking = "that this server does not have"
        if sentences:
            lacking = "of its caller"
        if ways:
            sentences.append(f"The operator can set {', or '.join(dict.fromkeys(ways))}.")
        advice = " ".join(dict.fromkeys(sentences))
        return ToolError(
            f"`{operation}` needs a credential {lacking}, so nothing was sent. {advice}"
        )

    async def apply(
        self,
        requirement: Mapping[str, Sequence[str]],
        send: Sender,
        access: Access | None = None,
    ) -> AppliedCredentials:
        """Return the credentials of a chosen requirement."""
        applied = _NO_CREDENTIALS
        for name, scopes in requirement.items():
            applied = applied.join(await self._schemes[name].apply(send, scopes, access))
        return applied

    def find_token_scheme(self) -> str:
        """Return the name of a configured scheme that requests a token; "" if there is none."""
        names = (name for name, scheme in self._schemes.items() if scheme.fetches_tokens)
        return next(names, "")

    def find_unconfirmed_url(self, requirement: Iterable[str]) -> str:
        """Return the URL that these schemes would send secrets to without confirmation; or ""."""
        urls = (self._schemes[name].unconfirmed_url for name in requirement)
        return next(filter(None, urls), "")

    def forget(
        self,
        requirement: Mapping[str, Sequence[str]],
        access: Access | None = None,
        applied: AppliedCredentials | None = None,
    ) -> bool:
        """Drop tokens that the API refused; return whether new ones can be fetched."""
        forgotten = [self._schemes[name].forget(access, applied) for name in requirement]
        return any(forgotten)

    def list_variables(self, requirement: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
        """Return the environment variables of a requirement."""
        return tuple(
            variable
            for name in requirement
            if name in self._schemes
            for variable in self._schemes[name].variables
        )

    def explain_refused(self, requirement: Iterable[str], status: int) -> str:
        """Return what a caller can do about status 401 or 403; "" if only the operator can act."""
        if status not in (401, 403):
            return ""
        schemes = (self._callers[name] for name in requirement if name in self._callers)
        return " ".join(dict.fromkeys(scheme.explain_refused(status) for scheme in schemes))

    def _is_available(self, name: str, access: Access | None) -> bool:
        scheme = self._schemes.get(name)
        return scheme is not None and scheme.is_available(access)


def read_credentials(
    contract: JsonObject,
    environ: Mapping[str, str],
    *,
    base_urls: Mapping[str, BaseUrls],
    clock: Callable[[], float],
    accounts: AccountStore | None = None,
    store: Store | None = None,
) -> Credentials:
    """Read the credentials of the security schemes that have settings in a server's contract.

    `base_urls` are by source; `accounts` are those that users connect over HTTP; replicas share
    the `store`.

    Raises:
        ConfigurationError: a value cannot be sent, or the type of a scheme is unknown.
    """
    schemes: dict[str, SecurityScheme] = {}
    sources: JsonObject = contract.get("credentials", {})
    for name, variables in settings_of_schemes(contract).items():
        if name in sources:
            continue
        description = contract["security_schemes"][name]
        if description["type"] in {"oauth2", "openIdConnect"}:
            from mcpgen.runtime.upstream.auth.oauth2 import OAuth2Scheme

            schemes[name] = OAuth2Scheme(
                description,
                variables,
                environ,
                name=name,
                base_urls=base_urls[description.get("source", "")],
                clock=clock,
            )
            continue
        try:
            schemes[name] = make_scheme(description, variables, environ)
        except KeyError as missing:
            raise ConfigurationError(
                f"security scheme `{name}` has no {missing} in the server's contract"
            ) from None
    if not sources:
        return Credentials(schemes)
    from mcpgen.runtime.upstream.auth.caller_schemes import read_caller_schemes

    callers = read_caller_schemes(
        contract, environ, base_urls=base_urls, clock=clock, accounts=accounts, store=store
    )
    return Credentials(schemes, callers)
