"""Introspection of opaque access tokens at their issuer (RFC 7662)."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Collection
from typing import Final
from urllib.parse import quote_plus, urlencode

from mcpgen.runtime.auth.claims import TokenClaims
from mcpgen.runtime.auth.errors import InvalidTokenError, IssuerUnavailableError
from mcpgen.runtime.auth.fetching import IssuerClient
from mcpgen.runtime.upstream.http.messages import HeaderFields

MAX_CONCURRENT: Final = 20
MAX_WAITING: Final = 200


class Introspection:
    """Client of one introspection endpoint."""

    def __init__(
        self,
        url: str,
        client: IssuerClient,
        *,
        client_id: str,
        client_secret: str,
        issuers: Collection[str],
    ) -> None:
        """Prepare requests that authenticate with HTTP Basic (RFC 6749, section 2.3.1)."""
        self._url = url
        self._client = client
        self._issuers = issuers
        self._headers: HeaderFields = ()
        if client_id:
            pair = f"{quote_plus(client_id)}:{quote_plus(client_secret)}".encode()
            self._headers = (("Authorization", f"Basic {b64encode(pair).decode()}"),)
        self._turns = asyncio.Semaphore(MAX_CONCURRENT)
        self._waiting = 0

    async def introspect(self, token: str) -> TokenClaims:
        """Return the claims of an active token.

        Raises:
            InvalidTokenError: the token is not active, or not a bearer token.
            IssuerUnavailableError: the issuer cannot be asked.
        """
        if self._waiting >= MAX_WAITING:
            raise IssuerUnavailableError("too many access tokens are being checked")
        self._waiting += 1
        try:
            async with self._turns:
                form = urlencode({"token": token, "token_type_hint": "access_token"}).encode()
                claims = await self._client.post(self._url, self._headers, form)
        finally:
            self._waiting -= 1
        if claims is None or not isinstance(claims.get("active"), bool):
            raise IssuerUnavailableError("the introspection of tokens failed at their issuer")
        if not claims["active"]:
            raise InvalidTokenError("is not active")
        token_type = claims.get("token_type", "Bearer")
        # Some issuers return the kind of token here, as in a request's `token_type_hint`.
        if not isinstance(token_type, str) or token_type.lower() not in {"bearer", "access_token"}:
            raise InvalidTokenError("is not a bearer token")
        issuer = claims.get("iss", self._url)
        if issuer != self._url and issuer not in self._issuers:
            raise InvalidTokenError("is from another issuer")
        return TokenClaims(issuer, claims)
