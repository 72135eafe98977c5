"""Tests of which access tokens are accepted, and of the errors of others (RFC 6750, RFC 8725)."""

from __future__ import annotations

import asyncio
import hmac
import json
import time
from hashlib import sha256
from typing import Any

import pytest
from joserfc.jwk import OKPKey, RSAKey
from joserfc.jws import JWSRegistry

from mcpgen.runtime.auth import jwt_tokens, keys
from tests.support.authorized import PORT, RESOURCE, AuthorizedServer, run_authorized
from tests.support.issuer import (
    OPENID_METADATA,
    IssuerResponse,
    SigningKey,
    encode_base64,
    encode_part,
)

INVALID = 'Bearer error="invalid_token"'


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the clock for the age of issuer keys: a list of one number that tests change."""
    time_now = [0.0]
    defaults = {"jwks_url": "", "clock": lambda: time_now[0]}
    monkeypatch.setattr(keys.IssuerKeys.__init__, "__kwdefaults__", defaults)
    return time_now


def challenge(response: Any) -> str:
    return str(response.headers["www-authenticate"])


async def check_refused(server: AuthorizedServer, token: str, reason: str) -> None:
    response = await server.ask(token)
    assert response.status == 401, response.body
    assert challenge(response).startswith(INVALID)
    assert f'error_description="the access token {reason}"' in challenge(response)
    assert server.served.tools.calls == []


@pytest.mark.parametrize(
    "audience",
    [
        RESOURCE,
        f"{RESOURCE}/",
        f"http://LOCALHOST:{PORT}/mcp",
        ["https://other.example", RESOURCE],
    ],
)
def test_a_token_for_this_server_is_accepted(audience: str | list[str]) -> None:
    async def scenario(server: AuthorizedServer) -> None:
        response = await server.call(server.token(audience), "echo", text="hi")
        assert response.status == 200
        assert server.served.tools.calls == [("echo", {"text": "hi"})]

    run_authorized(scenario)


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"audience": "https://other.example/mcp"}, "is for another server"),
        ({"audience": f"http://127.0.0.1:{PORT + 1}/mcp"}, "is for another server"),
        ({"audience": f"http://127.0.0.1:{PORT}"}, "is for another server"),
        ({"aud": None}, "is for another server"),
        ({"aud": {"a": RESOURCE}}, "is for another server"),
        ({"iss": "https://evil.example"}, "is from another issuer"),
        ({"iss": None}, "is from another issuer"),
        ({"seconds": -61}, "has expired"),
        ({"exp": None}, "does not expire"),
        ({"exp": "tomorrow"}, "has an invalid claim `exp`"),
        ({"exp": 1e300}, "has an invalid claim `exp`"),
        ({"exp": True}, "has an invalid claim `exp`"),
        ({"nbf": time.time() + 3600}, "is not valid yet"),
        ({"sub": None}, "does not name its subject"),
        ({"sub": ""}, "does not name its subject"),
        ({"sub": "a\nb"}, "does not name its subject"),
        ({"sub": 7}, "does not name its subject"),
        ({"cnf": {"jkt": "x"}}, "is bound to a key, which this server cannot check"),
        ({"header": {"alg": "RS256"}}, "is signed with a key that its issuer does not publish"),
        ({"header": {"alg": "ES384"}}, "is signed with a key that its issuer does not publish"),
        ({"header": {"alg": "HS256"}}, "is signed with an algorithm that is not accepted"),
        ({"header": {"alg": None}}, "is signed with an algorithm that is not accepted"),
        ({"header": {"typ": "logout+jwt"}}, "has a type that is not accepted"),
        ({"header": {"typ": 1}}, "has a type that is not accepted"),
        (
            {"header": {"crit": ["b64"], "b64": False}},
            "has critical header parameters that are unknown",
        ),
        ({"header": {"kid": 1}}, "has an invalid key id"),
        ({"header": {"kid": "two"}}, "is signed with a key that its issuer does not publish"),
    ],
)
def test_a_token_with_a_wrong_claim_or_header_is_refused(
    claims: dict[str, Any], reason: str
) -> None:
    async def scenario(server: AuthorizedServer) -> None:
        await check_refused(server, server.token(**claims), reason)

    run_authorized(scenario)


@pytest.mark.parametrize(
    "claims",
    [
        {"seconds": -50},
        {"nbf": time.time() + 50},
        {"header": {"typ": None}},
        {"header": {"typ": "JWT"}},
        {"header": {"typ": "application/at+jwt"}},
        {"header": {"kid": None}},
    ],
)
def test_clocks_may_differ_by_a_minute_and_some_headers_are_optional(
    claims: dict[str, Any],
) -> None:
    async def scenario(server: AuthorizedServer) -> None:
        assert (await server.ask(server.token(**claims))).status == 200

    run_authorized(scenario)


def test_an_unsigned_token_is_refused() -> None:
    async def scenario(server: AuthorizedServer) -> None:
        payload = server.token().split(".")[1]
        for name in ("none", "None", "NONE"):
            token = f"{encode_part({'alg': name}).decode()}.{payload}."
            reason = "is signed with an algorithm that is not accepted"
            await check_refused(server, token, reason)

    run_authorized(scenario)


def test_a_token_signed_with_the_public_key_as_a_secret_is_refused() -> None:
    """Key confusion (RFC 8725, section 2.1), with each form of the key as the secret."""

    async def scenario(server: AuthorizedServer) -> None:
        key = server.issuer.keys[0]
        header = encode_part({"alg": "HS256", "kid": "one", "typ": "JWT"}).decode()
        signed = f"{header}.{server.token().split('.')[1]}"
        for secret in (json.dumps(key.jwk).encode(), key.jwk["x"].encode()):
            mac = hmac.new(secret, signed.encode(), sha256).digest()
            reason = "is signed with an algorithm that is not accepted"
            await check_refused(server, f"{signed}.{encode_base64(mac)}", reason)

    run_authorized(scenario)


@pytest.mark.parametrize(
    "parameters", [{"use": "enc"}, {"key_ops": ["sign"]}, {"key_ops": "verify"}, {"alg": "ES384"}]
)
def test_a_key_for_another_use_verifies_nothing(parameters: dict[str, Any]) -> None:
    async def scenario(server: AuthorizedServer) -> None:
        server.issuer.keys = [SigningKey("one", **parameters)]
        reason = "is signed with a key that its issuer does not publish"
        await check_refused(server, server.token(), reason)

    run_authorized(scenario)


def test_a_signature_of_another_key_with_the_same_id_is_refused() -> None:
    async def scenario(server: AuthorizedServer) -> None:
        await check_refused(server, server.token(key=SigningKey("one")), "has an invalid signature")
        token = server.token()
        head, _, signature = token.split(".")
        changed = server.token(subject="eve").split(".")[1]
        await check_refused(server, f"{head}.{changed}.{signature}", "has an invalid signature")

    run_authorized(scenario)


@pytest.mark.parametrize("kty", ["RSA", "OKP"])
def test_tokens_of_other_key_types_are_accepted(kty: str) -> None:
    key: Any = RSAKey.generate_key(2048) if kty == "RSA" else OKPKey.generate_key("Ed25519")
    algorithm = "PS256" if kty == "RSA" else "EdDSA"

    class Signer(SigningKey):
        def sign(self, data: bytes) -> bytes:
            return JWSRegistry.algorithms[algorithm].sign(data, key)

    async def scenario(server: AuthorizedServer) -> None:
        signer = Signer("other")
        signer.jwk = {**key.as_dict(private=False), "kid": "other"}
        server.issuer.keys.append(signer)
        token = server.token(key=signer, header={"alg": algorithm})
        assert (await server.ask(token)).status == 200

    run_authorized(scenario)


def test_keys_of_unusable_sizes_and_types_are_ignored() -> None:
    async def scenario(server: AuthorizedServer) -> None:
        entries: list[Any] = [
            {"kty": "RSA", "n": encode_base64(b"\xff" * 128), "e": "AQAB", "kid": "small"},
            {"kty": "RSA", "n": encode_base64(b"\xff" * 4096), "e": "AQAB", "kid": "huge"},
            {"kty": "oct", "k": "c2VjcmV0", "kid": "one"},
            {"kty": "EC", "crv": "P-999", "kid": "one"},
            {"kid": "one"},
            "no key",
            None,
        ]
        good = server.issuer.keys[0].jwk
        server.issuer.routes["/jwks"] = lambda _: IssuerResponse(body={"keys": [*entries, good]})
        assert (await server.ask(server.token())).status == 200
        for kid in ("small", "huge"):
            token = server.token(header={"kid": kid, "alg": "RS256"})
            reason = "is signed with a key that its issuer does not publish"
            await check_refused(server, token, reason)

    run_authorized(scenario)


# -- keys and metadata ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "metadata_path"),
    [
        ("", "/.well-known/oauth-authorization-server"),
        ("/realms/demo", "/.well-known/oauth-authorization-server"),
        ("", OPENID_METADATA),
        ("/realms/demo", OPENID_METADATA),
        ("/tenant/", OPENID_METADATA),
    ],
)
def test_keys_are_found_through_each_form_of_metadata(path: str, metadata_path: str) -> None:
    async def scenario(server: AuthorizedServer) -> None:
        issuer = server.issuer
        if path.endswith("/"):
            issuer.routes[path.rstrip("/") + metadata_path] = lambda _: IssuerResponse(
                body=issuer.metadata
            )
        assert (await server.ask(server.token())).status == 200

    run_authorized(scenario, issuer_options={"path": path, "metadata_path": metadata_path})


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"issuer": "{}/"}, "is that of another issuer"),
        ({"jwks_uri": "http://keys.example/jwks"}, "names no https URL of keys"),
    ],
)
def test_metadata_of_another_issuer_or_without_tls_is_not_used(
    changes: dict[str, str], reason: str
) -> None:
    async def scenario(server: AuthorizedServer) -> None:
        own = server.issuer.identifier
        changed = {name: value.format(own) for name, value in changes.items()}
        server.issuer.metadata_changes.update(changed)
        response = await server.ask(server.token())
        assert response.status == 503
        assert reason in response.json["error"]["message"]

    run_authorized(scenario)


def test_a_configured_location_of_keys_needs_no_metadata() -> None:
    async def scenario(server: AuthorizedServer) -> None:
        assert (await server.ask(server.token())).status == 200
        assert {request.path for request in server.issuer.requests} == {"/jwks"}

    run_authorized(
        scenario,
        settings=lambda issuer: {
            "AUTH_ISSUER": issuer.identifier,
            "AUTH_JWKS_URL": f"{issuer.origin}/jwks",
        },
    )


def test_several_issuers_have_their_own_keys() -> None:
    async def scenario(server: AuthorizedServer) -> None:
        assert (await server.ask(server.token())).status == 200
        # The second issuer has no metadata; the first one's keys must not verify its tokens.
        response = await server.ask(server.token(iss=server.issuer.identifier + "/second"))
        assert response.status == 503

    run_authorized(
        scenario,
        settings=lambda issuer: {"AUTH_ISSUER": f"{issuer.identifier}, {issuer.identifier}/second"},
    )


def test_a_new_key_is_fetched_once_for_all_and_at_most_once_a_minute(now: list[float]) -> None:
    async def scenario(server: AuthorizedServer) -> None:
        assert (await server.ask(server.token())).status == 200
        server.issuer.keys.append(SigningKey("two"))
        fresh = server.token(key=server.issuer.keys[1])
        assert (await server.ask(fresh)).status == 401
        assert server.issuer.count("/jwks") == 1
        now[0] = 60.0
        for token in (fresh, server.token(header={"kid": "three"}), fresh):
            await server.ask(token)
        assert (await server.ask(fresh)).status == 200
        assert server.issuer.count("/jwks") == 2

    run_authorized(scenario)


def test_a_removed_key_is_not_used_after_the_keys_are_refreshed(now: list[float]) -> None:
    async def scenario(server: AuthorizedServer) -> None:
        assert (await server.ask(server.token())).status == 200
        now[0] = keys.FRESH_SECONDS
        old = server.issuer.keys[0]
        await server.issuer.stop()
        assert (await server.ask(server.token(subject="bob"))).status == 200  # with the old keys
        now[0] += keys.RETRY_SECONDS
        await server.issuer.start()
        server.issuer.keys = [SigningKey("two")]
        assert (await server.ask(server.token(subject="carol", key=old))).status == 401
        now[0] += keys.USABLE_SECONDS
        await server.issuer.stop()
        token = server.token(subject="dan")
        assert (await server.ask(token)).status == 503

    run_authorized(scenario)


def test_an_unreachable_issuer_is_reported_and_used_again_when_it_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(keys, "RETRY_SECONDS", 0.0)

    async def scenario(server: AuthorizedServer) -> None:
        await server.issuer.stop()
        token = server.token()
        response = await server.ask(token)
        assert response.status == 503
        assert response.headers["retry-after"] == "5"
        text = response.json["error"]["message"]
        assert text.startswith("the access token cannot be checked: a request to http://127.0.0.1")
        assert server.served.tools.calls == []
        await server.issuer.start()
        assert (await server.ask(token)).status == 200

    run_authorized(scenario)


@pytest.mark.parametrize(
    "response",
    [
        IssuerResponse(500),
        IssuerResponse(body=b"<html>"),
        IssuerResponse(body={"keys": {}}),
        IssuerResponse(302, headers={"location": "/other"}),
        IssuerResponse(body=b'{"keys":[' + b" " * 600_000 + b"]}"),
    ],
)
def test_a_broken_document_of_keys_makes_no_token_valid(response: IssuerResponse) -> None:
    async def scenario(server: AuthorizedServer) -> None:
        server.issuer.routes["/jwks"] = lambda _: response
        assert (await server.ask(server.token())).status == 503
        assert server.issuer.count("/other") == 0

    run_authorized(scenario)


def test_concurrent_callers_share_one_fetch() -> None:
    async def scenario(server: AuthorizedServer) -> None:
        tokens = [server.token(subject=f"user-{number}") for number in range(20)]
        responses = await asyncio.gather(*map(server.ask, tokens))
        assert {response.status for response in responses} == {200}
        assert server.issuer.count("/jwks") == 1

    run_authorized(scenario)


def test_a_validated_token_is_not_verified_again_but_expires(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    verified = []
    real = jwt_tokens.is_signed_with
    monkeypatch.setattr(
        jwt_tokens, "is_signed_with", lambda *of: bool(verified.append(1)) or real(*of)
    )

    async def scenario(server: AuthorizedServer) -> None:
        token = server.token(seconds=30)
        for _ in range(3):
            assert (await server.ask(token)).status == 200
        assert len(verified) == 1
        later = time.time() + 91
        authorization = server.served.app._authorization
        assert authorization is not None
        monkeypatch.setattr(authorization._authorizer, "_clock", lambda: later)
        assert (await server.ask(token)).status == 401

    run_authorized(scenario)


def test_after_a_failed_fetch_for_a_new_key_the_issuer_is_asked_again_soon(
    now: list[float],
) -> None:
    async def scenario(server: AuthorizedServer) -> None:
        assert (await server.ask(server.token())).status == 200
        server.issuer.keys.append(SigningKey("two"))
        fresh = server.token(key=server.issuer.keys[1])
        await server.issuer.stop()
        now[0] = keys.UNKNOWN_KEY_SECONDS
        assert (await server.ask(fresh)).status == 503
        await server.issuer.start()
        assert (await server.ask(fresh)).status == 503  # not yet
        assert (await server.ask(server.token(subject="bob"))).status == 200  # with a known key
        now[0] += keys.RETRY_SECONDS
        assert (await server.ask(fresh)).status == 200

    run_authorized(scenario)
