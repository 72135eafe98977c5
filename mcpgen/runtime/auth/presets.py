"""Differences between the access tokens of well-known issuers.

Sources: the vendors' pages about access tokens, listed in docs/how-to/authorization.md.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple


class Preset(NamedTuple):
    """Properties of an issuer's tokens."""

    name: str
    issuer: str
    """Regular expression of the whole issuer."""
    needs_audience: bool = False
    """Whether AUTH_AUDIENCE is required, as tokens never name the server's URL as audience."""
    needs_introspection: bool = False
    """Whether only the issuer itself can check its access tokens."""
    scope_claims: tuple[str, ...] = ("scope", "scp")
    principal_claims: tuple[str, ...] = ("sub",)
    """The first one that a token has identifies the caller, with the issuer."""


ANY: Final = Preset("any issuer", r".*", principal_claims=("sub", "client_id"))

PRESETS: Final = (
    Preset(
        "Auth0",
        r"https://[a-z0-9.-]+\.auth0\.com/",
        scope_claims=("scope", "permissions"),
    ),
    Preset("Keycloak", r"https?://[^/]+(/[^/]+)*/realms/[^/]+"),
    Preset(
        "Microsoft Entra ID",
        r"https://login\.microsoftonline\.com/[0-9a-f-]{36}/v2\.0|https://sts\.windows\.net/[0-9a-f-]{36}/",
        needs_audience=True,
        scope_claims=("scp", "roles"),
        principal_claims=("oid", "sub"),
    ),
    Preset("Google", r"https://accounts\.google\.com", needs_audience=True),
    Preset(
        "Okta",
        r"https://[a-z0-9-]+\.(okta|oktapreview|okta-emea)\.com/oauth2/[A-Za-z0-9]+",
        needs_audience=True,
        scope_claims=("scp",),
        principal_claims=("uid", "sub"),
    ),
    Preset(
        "Okta's organization server",
        r"https://[a-z0-9-]+\.(okta|oktapreview|okta-emea)\.com",
        needs_audience=True,
        needs_introspection=True,
        scope_claims=("scope", "scp"),
        principal_claims=("uid", "sub"),
    ),
    Preset("WorkOS", r"https://[a-z0-9-]+\.authkit\.app|https://api\.workos\.com(/.*)?"),
)
"""The first one whose pattern matches applies; `ANY` if none does."""


@lru_cache(maxsize=64)
def find_preset(issuer: str) -> Preset:
    """Return the preset of an issuer."""
    return next((it for it in PRESETS if re.fullmatch(it.issuer, issuer)), ANY)
