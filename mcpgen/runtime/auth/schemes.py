"""Static security schemes: API keys, HTTP authentication and client certificates."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final

from mcpgen.runtime.auth.values import is_set, read_value
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ConfigurationError
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

        Schemes that share a header are mostly flows of one authorization server: only the first
        one's credential is sent, since two fields of one name would invalidate both.
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


_PLACES: Final = {"header": "headers", "query": "query", "cookie": "cookies"}


def make_scheme(
    description: JsonObject, variables: Mapping[str, str], environ: Mapping[str, str]
) -> StaticScheme:
    """Make a scheme from its Security Scheme Object; `variables` are names, by part.

    Raises:
        ConfigurationError: the type is unknown, or a value cannot be sent.
        KeyError: the description or the variables lack what the type needs.
    """
    kind = description["type"]
    if kind == "apiKey":
        return _make_api_key(description, variables, environ)
    if kind == "http":
        return _make_http(description, variables, environ)
    if kind == "mutualTLS":
        return _make_mutual_tls(description, variables, environ)
    raise ConfigurationError(f"security schemes of type `{kind}` are not known")


@dataclass(frozen=True, slots=True)
class StaticScheme:
    """A scheme with constant credentials; `applied` is None if it is not configured."""

    variables: tuple[str, ...]
    applied: AppliedCredentials | None = field(repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    fetches_tokens: ClassVar[bool] = False
    unconfirmed_url: ClassVar[str] = ""  # `apply` sends no secrets anywhere

    @property
    def is_configured(self) -> bool:
        """Whether the environment has all that the scheme needs."""
        return self.applied is not None

    async def apply(self, send: Sender, scopes: Sequence[str]) -> AppliedCredentials:  # noqa: ARG002  (as of `OAuth2Scheme`)
        """Return the credentials, which are the same for every request."""
        return self.applied or AppliedCredentials()

    def forget(self) -> bool:
        """Return False: a static scheme has no token to renew."""
        return False


def _make_api_key(
    description: JsonObject, variables: Mapping[str, str], environ: Mapping[str, str]
) -> StaticScheme:
    variable, place = variables["value"], _PLACES[description["in"]]
    value = read_value(description, "value", variable, environ)
    if not value:
        return StaticScheme((variable,), None)
    fields: dict[str, Any] = {place: ((description["name"], value),)}
    return StaticScheme((variable,), AppliedCredentials(**fields), (value,))


def _make_http(
    description: JsonObject, variables: Mapping[str, str], environ: Mapping[str, str]
) -> StaticScheme:
    scheme: str = description["scheme"]
    if scheme.lower() == "basic":
        return _make_basic(description, variables, environ)
    variable = variables["value"]
    value = read_value(description, "value", variable, environ)
    if scheme.lower() == "bearer":
        return StaticScheme((variable,), make_bearer_header(value) if value else None, (value,))
    header = (("Authorization", f"{scheme} {value}"),)
    return StaticScheme((variable,), AppliedCredentials(header) if value else None, (value,))


def make_bearer_header(token: str) -> AppliedCredentials:
    """Return the Authorization header for a bearer token (RFC 6750, section 2.1)."""
    return AppliedCredentials(headers=(("Authorization", f"Bearer {token}"),))


def _make_basic(
    description: JsonObject, variables: Mapping[str, str], environ: Mapping[str, str]
) -> StaticScheme:
    """HTTP Basic (RFC 7617)."""
    names = (variables["username"], variables["password"])
    username, password = (
        read_value(description, part, name, environ)
        for part, name in zip(("username", "password"), names, strict=True)
    )
    if not username or not is_set(names[1], "password", environ):
        return StaticScheme(names, None)
    pair = b64encode(f"{username}:{password}".encode()).decode()
    header = (("Authorization", f"Basic {pair}"),)
    return StaticScheme(names, AppliedCredentials(header), (password or username, pair))


def _make_mutual_tls(
    description: JsonObject, variables: Mapping[str, str], environ: Mapping[str, str]
) -> StaticScheme:
    parts = ("certificate_file", "key_file")
    names = tuple(variables[part] for part in parts)
    certificate, key = (read_value(description, part, variables[part], environ) for part in parts)
    if not certificate or not key:
        return StaticScheme(names, None)
    files = ClientCertificate(certificate, key)
    return StaticScheme(names, AppliedCredentials(client_certificate=files))
