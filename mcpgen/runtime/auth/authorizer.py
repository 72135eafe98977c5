"""Validation of access tokens (JWTs, opaque and static tokens), with a cache of the results."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256
from typing import Final

from mcpgen.runtime.auth.access import Access
from mcpgen.runtime.auth.claims import CLOCK_SKEW_SECONDS
from mcpgen.runtime.auth.errors import InvalidTokenError
from mcpgen.runtime.auth.introspection import Introspection
from mcpgen.runtime.auth.jwt_tokens import JwtVerifier, parse_jwt
from mcpgen.runtime.auth.presets import find_preset
from mcpgen.runtime.auth.single_flight import SingleFlight
from mcpgen.runtime.auth.static_tokens import StaticTokens

MAX_CACHED: Final = 4_000  # tokens; also of rejected ones
JWT_CACHE_SECONDS: Final = 60.0
INTROSPECTION_CACHE_SECONDS: Final = 10.0


class _Cache:
    """Bounded cache of results with expiry, by hash of the token; drops the oldest when full."""

    def __init__(self) -> None:
        self._entries: OrderedDict[bytes, tuple[Access | InvalidTokenError, float]] = OrderedDict()

    def find(self, key: bytes, now: float) -> Access | InvalidTokenError | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        if now >= entry[1]:
            del self._entries[key]
            return None
        return entry[0]

    def add(self, key: bytes, result: Access | InvalidTokenError, until: float) -> None:
        if len(self._entries) >= MAX_CACHED:
            self._entries.popitem(last=False)
        self._entries[key] = (result, until)


class Authorizer:
    """Validator of the access tokens of one server."""

    def __init__(
        self,
        *,
        audiences: frozenset[str] = frozenset(),
        jwt: JwtVerifier | None = None,
        introspection: Introspection | None = None,
        static: StaticTokens | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Combine the configured validators; `audiences` are canonical (`canonicalize`)."""
        self.audiences = audiences
        self._jwt = jwt
        self._introspection = introspection
        self._static = static
        self._clock = clock
        self._accepted = _Cache()
        self._rejected = _Cache()  # separate, so that invalid tokens do not displace valid ones
        self._flight: SingleFlight[Access] = SingleFlight()

    async def authorize(self, token: str) -> Access:
        """Return the access that a token grants.

        Raises:
            InvalidTokenError: the token is invalid.
            IssuerUnavailableError: the token cannot be checked now.
        """
        key, now = sha256(token.encode()).digest(), self._clock()
        cached = self._accepted.find(key, now) or self._rejected.find(key, now)
        if isinstance(cached, Access):
            return cached
        if cached is not None:
            raise InvalidTokenError(str(cached))
        parts = parse_jwt(token) if self._jwt is not None else None
        issuer = "" if parts is None else parts.claims.get("iss")
        if self._jwt is not None and parts is not None and self._is_verified_here(issuer):
            claims = await self._jwt.verify(parts)
            access = claims.check(token, self.audiences, self._clock())
            self._store(key, access, JWT_CACHE_SECONDS)
            return access
        if self._static is not None:
            found = self._static.find(token)
            if found is not None:
                return found
        if self._introspection is None:
            raise InvalidTokenError("is unknown, or from another issuer")
        return await self._flight.run(key, lambda: self._introspect(token, key))

    def is_still_valid(self, access: Access, token: str) -> bool:
        """Return whether a token that gave this access is still valid, as far as is known here.

        It may have been revoked by its issuer, who is not asked.
        """
        if self._clock() >= access.expires_at + CLOCK_SKEW_SECONDS:
            return False
        is_static = access.expires_at == float("inf")
        return not is_static or self._static is None or self._static.is_listed(token)

    def _is_verified_here(self, issuer: object) -> bool:
        """Return whether a JWT of this issuer is verified by its signature."""
        if self._jwt is None or not isinstance(issuer, str) or issuer not in self._jwt.issuers:
            return self._introspection is None and self._static is None
        return not find_preset(issuer).needs_introspection

    async def _introspect(self, token: str, key: bytes) -> Access:
        assert self._introspection is not None  # noqa: S101  (`authorize` has checked it)
        try:
            claims = await self._introspection.introspect(token)
            access = claims.check(token, self.audiences, self._clock())
        except InvalidTokenError as error:
            until = self._clock() + INTROSPECTION_CACHE_SECONDS
            self._rejected.add(key, InvalidTokenError(str(error)), until)
            raise
        self._store(key, access, INTROSPECTION_CACHE_SECONDS)
        return access

    def _store(self, key: bytes, access: Access, seconds: float) -> None:
        """Cache an access for some seconds, at most until its token expires."""
        until = min(self._clock() + seconds, access.expires_at + CLOCK_SKEW_SECONDS)
        self._accepted.add(key, access, until)
