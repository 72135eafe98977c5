"""Static security schemes: API keys, HTTP authentication and client certificates."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.startup.values import is_set, read_value
from mcpgen.runtime.upstream.http.messages import ClientCertificate, Sender

if TYPE_CHECKING:
    from mcpgen.runtime.auth.access import Access

Pairs = tuple[tuple[str, str], ...]


class AppliedCredentials(Struct, frozen=True):
    """Credentials of one request: names and values, not yet encoded."""

    headers: Pairs = ()
    query: Pairs = ()
    cookies: Pairs = ()
    client_certificate: ClientCertificate | None = None

    def __repr__(self) -> str:
        return "AppliedCredentials()"

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


class SecurityScheme(Protocol):
    """A security scheme with the source of its credential.

    `access` is that of the caller's request; None over stdio.
    """

    @property
    def is_configured(self) -> bool:
        """Whether all settings of the scheme are set; callers may have to provide more."""

    @property
    def belongs_to_callers(self) -> bool:
        """Whether each caller has its own credential."""

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables in use; if none is set, those to set."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """The server's secret values, for redaction; those of callers are not included."""

    @property
    def fetches_tokens(self) -> bool:
        """Whether `apply` requests a token that `secrets` has afterwards."""

    @property
    def unconfirmed_url(self) -> str:
        """The unconfirmed URL that `apply` would send secrets to; "" if there is none."""

    def is_available(self, access: Access | None) -> bool:
        """Return whether a request of this caller can be sent with the scheme."""

    async def apply(
        self, send: Sender, scopes: Sequence[str], access: Access | None = None
    ) -> AppliedCredentials:
        """Return the credentials of a request; raise ToolError if there are none."""

    def forget(
        self, access: Access | None = None, applied: AppliedCredentials | None = None
    ) -> bool:
        """Drop the tokens that were applied; return whether new ones can be fetched."""


class CallerScheme(SecurityScheme, Protocol):
    """A security scheme whose credentials belong to callers."""

    def explain_missing(self, access: Access | None) -> str:
        """Return a sentence on what the caller or the operator can do."""

    def explain_refused(self, status: int) -> str:
        """Return a sentence for a response of the API with status 401 or 403."""


PLACES: Final = {"header": "headers", "query": "query", "cookie": "cookies"}
"""The field of `AppliedCredentials` for each location of an API key."""
_PARTS: Final = {
    "apiKey": ("value",),
    "http": ("value",),
    "http basic": ("username", "password"),
    "mutualTLS": ("certificate_file", "key_file"),
}


def make_scheme(
    description: JsonObject, variables: Mapping[str, str], environ: Mapping[str, str]
) -> StaticScheme:
    """Make a scheme from its Security Scheme Object; `variables` are names, by part.

    Raises:
        ConfigurationError: the type is unknown, or a value cannot be sent.
        KeyError: the description or the variables lack what the type needs.
    """
    kind = description["type"]
    http_scheme: str = description["scheme"] if kind == "http" else ""
    place = PLACES[description["in"]] if kind == "apiKey" else ""
    is_basic = http_scheme.lower() == "basic"
    parts = _PARTS.get("http basic" if is_basic else kind)
    if parts is None:
        raise ConfigurationError(f"security schemes of type `{kind}` are not known")
    names = tuple(variables[part] for part in parts)
    values = [read_value(description, part, variables[part], environ) for part in parts]
    if is_basic:  # RFC 7617
        username, password = values
        if not username or not is_set(names[1], "password", environ):
            return StaticScheme(names, None)
        pair = b64encode(f"{username}:{password}".encode()).decode()
        return StaticScheme(names, make_authorization("Basic", pair), (password or username, pair))
    if not all(values):
        return StaticScheme(names, None)
    if kind == "mutualTLS":
        files = ClientCertificate(*values)
        return StaticScheme(names, AppliedCredentials(client_certificate=files))
    value = values[0]
    if kind == "apiKey":
        fields: dict[str, Any] = {place: ((description["name"], value),)}
        return StaticScheme(names, AppliedCredentials(**fields), (value,))
    prefix = "Bearer" if http_scheme.lower() == "bearer" else http_scheme
    return StaticScheme(names, make_authorization(prefix, value), (value,))


def make_authorization(scheme: str, value: str) -> AppliedCredentials:
    """Return the credentials that consist of an Authorization header."""
    return AppliedCredentials(headers=(("Authorization", f"{scheme} {value}"),))


class StaticScheme(Struct, frozen=True):
    """A scheme with constant credentials; `applied` is None if it is not configured."""

    variables: tuple[str, ...]
    applied: AppliedCredentials | None
    secrets: tuple[str, ...] = ()

    fetches_tokens: ClassVar[bool] = False
    belongs_to_callers: ClassVar[bool] = False
    unconfirmed_url: ClassVar[str] = ""  # `apply` sends no secrets anywhere

    def __repr__(self) -> str:
        return f"StaticScheme({self.variables})"

    @property
    def is_configured(self) -> bool:
        """Whether the environment has all that the scheme needs."""
        return self.applied is not None

    def is_available(self, access: Access | None) -> bool:  # noqa: ARG002  (as of `SecurityScheme`)
        """Return whether a request can be sent with this scheme: `is_configured`."""
        return self.applied is not None

    async def apply(
        self,
        send: Sender,  # noqa: ARG002  (as of `SecurityScheme`)
        scopes: Sequence[str],  # noqa: ARG002
        access: Access | None = None,  # noqa: ARG002
    ) -> AppliedCredentials:
        """Return the credentials, which are the same for every request."""
        return self.applied or AppliedCredentials()

    def forget(
        self,
        access: Access | None = None,  # noqa: ARG002  (as of `SecurityScheme`)
        applied: AppliedCredentials | None = None,  # noqa: ARG002
    ) -> bool:
        """Return False: a static scheme has no token to renew."""
        return False
