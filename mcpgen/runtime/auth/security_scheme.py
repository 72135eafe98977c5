"""Interface of a security scheme, and the credentials that it adds to a request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from mcpgen.runtime.upstream.http.messages import ClientCertificate, Sender

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class AppliedCredentials:
    """Credentials of one request: names and values, not yet encoded."""

    headers: Pairs = field(default=(), repr=False)
    query: Pairs = field(default=(), repr=False)
    cookies: Pairs = field(default=(), repr=False)
    client_certificate: ClientCertificate | None = field(default=None, repr=False)

    def join(self, other: AppliedCredentials) -> AppliedCredentials:
        """Combine the credentials of two schemes of one requirement (AND).

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


class SecurityScheme(Protocol):
    """A security scheme with its values from the environment."""

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
        """Secret values, for redaction."""

    @property
    def unconfirmed_url(self) -> str:
        """The URL that `apply` would send secrets to without confirmation; "" for none."""

    async def apply(self, send: Sender, scopes: Sequence[str]) -> AppliedCredentials:
        """Return the credentials for a request that requires these scopes."""

    def forget(self) -> bool:
        """Drop a token that the API refused; return whether a new one can be fetched."""
