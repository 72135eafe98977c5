"""Which credentials a request carries: `security` as the document has it, from the environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ConfigurationError, ToolError
from mcpgen.runtime.needs import settings_of_schemes
from mcpgen.runtime.upstream.http import ClientCertificate, Sender

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class AppliedCredentials:
    """What credentials add to one request: names and values, not yet encoded."""

    headers: Pairs = field(default=(), repr=False)
    query: Pairs = field(default=(), repr=False)
    cookies: Pairs = field(default=(), repr=False)
    client_certificate: ClientCertificate | None = field(default=None, repr=False)

    def joined(self, other: AppliedCredentials) -> AppliedCredentials:
        """Both, for the schemes of one requirement (AND).

        Schemes that share a place are mostly flows of one authorization server: the first one's
        credential travels, since two fields of one name would void both.
        """
        taken = {name.lower() for name, _ in self.headers}
        others = tuple(pair for pair in other.headers if pair[0].lower() not in taken)
        return replace(
            self,
            headers=self.headers + others,
            query=self.query + other.query,
            cookies=self.cookies + other.cookies,
            client_certificate=self.client_certificate or other.client_certificate,
        )


_NOTHING = AppliedCredentials()


class Scheme(Protocol):
    """A security scheme with whatever the environment gives for it."""

    @property
    def is_configured(self) -> bool:
        """Whether the environment has all that the scheme needs."""

    @property
    def fetches_tokens(self) -> bool:
        """Whether it is configured so that `apply` requests a token."""

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables to set."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must never be shown, for redaction."""

    async def apply(self, send: Sender, scopes: Sequence[str]) -> AppliedCredentials:
        """What the scheme adds to a request that needs these scopes."""

    def forget(self) -> bool:
        """Drop a token that the API refused; whether a fresh one could be had."""


class Credentials:
    """The configured security schemes of one server."""

    def __init__(self, schemes: Mapping[str, Scheme]) -> None:
        self._schemes = schemes

    @property
    def secrets(self) -> tuple[str, ...]:
        """All values that must never be shown."""
        return tuple(secret for scheme in self._schemes.values() for secret in scheme.secrets)

    def choose(
        self, operation: str, security: Sequence[Mapping[str, Sequence[str]]]
    ) -> Mapping[str, Sequence[str]]:
        """The first alternative whose credentials are all configured; `{}` only after the others.

        An operation that also works without credentials (`{}`) mostly gives more to a caller who
        has them, and the order of alternatives means nothing in OpenAPI.

        Raises:
            ToolError: no alternative is configured; names the environment variables.
        """
        if not security:
            return {}
        for requirement in security:
            if requirement and all(self._is_configured(name) for name in requirement):
                return requirement
        if any(not requirement for requirement in security):
            return {}
        ways = [self._how_to_configure(requirement) for requirement in security]
        raise ToolError(
            f"`{operation}` needs a credential that this server does not have, so nothing was "
            f"sent. Whoever runs the server can set {', or '.join(dict.fromkeys(ways))}."
        )

    async def apply(
        self, requirement: Mapping[str, Sequence[str]], send: Sender
    ) -> AppliedCredentials:
        """What the schemes of a chosen requirement add to a request."""
        applied = _NOTHING
        for name, scopes in requirement.items():
            applied = applied.joined(await self._schemes[name].apply(send, scopes))
        return applied

    def scheme_that_fetches_tokens(self) -> str:
        """Return the name of a configured scheme that requests a token; "" if there is none."""
        names = (name for name, scheme in self._schemes.items() if scheme.fetches_tokens)
        return next(names, "")

    def forget(self, requirement: Mapping[str, Sequence[str]]) -> bool:
        """Drop tokens that the API refused; whether fresh ones could be had."""
        forgotten = [self._schemes[name].forget() for name in requirement]
        return any(forgotten)

    def variables(self, requirement: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
        """The environment variables that a requirement is configured by."""
        return tuple(
            variable
            for name in requirement
            if name in self._schemes
            for variable in self._schemes[name].variables
        )

    def _is_configured(self, name: str) -> bool:
        scheme = self._schemes.get(name)
        return scheme is not None and scheme.is_configured

    def _how_to_configure(self, requirement: Mapping[str, Sequence[str]]) -> str:
        return " and ".join(self.variables(requirement)) or "nothing: no setting serves it"


def credentials_from_environment(
    contract: JsonObject,
    environ: Mapping[str, str],
    *,
    base_url: Callable[[str], str],
    clock: Callable[[], float],
) -> Credentials:
    """Read the credentials of the security schemes that have settings in a server's contract.

    `base_url` says where the API of a source is.

    Raises:
        ConfigurationError: a value is set that cannot travel, or a scheme is of no known type.
    """
    from mcpgen.runtime.auth.oauth2 import OAuth2Scheme
    from mcpgen.runtime.auth.schemes import make_scheme

    schemes: dict[str, Scheme] = {}
    for name, variables in settings_of_schemes(contract).items():
        description = contract["security_schemes"][name]
        if description["type"] in {"oauth2", "openIdConnect"}:
            schemes[name] = OAuth2Scheme(
                description,
                variables,
                environ,
                base_url=partial(base_url, description.get("source", "")),
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
