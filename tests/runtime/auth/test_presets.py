"""Tests of well-known issuers: which preset applies, and how their tokens are read."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.runtime.auth.claims import TokenClaims
from mcpgen.runtime.auth.errors import InvalidTokenError
from mcpgen.runtime.auth.presets import ANY, PRESETS, find_preset

TENANT = "72f988bf-86f1-41af-91ab-2d7cd011db47"


@pytest.mark.parametrize(
    ("issuer", "name"),
    [
        ("https://pets.eu.auth0.com/", "Auth0"),
        ("https://id.example/realms/pets", "Keycloak"),
        ("http://127.0.0.1:8080/auth/realms/pets", "Keycloak"),
        (f"https://login.microsoftonline.com/{TENANT}/v2.0", "Microsoft Entra ID"),
        (f"https://sts.windows.net/{TENANT}/", "Microsoft Entra ID"),
        ("https://accounts.google.com", "Google"),
        ("https://pets.okta.com/oauth2/default", "Okta"),
        ("https://pets.okta.com", "Okta's organization server"),
        ("https://pets-staging.authkit.app", "WorkOS"),
        ("https://id.pets.example/", "any issuer"),
        ("https://evil.example/https://accounts.google.com", "any issuer"),
        ("https://pets.okta.com.evil.example", "any issuer"),
        ("https://login.microsoftonline.com/common/v2.0", "any issuer"),
    ],
)
def test_an_issuer_has_the_preset_of_its_vendor(issuer: str, name: str) -> None:
    assert find_preset(issuer).name == name


def test_every_preset_reads_scopes_and_a_principal() -> None:
    for preset in (*PRESETS, ANY):
        assert preset.scope_claims
        assert "sub" in preset.principal_claims


@pytest.mark.parametrize(
    ("issuer", "claims", "principal", "scopes"),
    [
        (
            "https://pets.eu.auth0.com/",
            {"sub": "auth0|1", "scope": "openid read:pets", "permissions": ["write:pets"]},
            "https://pets.eu.auth0.com/ sub auth0|1",
            {"openid", "read:pets", "write:pets"},
        ),
        (
            f"https://sts.windows.net/{TENANT}/",
            {"sub": "pairwise", "oid": "object", "scp": "Pets.Read Pets.Write", "roles": ["App"]},
            f"https://sts.windows.net/{TENANT}/ oid object",
            {"Pets.Read", "Pets.Write", "App"},
        ),
        (
            "https://pets.okta.com/oauth2/default",
            {"sub": "ada@pets.example", "uid": "00u1", "scp": ["pets"]},
            "https://pets.okta.com/oauth2/default uid 00u1",
            {"pets"},
        ),
        (
            "https://pets.okta.com/oauth2/default",
            {"sub": "0oaclient", "cid": "0oaclient", "scp": ["pets"]},
            "https://pets.okta.com/oauth2/default sub 0oaclient",
            {"pets"},
        ),
        (
            "https://id.example/realms/pets",
            {"sub": "u", "scope": "email", "realm_access": {"roles": ["admin"]}},
            "https://id.example/realms/pets sub u",
            {"email"},
        ),
        (
            "https://a.authkit.app",
            {"sub": "user_1", "scope": "openid"},
            "https://a.authkit.app sub user_1",
            {"openid"},
        ),
        (
            "https://accounts.google.com",
            {"sub": "1", "email": "ada@example.com"},
            "https://accounts.google.com sub 1",
            set(),
        ),
    ],
)
def test_claims_of_a_vendor_are_read(
    issuer: str, claims: dict[str, Any], principal: str, scopes: set[str]
) -> None:
    access = TokenClaims(issuer, {"aud": "a", "exp": 2, **claims}).check("t", {"a"}, 1.0)
    assert access.principal == principal
    assert access.scopes == scopes


def test_an_email_address_is_never_a_principal() -> None:
    claims = {"aud": "a", "exp": 2, "email": "ada@example.com"}
    with pytest.raises(InvalidTokenError):
        TokenClaims("https://accounts.google.com", claims).check("t", {"a"}, 1.0)
