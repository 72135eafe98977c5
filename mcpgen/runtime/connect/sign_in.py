"""Sign-in of a browser: who opens a connect page must be the principal of the MCP client.

MCP's security best practices describe the attack: a user sends the link that a server gave them to
somebody else, who then connects their own account for that user. Only the identity of the browser's
user prevents it, so every page requires a sign-in: at the issuer of the callers' access tokens
(OpenID Connect), or with the static token that the user's MCP client has.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from mcpgen.runtime.auth.access import Access
from mcpgen.runtime.errors import ToolError
from mcpgen.runtime.upstream.auth.authorization_code import (
    Authorization,
    AuthorizationCodeClient,
    CallbackError,
)
from mcpgen.runtime.upstream.auth.token_endpoint import decode_claims
from mcpgen.runtime.upstream.http.messages import Sender

_SCOPES: Final = ("openid",)
_NAMES: Final = ("email", "preferred_username", "name")
_MAX_NAME: Final = 200


class Identity(NamedTuple):
    """The user of a browser."""

    principal: str
    name: str  # as the user knows it


class TokenSignIn:
    """Sign-in with the access token that the MCP client of the user has (AUTH_TOKENS_FILE)."""

    def __init__(self, find: Callable[[str], Access | None]) -> None:
        """`find` returns the access of a valid token."""
        self._find = find

    def identify(self, token: str) -> Identity | None:
        """Return who has a token; None for an unknown one."""
        access = self._find(token) if token else None
        if access is None or not access.principal:
            return None
        return Identity(access.principal, access.principal.rpartition(" ")[2])


ReadPrincipal: TypeAlias = Callable[[str, dict[str, Any], str], str]
"""Returns the principal of an issuer's claims for an audience, as for an access token.

It checks audience and time, and raises `ValueError` for claims that are not valid.
"""


class IssuerSignIn:
    """Sign-in at the issuer of the callers' access tokens (OpenID Connect Core 1.0, section 3.1).

    The ID token comes from the token endpoint over TLS, which authenticates the issuer in place of
    the signature (section 3.1.3.7, number 6).
    """

    def __init__(
        self,
        issuer: str,
        client: AuthorizationCodeClient,
        client_id: str,
        send: Sender,
        read_principal: ReadPrincipal,
    ) -> None:
        self._issuer = issuer
        self._client = client
        self._client_id = client_id
        self._send = send
        self._read_principal = read_principal

    async def begin(self, redirect_uri: str) -> tuple[Authorization, str]:
        """Return the request for the browser, and the nonce that the ID token must have.

        Raises:
            ToolError, ConfigurationError: the issuer cannot be used.
        """
        nonce = secrets.token_urlsafe(24)
        endpoints = await self._client.find_endpoints(self._send)
        return self._client.begin(
            endpoints, redirect_uri, _SCOPES, {"nonce": nonce}, offline=False
        ), nonce

    async def finish(
        self, authorization: Authorization, nonce: str, parameters: Mapping[str, str]
    ) -> Identity:
        """Return who has signed in.

        Raises:
            ToolError: the issuer refused, or its answer is not for this request.
        """
        grant = await self._client.redeem(self._send, authorization, parameters)
        claims = decode_claims(grant.id_token)
        if claims.get("iss") != self._issuer or claims.get("nonce") != nonce:
            raise CallbackError("The ID token is not for this sign-in.")
        try:
            principal = self._read_principal(self._issuer, claims, self._client_id)
        except ValueError as error:
            raise ToolError(f"The ID token {error}.") from None
        return Identity(principal, _choose_name(claims, principal))


def _choose_name(claims: Mapping[str, Any], principal: str) -> str:
    for name in _NAMES:
        value = claims.get(name)
        if isinstance(value, str) and value.strip():
            return value[:_MAX_NAME]
    return principal.rpartition(" ")[2][:_MAX_NAME]


class OperatorUrls:
    """Policy for URLs that the operator has set: they may receive secrets, and may be private."""

    def base_url(self) -> str:
        """Return "": a relative URL is invalid."""
        return ""

    def is_confirmed(self, url: str) -> bool:  # noqa: ARG002  (as of `BaseUrls`)
        """Return True: the operator has named the issuer."""
        return True

    def private_addresses_setting_of(self, url: str) -> str:  # noqa: ARG002  (as of `BaseUrls`)
        """Return "": private addresses are permitted."""
        return ""
