"""Access tokens of the API for those of callers, by token exchange (`from: exchange`; RFC 8693)."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar, Final, NamedTuple

from mcpgen.contract.base_url import BaseUrls
from mcpgen.runtime.auth.access import Access
from mcpgen.runtime.auth.single_flight import SingleFlight
from mcpgen.runtime.errors import ConfigurationError, ToolError
from mcpgen.runtime.process.caller_secrets import mask_caller_secret
from mcpgen.runtime.startup.server_settings import ServerSettings
from mcpgen.runtime.upstream.auth.exchanged_tokens import ExchangedToken, ExchangedTokens
from mcpgen.runtime.upstream.auth.renewal import limit_time
from mcpgen.runtime.upstream.auth.schemes import AppliedCredentials, make_authorization
from mcpgen.runtime.upstream.auth.token_endpoint import (
    ClientIdentity,
    GrantRefusedError,
    check_url,
    make_form_request,
    request_token,
)
from mcpgen.runtime.upstream.http.messages import Sender
from mcpgen.text.hosts import origin_of

MAX_TOKENS: Final = 10_000
"""Tokens of a scheme in memory; above, the one is dropped that was not used for longest."""
_GRANT: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
_ACCESS_TOKEN: Final = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105  (a type)


class _Key(NamedTuple):
    """A token of another caller, or with other rights of this caller, is never used."""

    principal: str
    rights: frozenset[str]
    scope: str


class ExchangeScheme:
    """A scheme whose access token is exchanged for the token of the caller.

    The caller's token is sent to `<PREFIX>EXCHANGE_TOKEN_URL` only, never to the API. Tokens are
    cached until shortly before they expire: in memory, and in the store if replicas share one.
    There is one exchange at a time for a caller.
    """

    is_configured: bool
    variables: ClassVar[tuple[str, ...]] = ()
    secrets: tuple[str, ...]
    fetches_tokens: ClassVar[bool] = False
    unconfirmed_url: ClassVar[str] = ""  # the operator has named the URL
    belongs_to_callers: ClassVar[bool] = True

    def __init__(
        self,
        settings: ServerSettings,
        *,
        base_urls: BaseUrls,
        shared: ExchangedTokens | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Read the settings of the exchange; `base_urls` are those of the API.

        `shared` are the tokens that replicas share. `now` returns seconds since the epoch.

        Raises:
            ConfigurationError: a setting is invalid.
        """
        self._setting = settings.spell("EXCHANGE_TOKEN_URL")
        self._url: str = settings.get("EXCHANGE_TOKEN_URL") or ""
        self._audience: str = settings.get("EXCHANGE_AUDIENCE") or ""
        secret: str = settings.get("EXCHANGE_CLIENT_SECRET") or ""
        self._client = ClientIdentity(settings.get("EXCHANGE_CLIENT_ID") or "", secret)
        self._operators = tuple(
            settings.spell(name)
            for name in ("EXCHANGE_TOKEN_URL", "EXCHANGE_CLIENT_ID", "EXCHANGE_CLIENT_SECRET")
            if settings.is_set(name)
        )
        self.is_configured = bool(self._url)
        self.secrets = (secret,) if secret else ()
        self._base_urls = base_urls
        self._shared = shared
        self._now = now
        self._tokens: OrderedDict[_Key, ExchangedToken] = OrderedDict()
        self._exchanges: SingleFlight[ExchangedToken] = SingleFlight()

    def is_available(self, access: Access | None) -> bool:
        """Return whether the request has a token that can be exchanged."""
        return self.is_configured and access is not None and bool(access.token)

    def explain_missing(self, access: Access | None) -> str:
        """Return a sentence on what the operator has to do."""
        if not self.is_configured:
            return (
                "Callers' access tokens are exchanged for those of the API: the operator has to set"
                f" {self._setting}."
            )
        how = "runs over stdio" if access is None else "does not authorize its callers"
        return (
            f"It is exchanged for the access token of the caller, and this server {how}: the"
            " operator has to start it with --http, and to configure its authorization."
        )

    def explain_refused(self, status: int) -> str:
        """Return a sentence for a response of the API with status 401 or 403."""
        if status == 401:
            return "The API did not accept the token that was exchanged for yours: log in again."
        return "Your account at the API may not do this, or the exchanged token lacks a scope."

    async def apply(
        self, send: Sender, scopes: Sequence[str], access: Access | None = None
    ) -> AppliedCredentials:
        """Return the header with an access token of the API for this caller.

        Raises:
            ToolError: the caller has no token, or it was not exchanged.
            ConfigurationError: the API has no base URL.
        """
        if access is None or not self.is_available(access):
            raise ToolError(self.explain_missing(access))
        key = _Key(access.principal, access.scopes, " ".join(sorted(scopes)))
        token = self._tokens.get(key)
        if token is None or not self._is_usable(key, token):
            token = await self._exchanges.run(key, lambda: self._renew(send, key, access))
        else:
            self._tokens.move_to_end(key)
        mask_caller_secret(token.value)
        return make_authorization("Bearer", token.value)

    def forget(
        self, access: Access | None = None, applied: AppliedCredentials | None = None
    ) -> bool:
        """Mark the token that was applied as refused; return True: a new one can be requested."""
        if access is None or applied is None:
            return False
        for key, token in list(self._tokens.items()):
            # Another call may have renewed it since.
            if (
                key.principal == access.principal
                and make_authorization("Bearer", token.value).headers[0] in applied.headers
            ):
                self._tokens[key] = replace(token, is_refused=True)
        return True

    def _is_usable(self, key: _Key, token: ExchangedToken) -> bool:
        """Return whether a token of the memory or of the store can be used for a request."""
        known = self._tokens.get(key)
        is_refused = known is not None and known.is_refused and known.value == token.value
        return not is_refused and self._now() < token.renew_at

    async def _renew(self, send: Sender, key: _Key, access: Access) -> ExchangedToken:
        """Get a token from the store of all replicas, else from the authorization server."""
        audience = self._audience or origin_of(self._base_urls.base_url())

        async def exchange() -> ExchangedToken:
            return await limit_time(self._exchange(send, key.scope, audience, access))

        if self._shared is None:
            token = await exchange()
        else:
            settings = self._url, self._client.id, audience
            token = await self._shared.renew(
                (*settings, key.principal, sorted(key.rights), key.scope),
                is_usable=lambda token: self._is_usable(key, token),
                exchange=exchange,
                now=self._now,
            )
        self._tokens[key] = token
        self._tokens.move_to_end(key)
        if len(self._tokens) > MAX_TOKENS:
            self._tokens.popitem(last=False)
        return token

    async def _exchange(
        self, send: Sender, scope: str, audience: str, access: Access
    ) -> ExchangedToken:
        form = {
            "grant_type": _GRANT,
            "subject_token": access.token,
            "subject_token_type": _ACCESS_TOKEN,
            "requested_token_type": _ACCESS_TOKEN,
            "audience": audience,
        }
        if scope:
            form["scope"] = scope
        request = make_form_request(check_url(self._url, self._setting), form, self._client)
        try:
            grant = await request_token(send, request, variables=self._operators)
        except GrantRefusedError as error:
            if error.code != "invalid_grant":
                raise
            raise ToolError(
                "Your access token was not exchanged for one of the API (`invalid_grant`): log in"
                " again, and if that does not help, tell the operator of this server."
            ) from None
        if grant.access_token == access.token:
            raise ConfigurationError(
                f"{self._setting} returned the token of the caller unchanged. It was issued for"
                " this server and is never sent to the API",
                setting=self._setting,
            )
        return ExchangedToken(grant.access_token, grant.compute_renewal(self._now()))
