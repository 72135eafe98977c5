"""Selection of the credentials for a request: OpenAPI's `security`, values from the environment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from mcpgen.contract.base_url import BaseUrls
from mcpgen.contract.needs import settings_of_schemes
from mcpgen.runtime.auth.oauth2 import OAuth2Scheme
from mcpgen.runtime.auth.schemes import AppliedCredentials, StaticScheme, make_scheme
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ConfigurationError, ToolError
from mcpgen.runtime.upstream.http.messages import Sender

SecurityScheme: TypeAlias = StaticScheme | OAuth2Scheme

_NOTHING = AppliedCredentials()


class Credentials:
    """The configured security schemes of one server."""

    def __init__(self, schemes: Mapping[str, SecurityScheme]) -> None:
        self._schemes = schemes

    @property
    def secrets(self) -> tuple[str, ...]:
        """All values that must never be shown."""
        return tuple(secret for scheme in self._schemes.values() for secret in scheme.secrets)

    def choose(
        self, operation: str, security: Sequence[Mapping[str, Sequence[str]]]
    ) -> Mapping[str, Sequence[str]]:
        """Return the first alternative whose credentials are all configured; `{}` comes last.

        An operation that also works without credentials (`{}`) mostly returns more to a caller who
        has them, and the order of alternatives has no meaning in OpenAPI.

        Raises:
            ToolError: no alternative is configured; names the environment variables.
        """
        for requirement in security:
            if requirement and all(map(self._is_configured, requirement)):
                return requirement
        if not security or not all(security):
            return {}
        named = (" and ".join(self.list_variables(requirement)) for requirement in security)
        ways = dict.fromkeys(names or "nothing: no setting serves it" for names in named)
        raise ToolError(
            f"`{operation}` needs a credential that this server does not have, so nothing was "
            f"sent. The operator can set {', or '.join(ways)}."
        )

    async def apply(
        self, requirement: Mapping[str, Sequence[str]], send: Sender
    ) -> AppliedCredentials:
        """Return the credentials of a chosen requirement."""
        applied = _NOTHING
        for name, scopes in requirement.items():
            applied = applied.join(await self._schemes[name].apply(send, scopes))
        return applied

    def find_token_scheme(self) -> str:
        """Return the name of a configured scheme that requests a token; "" if there is none."""
        names = (name for name, scheme in self._schemes.items() if scheme.fetches_tokens)
        return next(names, "")

    def find_unconfirmed_url(self, requirement: Iterable[str]) -> str:
        """Return the URL that these schemes would send secrets to without confirmation; or ""."""
        urls = (self._schemes[name].unconfirmed_url for name in requirement)
        return next(filter(None, urls), "")

    def forget(self, requirement: Mapping[str, Sequence[str]]) -> bool:
        """Drop tokens that the API refused; return whether new ones can be fetched."""
        forgotten = [self._schemes[name].forget() for name in requirement]
        return any(forgotten)

    def list_variables(self, requirement: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
        """Return the environment variables of a requirement."""
        return tuple(
            variable
            for name in requirement
            if name in self._schemes
            for variable in self._schemes[name].variables
        )

    def _is_configured(self, name: str) -> bool:
        scheme = self._schemes.get(name)
        return scheme is not None and scheme.is_configured


def read_credentials(
    contract: JsonObject,
    environ: Mapping[str, str],
    *,
    base_urls: Mapping[str, BaseUrls],
    clock: Callable[[], float],
) -> Credentials:
    """Read the credentials of the security schemes that have settings in a server's contract.

    `base_urls` are by source.

    Raises:
        ConfigurationError: a value cannot be sent, or the type of a scheme is unknown.
    """
    schemes: dict[str, SecurityScheme] = {}
    for name, variables in settings_of_schemes(contract).items():
        description = contract["security_schemes"][name]
        if description["type"] in {"oauth2", "openIdConnect"}:
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
    return Credentials(schemes)
