"""Validation of the claims of an access token: the caller, its scopes and the audience."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from mcpgen.runtime.auth.access import Access
from mcpgen.runtime.auth.errors import InvalidTokenError
from mcpgen.runtime.auth.presets import Preset, find_preset
from mcpgen.runtime.auth.resources import is_audience

CLOCK_SKEW_SECONDS: Final = 60
MAX_SUBJECT: Final = 1000  # characters
MAX_SCOPES: Final = 1000


@dataclass(frozen=True, slots=True)
class TokenClaims:
    """Claims whose origin was verified (by signature or introspection), and their issuer."""

    issuer: str
    claims: dict[str, Any]

    def check(self, token: str, audiences: Iterable[str], now: float) -> Access:
        """Check the claims and return the access; `now` is in seconds since the epoch.

        Raises:
            InvalidTokenError: it is expired, not valid yet, for another server, or lacks a claim.
        """
        expires_at = self._read_time("exp")
        if expires_at is None:
            raise InvalidTokenError("does not expire")
        if now >= expires_at + CLOCK_SKEW_SECONDS:
            raise InvalidTokenError("has expired")
        not_before = self._read_time("nbf")
        if not_before is not None and now < not_before - CLOCK_SKEW_SECONDS:
            raise InvalidTokenError("is not valid yet")
        if not is_audience(self.claims.get("aud"), audiences):
            raise InvalidTokenError("is for another server")
        if "cnf" in self.claims:
            # RFC 7800: accepted as a bearer token, it would be valid without the proof of its key.
            raise InvalidTokenError("is bound to a key, which this server cannot check")
        preset = find_preset(self.issuer)
        return Access(
            principal=self._read_principal(preset),
            scopes=self._read_scopes(preset),
            token=token,
            expires_at=expires_at,
        )

    def _read_time(self, name: str) -> float | None:
        value = self.claims.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InvalidTokenError(f"has an invalid claim `{name}`")
        if not math.isfinite(value) or abs(value) > 1e12:
            raise InvalidTokenError(f"has an invalid claim `{name}`")
        return float(value)

    def _read_principal(self, preset: Preset) -> str:
        """Return issuer, claim name and value: no other caller has the same principal.

        An issuer is a URL and contains no spaces, so the parts cannot be confused.
        """
        for name in preset.principal_claims:
            value = self.claims.get(name)
            if isinstance(value, str) and 0 < len(value) <= MAX_SUBJECT and value.isprintable():
                return f"{self.issuer} {name} {value}"
        raise InvalidTokenError("does not name its subject")

    def _read_scopes(self, preset: Preset) -> frozenset[str]:
        """Return the scopes: a list, or a text in which spaces separate them."""
        found: set[str] = set()
        for name in preset.scope_claims:
            value = self.claims.get(name)
            listed = value.split(" ") if isinstance(value, str) else value
            if isinstance(listed, list):
                found.update(it for it in listed[:MAX_SCOPES] if isinstance(it, str) and it)
        return frozenset(found)
