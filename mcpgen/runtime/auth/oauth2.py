"""OAuth 2 client of the server: fetches access tokens when needed and caches them in memory."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote_plus, urlencode, urljoin, urlsplit

import msgspec

from mcpgen.contract.base_url import BaseUrls, UnconfirmedOriginError
from mcpgen.contract.needs import sufficient_parts
from mcpgen.runtime.auth.schemes import AppliedCredentials, make_authorization
from mcpgen.runtime.auth.values import TOKEN, read_value
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ConfigurationError, ToolError
from mcpgen.runtime.upstream.errors import UpstreamError
from mcpgen.runtime.upstream.http.messages import HttpRequest, HttpResponse, Sender
from mcpgen.runtime.upstream.resilience import ConcurrencyLimit

_MAX_ANSWER_BYTES = 64 * 1024
_DEFAULT_LIFETIME = 300.0  # of a token whose issuer does not tell
_LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
_WELL_KNOWN = "/.well-known/openid-configuration"


class OAuth2Scheme:
    """An `oauth2` or `openIdConnect` scheme (RFC 6749; OpenID Connect Discovery 1.0).

    A configured access token is used unchanged. Otherwise a token for the scopes of the operation
    is fetched with the refresh token or the client credentials. Concurrent calls share one fetch,
    and a token is renewed before it expires.
    """

    def __init__(
        self,
        description: JsonObject,
        variables: Mapping[str, str],
        environ: Mapping[str, str],
        *,
        base_urls: BaseUrls,
        name: str,
        clock: Callable[[], float],
    ) -> None:
        """Read the settings; `base_urls` are those of the API, `name` is the scheme's.

        The base URL resolves a relative token URL.

        Raises:
            ConfigurationError: a setting has characters that cannot be sent.
        """
        self._can_fetch = ("client_id", "client_secret") in sufficient_parts(description)
        self._flows: JsonObject = description.get("flows", {})
        self._discovery_url: str = description.get("openid_connect_url", "")
        self._names = variables
        self._base_urls = base_urls
        self._name = name
        self._clock = clock
        values = {
            part: read_value(description, part, name, environ) for part, name in variables.items()
        }
        self.is_configured = any(
            all(values.get(part) for part in parts) for parts in sufficient_parts(description)
        )
        """Whether there is a token, or what is needed to fetch one."""
        self._access_token = values.get("access_token", "")
        self._refresh_token = values.get("refresh_token", "")
        self._client_id = values.get("client_id", "")
        self._client_secret = values.get("client_secret", "")
        self._tokens: dict[str, tuple[str, float]] = {}  # by scopes: token, when to renew it
        self._turns: dict[str, ConcurrencyLimit] = {}  # by scopes; one fetch at a time
        self._discovered = ""

    @property
    def fetches_tokens(self) -> bool:
        """Whether `apply` requests a token: one can be fetched, and none is configured."""
        return self.is_configured and not self._access_token

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables in use; if none is set, those to set.

        The latter are the client's if it can fetch tokens itself, else that of an access token.
        """
        client = {"client_id": self._client_id, "client_secret": self._client_secret}
        if self._refresh_token and not self._access_token:
            parts = ["refresh_token", *(part for part, value in client.items() if value)]
        elif self._can_fetch and not self._access_token:
            parts = list(client)
        else:
            parts = ["access_token"]
        return tuple(self._names[part] for part in parts if part in self._names)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every secret and every fetched token."""
        fetched = (token for token, _ in self._tokens.values())
        return (self._access_token, self._refresh_token, self._client_secret, *fetched)

    @property
    def _documented_url(self) -> str:
        """The token URL of the flow in use; "" if the document has none."""
        own = self._flows.get("clientCredentials", {})
        if not self._refresh_token:
            return str(own.get("tokenUrl", ""))
        # Refresh tokens come with the flows of a user, so the client's own flow comes last.
        flows = [flow for name, flow in sorted(self._flows.items()) if name != "clientCredentials"]
        urls = (flow.get("refreshUrl") or flow.get("tokenUrl") for flow in [*flows, own])
        return next(filter(None, urls), "")

    async def apply(self, send: Sender, scopes: Sequence[str]) -> AppliedCredentials:
        """Return the header with an access token for these scopes.

        Raises:
            ToolError: the issuer returned no token.
        """
        if self._access_token:
            return make_authorization("Bearer", self._access_token)
        scope = " ".join(sorted(scopes))
        # A limit and not a lock: calls that wait for a slow issuer must not pile up.
        turns = self._turns.setdefault(scope, ConcurrencyLimit(concurrent=1))
        await turns.acquire()
        try:
            token, renew_at = self._tokens.get(scope, ("", 0.0))
            if not token or self._clock() >= renew_at:
                token = await self._fetch(send, scope)
        finally:
            turns.release()
        return make_authorization("Bearer", token)

    def forget(self) -> bool:
        """Drop fetched tokens; return False for a configured access token, which stays."""
        if self._access_token:
            return False
        had_tokens = bool(self._tokens)
        self._tokens.clear()
        return had_tokens

    async def _fetch(self, send: Sender, scope: str) -> str:
        url = await self._find_token_url(send)
        form = {"grant_type": "client_credentials"}
        if self._refresh_token:
            form = {"grant_type": "refresh_token", "refresh_token": self._refresh_token}
        if scope:
            form["scope"] = scope
        headers = [
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("Accept", "application/json"),
        ]
        if self._client_id and self._client_secret:
            # RFC 6749, section 2.3.1: both are form-encoded before they are joined.
            pair = f"{quote_plus(self._client_id)}:{quote_plus(self._client_secret)}"
            headers.append(("Authorization", f"Basic {b64encode(pair.encode()).decode()}"))
        elif self._client_id:
            form["client_id"] = self._client_id
        request = HttpRequest(
            "POST",
            url,
            tuple(headers),
            urlencode(form).encode(),
            private_addresses_setting=self._base_urls.private_addresses_setting_of(url),
        )
        answer = _read_grant(await _send(send, request), self.variables)
        token: str = answer["access_token"]
        # Some issuers give a new refresh token each time, and then only that one is good.
        rotated = answer.get("refresh_token")
        if self._refresh_token and isinstance(rotated, str) and rotated:
            self._refresh_token = rotated
        lifetime = _read_lifetime(answer)
        self._tokens[scope] = (token, self._clock() + lifetime - min(60.0, lifetime / 5))
        return token

    async def _find_token_url(self, send: Sender) -> str:
        """Return the URL that the secrets go to."""
        url = self._discovered or self._documented_url
        if not url:
            url = self._discovered = await self._discover(send)
        if "://" not in url:
            url = urljoin(f"{self._base_urls.base_url()}/", url)
        _check_token_url(url)
        self._check_confirmed(url)
        return url

    def _check_confirmed(self, url: str) -> None:
        if not self._base_urls.is_confirmed(url):
            raise UnconfirmedOriginError(f"the token request of `{self._name}`", url)

    @property
    def unconfirmed_url(self) -> str:
        """The unconfirmed URL that a token request would use; "" if there is none.

        With discovery it is the URL of the metadata, since the token URL is not known yet.
        """
        if not self.fetches_tokens:
            return ""
        url = self._documented_url or self._discovery_url
        return url if "://" in url and not self._base_urls.is_confirmed(url) else ""

    async def _discover(self, send: Sender) -> str:
        self._check_confirmed(self._discovery_url)
        url = _check_token_url(self._discovery_url)
        private = self._base_urls.private_addresses_setting_of(url)
        response = await _send(send, HttpRequest("GET", url, private_addresses_setting=private))
        metadata = _decode_object(response) if response.status == 200 else {}
        endpoint = metadata.get("token_endpoint")
        if not isinstance(endpoint, str):
            raise ToolError(
                "The API's OpenID Connect discovery gave no token endpoint, so nothing was sent."
            )
        _check_issuer(url, metadata.get("issuer"))
        return endpoint


def _check_token_url(url: str) -> str:
    """Return a URL that may receive credentials: https, or this machine."""
    try:
        parts = urlsplit(url)
        is_valid = url.isascii() and url.isprintable() and " " not in url and parts.port != 0
    except ValueError:  # an unfinished IPv6 address, a port that is no number or too large
        is_valid = False
    if not is_valid:
        raise ConfigurationError("the token URL of the API is invalid")
    is_local = parts.scheme == "http" and parts.hostname in _LOCAL_HOSTS
    if not is_local and (parts.scheme != "https" or not parts.hostname):
        raise ConfigurationError(
            "the token URL of the API is not https, so no secret is sent there"
        )
    if parts.username or parts.fragment:
        raise ConfigurationError("the token URL of the API has a user or a fragment in it")
    return url


def _check_issuer(discovery_url: str, issuer: object) -> None:
    """Check the issuer of discovery metadata (OpenID Connect Discovery 1.0, section 4.3)."""
    # The token endpoint of another issuer may be an attacker's. The discovery URL omits a "/" at
    # the end of the issuer (section 4.1), and one without the well-known suffix implies no issuer.
    expected, is_well_known, _ = discovery_url.partition(_WELL_KNOWN)
    if is_well_known and issuer not in (expected, f"{expected}/"):
        is_shown = isinstance(issuer, str) and issuer.isprintable() and len(issuer) < 300
        told = f"`{issuer}`" if is_shown else "none"
        raise ToolError(
            f"The API's OpenID Connect discovery is that of `{expected}` and names as its issuer "
            f"{told}, so no secret was sent to its token endpoint."
        )


async def _send(send: Sender, request: HttpRequest) -> HttpResponse:
    try:
        return await send(request)
    except UpstreamError as error:
        raise ToolError(f"No access token: the token request {error}") from None


def _decode_object(response: HttpResponse) -> dict[str, Any]:
    if len(response.body) > _MAX_ANSWER_BYTES:
        return {}
    try:
        decoded = msgspec.json.decode(response.body)
    except (ValueError, RecursionError):
        return {}
    return decoded if isinstance(decoded, dict) else {}


def _read_grant(response: HttpResponse, variables: tuple[str, ...]) -> dict[str, Any]:
    """Return the token response if it contains a valid token (RFC 6749, section 5)."""
    answer = _decode_object(response)
    token = answer.get("access_token")
    if response.status == 200 and isinstance(token, str) and token and TOKEN.match(token):
        return answer
    code = answer.get("error")
    is_code = isinstance(code, str) and code.isascii() and code.isprintable() and len(code) < 50
    told = f" (`{code}`)" if is_code else ""
    raise ToolError(
        f"No access token: its issuer returned status {response.status}{told}. The operator "
        f"of this server can check {' and '.join(variables)}."
    )


def _read_lifetime(answer: Mapping[str, Any]) -> float:
    try:
        lifetime = float(answer.get("expires_in", _DEFAULT_LIFETIME))
    except (TypeError, ValueError):
        return _DEFAULT_LIFETIME
    return lifetime if 0 < lifetime < float("inf") else _DEFAULT_LIFETIME
