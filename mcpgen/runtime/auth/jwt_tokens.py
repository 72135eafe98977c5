"""Access tokens that are signed JSON Web Tokens (RFC 7519, RFC 9068, RFC 8725)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec import json

from mcpgen.runtime.auth.claims import TokenClaims
from mcpgen.runtime.auth.errors import InvalidTokenError
from mcpgen.runtime.auth.keys import IssuerKeys
from mcpgen.runtime.auth.signatures import ALGORITHMS, decode_base64, is_signed_with

_COMPACT: Final = re.compile(r"([\w-]+)\.([\w-]+)\.([\w-]*)\Z", re.ASCII)
_TYPES: Final = frozenset({"jwt", "at+jwt", "application/jwt", "application/at+jwt"})


class JwtParts:
    """A token whose signature is not verified yet."""

    __slots__ = ("claims", "header", "signature", "signing_input")

    def __init__(
        self,
        header: dict[str, Any],
        claims: dict[str, Any],
        signing_input: bytes,
        signature: bytes,
    ) -> None:
        self.header = header
        self.claims = claims
        self.signing_input = signing_input
        self.signature = signature


def parse_jwt(token: str) -> JwtParts | None:
    """Split a token into its decoded parts; None if it is not a signed JWT.

    Nothing in the result is trusted: the signature was not verified.
    """
    match = _COMPACT.match(token)
    if match is None:
        return None
    try:
        header = json.decode(decode_base64(match[1]))
        claims = json.decode(decode_base64(match[2]))
        signature = decode_base64(match[3])
    except (ValueError, RecursionError):
        return None
    if not isinstance(header, dict) or not isinstance(claims, dict):
        return None
    signing_input = token.rpartition(".")[0].encode()
    return JwtParts(header, claims, signing_input, signature)


class JwtVerifier:
    """Verifier of tokens of several issuers."""

    def __init__(self, issuers: Mapping[str, IssuerKeys]) -> None:
        self.issuers = issuers

    async def verify(self, parts: JwtParts) -> TokenClaims:
        """Verify header, issuer and signature of a token; its other claims are not checked.

        Raises:
            InvalidTokenError: the token is invalid.
            IssuerUnavailableError: the keys of the issuer cannot be fetched.
        """
        algorithm, kid = _read_header(parts.header)
        issuer = parts.claims.get("iss")
        keys = self.issuers.get(issuer) if isinstance(issuer, str) else None
        if keys is None:
            raise InvalidTokenError("is from another issuer")
        candidates = await keys.find(algorithm, kid)
        data, signature = parts.signing_input, parts.signature
        if not any(is_signed_with(key, algorithm, data, signature) for key in candidates):
            raise InvalidTokenError("has an invalid signature")
        return TokenClaims(keys.issuer, parts.claims)


def _read_header(header: dict[str, Any]) -> tuple[str, str | None]:
    """Return algorithm and key id (RFC 8725, sections 3.1 and 3.11)."""
    algorithm, kid, token_type = header.get("alg"), header.get("kid"), header.get("typ", "JWT")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise InvalidTokenError("is signed with an algorithm that is not accepted")
    if not isinstance(token_type, str) or token_type.lower() not in _TYPES:
        raise InvalidTokenError("has a type that is not accepted")
    if "crit" in header:
        raise InvalidTokenError("has critical header parameters that are unknown")
    if kid is not None and not isinstance(kid, str):
        raise InvalidTokenError("has an invalid key id")
    return algorithm, kid
