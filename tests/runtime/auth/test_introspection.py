"""Tests of opaque access tokens, which are checked at their issuer (RFC 7662)."""

from __future__ import annotations

import asyncio
import time
from base64 import b64encode
from typing import Any

import pytest

from mcpgen.runtime.auth import authorizer
from tests.support.authorized import RESOURCE, AuthorizedServer, run_authorized
from tests.support.issuer import Issuer, IssuerResponse


def settings(issuer: Issuer) -> dict[str, str]:
    return {
        "AUTH_ISSUER": issuer.identifier,
        "AUTH_INTROSPECTION_URL": f"{issuer.origin}/introspect",
        "AUTH_CLIENT_ID": "mcp:server",
        "AUTH_CLIENT_SECRET": "s e c",
    }


def active(**claims: Any) -> dict[str, Any]:
    full = {
        "active": True,
        "sub": "ada",
        "aud": RESOURCE,
        "scope": "a b",
        "exp": time.time() + 300,
        **claims,
    }
    return {name: value for name, value in full.items() if value is not None}


def test_an_active_token_is_accepted_and_asked_for_once() -> None:
    async def scenario(server: AuthorizedServer) -> None:
        server.issuer.introspections["opaque"] = active()
        responses = await asyncio.gather(*(server.ask("opaque") for _ in range(10)))
        assert {response.status for response in responses} == {200}
        (request,) = server.issuer.requests
        assert request.form == {"token": ["opaque"], "token_type_hint": ["access_token"]}
        pair = b64encode(b"mcp%3Aserver:s+e+c").decode()  # RFC 6749, section 2.3.1
        assert request.headers["authorization"] == f"Basic {pair}"

    run_authorized(scenario, settings=settings)


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"active": False}, "is not active"),
        ({"aud": "https://other.example"}, "is for another server"),
        ({"aud": None}, "is for another server"),
        ({"exp": 1_000_000_000}, "has expired"),
        ({"exp": None}, "does not expire"),
        ({"nbf": 32_503_680_000}, "is not valid yet"),  # the year 3000
        ({"iss": "https://other.example"}, "is from another issuer"),
        ({"token_type": "DPoP"}, "is not a bearer token"),
        ({"sub": None}, "does not name its subject"),
    ],
)
def test_other_tokens_are_refused_and_remembered_for_seconds(
    claims: dict[str, Any], reason: str
) -> None:
    async def scenario(server: AuthorizedServer) -> None:
        server.issuer.introspections["opaque"] = active(**claims)
        for _ in range(3):
            response = await server.ask("opaque")
            assert response.status == 401
            assert reason in response.headers["www-authenticate"]
        assert server.issuer.count("/introspect") == 1

    run_authorized(scenario, settings=settings)


@pytest.mark.parametrize(("exp", "seconds"), [(300, 10), (-55, 5)])
def test_a_result_is_cached_for_seconds_and_never_beyond_the_expiry(
    monkeypatch: pytest.MonkeyPatch, exp: float, seconds: float
) -> None:
    start = time.time()
    now = [start]
    defaults = dict(authorizer.Authorizer.__init__.__kwdefaults__ or {})
    monkeypatch.setattr(
        authorizer.Authorizer.__init__, "__kwdefaults__", {**defaults, "clock": lambda: now[0]}
    )

    async def scenario(server: AuthorizedServer) -> None:
        server.issuer.introspections["opaque"] = active(exp=start + exp)
        assert (await server.ask("opaque")).status == 200
        now[0] = start + seconds - 0.5
        assert (await server.ask("opaque")).status == 200
        assert server.issuer.count("/introspect") == 1
        server.issuer.introspections.clear()  # revoked
        now[0] = start + seconds
        assert (await server.ask("opaque")).status == 401
        assert server.issuer.count("/introspect") == 2

    run_authorized(scenario, settings=settings)


@pytest.mark.parametrize(
    "response",
    [
        IssuerResponse(401, {"error": "invalid_client"}),
        IssuerResponse(500),
        IssuerResponse(body=b"nonsense"),
        IssuerResponse(body={"active": "true"}),
    ],
)
def test_a_failed_introspection_makes_no_token_valid(response: IssuerResponse) -> None:
    async def scenario(server: AuthorizedServer) -> None:
        server.issuer.routes["/introspect"] = lambda _: response
        refused = await server.ask("opaque")
        assert refused.status == 503
        assert "s e c" not in refused.body.decode()

    run_authorized(scenario, settings=settings)


def test_an_unreachable_issuer_is_asked_again() -> None:
    async def scenario(server: AuthorizedServer) -> None:
        server.issuer.introspections["opaque"] = active()
        await server.issuer.stop()
        assert (await server.ask("opaque")).status == 503
        await server.issuer.start()
        assert (await server.ask("opaque")).status == 200

    run_authorized(scenario, settings=settings)


def test_jwts_of_the_issuer_are_verified_without_a_request() -> None:
    async def scenario(server: AuthorizedServer) -> None:
        assert (await server.ask(server.token())).status == 200
        assert server.issuer.count("/introspect") == 0
        foreign = server.token(iss="https://other.example")
        assert (await server.ask(foreign)).status == 401
        assert server.issuer.count("/introspect") == 1

    run_authorized(scenario, settings=settings)
