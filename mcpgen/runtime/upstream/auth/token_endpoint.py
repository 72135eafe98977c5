"""Requests to an authorization server: discovery, token requests, revocation (RFC 6749, 7009)."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol
from urllib.parse import quote_plus, urlencode, urljoin, urlsplit

import msgspec

from mcpgen.contract.base_url import UnconfirmedOriginError
from mcpgen.runtime.errors import ConfigurationError, ToolError
from mcpgen.runtime.startup.values import TOKEN
from mcpgen.runtime.upstream.errors import UpstreamError
from mcpgen.runtime.upstream.http.messages import HttpRequest, HttpResponse, Sender

_MAX_ANSWER_BYTES: Final = 64 * 1024
_DEFAULT_LIFETIME: Final = 300.0  # of a token whose issuer does not state it
_LOCAL_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_WELL_KNOWN: Final = "/.well-known/openid-configuration"
_FORM: Final = (
    ("Content-Type", "application/x-www-form-urlencoded"),
    ("Accept", "application/json"),
)


class UrlPolicy(Protocol):
    """Policy on where secrets may be sent: `BaseUrls` for URLs of the document."""

    def base_url(self) -> str:
        """Return the URL that resolves relative ones."""

    def is_confirmed(self, url: str) -> bool:
        """Return whether secrets may be sent to the origin of a URL."""

    def private_addresses_setting_of(self, url: str) -> str:
        """Return the settings that would permit a private address; "" if it is permitted."""


@dataclass(frozen=True, slots=True)
class ClientIdentity:
    """Identity of this server at an authorization server; without a secret, a public client."""

    id: str = ""
    secret: str = field(default="", repr=False)

    def authenticate(self, form: dict[str, str]) -> tuple[tuple[str, str], ...]:
        """Return the header that authenticates a request, or add the id to its form."""
        if self.id and self.secret:
            # RFC 6749, section 2.3.1: both are form-encoded before they are joined.
            pair = f"{quote_plus(self.id)}:{quote_plus(self.secret)}"
            return (("Authorization", f"Basic {b64encode(pair.encode()).decode()}"),)
        if self.id:
            form["client_id"] = self.id
        return ()


@dataclass(frozen=True, slots=True)
class TokenGrant:
    """A successful response of a token endpoint (RFC 6749, section 5.1)."""

    access_token: str = field(repr=False)
    lifetime_seconds: float
    refresh_token: str = field(default="", repr=False)
    """"" if the response has none: a refresh token that was used remains valid."""
    scopes: frozenset[str] | None = None
    """The granted scopes; None if they are those that were requested."""
    id_token: str = field(default="", repr=False)

    @property
    def user(self) -> str:
        """The issuer and subject of the ID token; "" without one."""
        claims = decode_claims(self.id_token)
        pair = claims.get("iss"), claims.get("sub")
        return json.dumps(pair) if all(isinstance(it, str) and it for it in pair) else ""

    def compute_renewal(self, now: float) -> float:
        """Return the time at which to renew the access token; `now` is that of the response.

        It is a minute before the token expires, or a fifth of its lifetime if that is less.
        """
        return now + self.lifetime_seconds - min(60.0, self.lifetime_seconds / 5)


class GrantRefusedError(ToolError):
    """The token endpoint refused; `code` is its `error` ("invalid_grant"), or ""."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


def make_form_request(
    url: str,
    form: Mapping[str, str],
    client: ClientIdentity,
    *,
    private_addresses_setting: str = "",
) -> HttpRequest:
    """Return a POST request of a form, with which the client authenticates itself."""
    fields = dict(form)
    headers = (*_FORM, *client.authenticate(fields))
    return HttpRequest(
        "POST",
        url,
        headers,
        urlencode(fields).encode(),
        private_addresses_setting=private_addresses_setting,
    )


async def request_token(
    send: Sender, request: HttpRequest, *, variables: Sequence[str]
) -> TokenGrant:
    """Send a token request; `variables` are the settings that the operator can check.

    Raises:
        GrantRefusedError: the response has no valid token.
        ToolError: there is no response.
    """
    return read_grant(await send_request(send, request), variables)


async def send_request(send: Sender, request: HttpRequest) -> HttpResponse:
    """Send a request to an authorization server.

    Raises:
        ToolError: there is no response.
    """
    try:
        return await send(request)
    except UpstreamError as error:
        raise ToolError(f"No access token: the token request {error}") from None


def check_url(url: str, what: str = "the token URL") -> str:
    """Return a URL that may receive credentials: https, or this machine.

    Raises:
        ConfigurationError: it is not; the message calls it `what`.
    """
    try:
        parts = urlsplit(url)
        is_valid = url.isascii() and url.isprintable() and " " not in url and parts.port != 0
    except ValueError:  # an unfinished IPv6 address, a port that is no number or too large
        is_valid = False
    if not is_valid:
        raise ConfigurationError(f"{what} of the API is invalid")
    is_local = parts.scheme == "http" and parts.hostname in _LOCAL_HOSTS
    if not is_local and (parts.scheme != "https" or not parts.hostname):
        raise ConfigurationError(f"{what} of the API is not https, so no secret is sent there")
    if parts.username or parts.fragment:
        raise ConfigurationError(f"{what} of the API has a user or a fragment in it")
    return url


def resolve_url(url: str, base_urls: UrlPolicy) -> str:
    """Return the absolute form of a URL of the document."""
    return url if "://" in url else urljoin(f"{base_urls.base_url()}/", url)


def check_endpoint(
    url: str, base_urls: UrlPolicy, *, scheme: str, what: str = "the token URL"
) -> str:
    """Return the absolute URL of an endpoint that receives secrets of a security scheme.

    Raises:
        ConfigurationError: the URL is invalid; the message calls it `what`.
        UnconfirmedOriginError: its origin may not receive secrets.
    """
    url = check_url(resolve_url(url, base_urls), what)
    if not base_urls.is_confirmed(url):
        raise UnconfirmedOriginError(f"the token request of `{scheme}`", url)
    return url


async def fetch_metadata(send: Sender, url: str, private_addresses_setting: str) -> dict[str, Any]:
    """Fetch the metadata of an authorization server (OpenID Connect Discovery 1.0, section 4).

    Raises:
        ToolError: there is none with a token endpoint, or its issuer is another one.
    """
    request = HttpRequest("GET", url, private_addresses_setting=private_addresses_setting)
    response = await send_request(send, request)
    metadata = decode_object(response) if response.status == 200 else {}
    if not isinstance(metadata.get("token_endpoint"), str):
        raise ToolError(
            "The API's OpenID Connect discovery gave no token endpoint, so nothing was sent."
        )
    _check_issuer(url, metadata.get("issuer"))
    return metadata


def _check_issuer(discovery_url: str, issuer: object) -> None:
    """Check the issuer of discovery metadata (OpenID Connect Discovery 1.0, section 4.3)."""
    # The token endpoint of another issuer may be an attacker's. The discovery URL omits a "/" at
    # the end of the issuer (section 4.1), and one without the well-known suffix implies no issuer.
    expected, is_well_known, _ = discovery_url.partition(_WELL_KNOWN)
    if is_well_known and issuer not in (expected, f"{expected}/"):
        is_shown = isinstance(issuer, str) and issuer.isprintable() and len(issuer) < 300
        found = f"`{issuer}`" if is_shown else "none"
        raise ToolError(
            f"The API's OpenID Connect discovery is that of `{expected}` and names as its issuer "
            f"{found}, so no secret was sent to its token endpoint."
        )


def decode_claims(token: str) -> dict[str, Any]:
    """Return the claims of a JWT without a check of its signature; {} if it is not one."""
    parts = token.split(".")
    if len(parts) != 3:
        return {}
    try:
        claims = json.loads(urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, RecursionError):
        return {}
    return claims if isinstance(claims, dict) else {}


def decode_object(response: HttpResponse) -> dict[str, Any]:
    """Decode a short JSON object; {} for anything else."""
    if len(response.body) > _MAX_ANSWER_BYTES:
        return {}
    try:
        decoded = msgspec.json.decode(response.body)
    except (ValueError, RecursionError):
        return {}
    return decoded if isinstance(decoded, dict) else {}


def read_grant(response: HttpResponse, variables: Sequence[str]) -> TokenGrant:
    """Return the grant in a token response (RFC 6749, section 5).

    Raises:
        GrantRefusedError: the response has no valid token.
    """
    answer = decode_object(response)
    token = answer.get("access_token")
    if response.status == 200 and isinstance(token, str) and token and TOKEN.match(token):
        scope = answer.get("scope")
        return TokenGrant(
            token,
            _read_lifetime(answer),
            _read_text(answer, "refresh_token"),
            frozenset(scope.split()) if isinstance(scope, str) else None,
            _read_text(answer, "id_token"),
        )
    code = answer.get("error")
    is_code = isinstance(code, str) and code.isascii() and code.isprintable() and len(code) < 50
    detail = f" (`{code}`)" if is_code else ""
    raise GrantRefusedError(
        f"No access token: its issuer returned status {response.status}{detail}. The operator "
        f"of this server can check {' and '.join(variables)}.",
        str(code) if is_code else "",
    )


def _read_text(answer: Mapping[str, Any], name: str) -> str:
    value = answer.get(name)
    return value if isinstance(value, str) else ""


def _read_lifetime(answer: Mapping[str, Any]) -> float:
    try:
        lifetime = float(answer.get("expires_in", _DEFAULT_LIFETIME))
    except (TypeError, ValueError):
        return _DEFAULT_LIFETIME
    return lifetime if 0 < lifetime < float("inf") else _DEFAULT_LIFETIME
