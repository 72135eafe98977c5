"""OAuth 2 client of the server: fetches access tokens when needed and caches them in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from mcpgen.contract.base_url import BaseUrls
from mcpgen.contract.needs import sufficient_parts
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.startup.values import read_value
from mcpgen.runtime.upstream.auth.schemes import AppliedCredentials, make_authorization
from mcpgen.runtime.upstream.auth.token_endpoint import (
    ClientIdentity,
    check_endpoint,
    fetch_metadata,
    make_form_request,
    request_token,
)
from mcpgen.runtime.upstream.http.messages import Sender
from mcpgen.runtime.upstream.resilience import ConcurrencyLimit

if TYPE_CHECKING:
    from mcpgen.runtime.auth.access import Access


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

    belongs_to_callers: ClassVar[bool] = False

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
        """All secrets and fetched tokens."""
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

    def is_available(self, access: Access | None) -> bool:  # noqa: ARG002  (as of `SecurityScheme`)
        """Return whether a request can be sent with this scheme: `is_configured`."""
        return self.is_configured

    async def apply(
        self,
        send: Sender,
        scopes: Sequence[str],
        access: Access | None = None,  # noqa: ARG002  (as of `SecurityScheme`)
    ) -> AppliedCredentials:
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

    def forget(
        self,
        access: Access | None = None,  # noqa: ARG002  (as of `SecurityScheme`)
        applied: AppliedCredentials | None = None,  # noqa: ARG002
    ) -> bool:
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
        request = make_form_request(
            url,
            form,
            ClientIdentity(self._client_id, self._client_secret),
            private_addresses_setting=self._base_urls.private_addresses_setting_of(url),
        )
        grant = await request_token(send, request, variables=self.variables)
        # Some issuers return a new refresh token each time, and then only that one is valid.
        if self._refresh_token and grant.refresh_token:
            self._refresh_token = grant.refresh_token
        self._tokens[scope] = (grant.access_token, grant.compute_renewal(self._clock()))
        return grant.access_token

    async def _find_token_url(self, send: Sender) -> str:
        """Return the URL that the secrets go to."""
        url = self._discovered or self._documented_url
        if not url:
            url = self._discovered = await self._discover(send)
        return check_endpoint(url, self._base_urls, scheme=self._name)

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
        url = check_endpoint(self._discovery_url, self._base_urls, scheme=self._name)
        private = self._base_urls.private_addresses_setting_of(url)
        endpoint: str = (await fetch_metadata(send, url, private))["token_endpoint"]
        return endpoint
