"""Tests of the authorization code flow: requests, redirects, and token requests."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest

from mcpgen.contract.base_url import BaseUrls
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.upstream.auth.authorization_code import (
    AuthorizationCodeClient,
    CallbackError,
    make_challenge,
    read_code,
)
from mcpgen.runtime.upstream.auth.token_endpoint import ClientIdentity, GrantRefusedError
from mcpgen.runtime.upstream.http.messages import HttpRequest, HttpResponse

TOKEN_URL = "https://id.example/token"
FLOW: dict[str, Any] = {
    "authorizationUrl": "https://id.example/authorize?access_type=offline",
    "tokenUrl": TOKEN_URL,
    "scopes": {"read": "", "offline_access": ""},
}
METADATA = {
    "issuer": "https://id.example",
    "authorization_endpoint": "https://id.example/authorize",
    "token_endpoint": TOKEN_URL,
    "revocation_endpoint": "https://id.example/revoke",
    "authorization_response_iss_parameter_supported": True,
}


class Server:
    """An authorization server that answers each path with one response."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.requests: list[HttpRequest] = []

    async def send(self, request: HttpRequest) -> HttpResponse:
        self.requests.append(request)
        name = urlsplit(request.url).path.rpartition("/")[2].replace("-", "_")
        status, answer = self.answers.get(name, (404, {}))
        return HttpResponse(status, (), json.dumps(answer).encode())

    @property
    def forms(self) -> list[dict[str, str]]:
        return [dict(parse_qsl((it.body or b"").decode())) for it in self.requests if it.body]


def make_client(
    description: dict[str, Any] | None = None, *, secret: str = "s3cret", **more: Any
) -> AuthorizationCodeClient:
    contract = {
        "env_prefix": "PETSTORE_",
        "servers": [{"url": "https://api.example/v1"}],
        "credential_origins": {"https://id.example": True},
    }
    return AuthorizationCodeClient(
        description or {"type": "oauth2", "flows": {"authorizationCode": FLOW}},
        ClientIdentity("me", secret),
        name="login",
        base_urls=BaseUrls(contract, {}),
        clock=lambda: 0.0,
        variables=("PETSTORE_LOGIN_CLIENT_ID",),
        **more,
    )


async def begin(client: AuthorizationCodeClient, server: Server) -> Any:
    endpoints = await client.find_endpoints(server.send)
    return client.begin(endpoints, "https://mcp.example/callback", ["read"])


def test_the_url_asks_for_a_code_with_pkce_and_keeps_the_documents_parameters(run) -> None:
    authorization = run(begin(make_client(resource="https://api.example/v1"), Server()))
    query = {
        name: values[0] for name, values in parse_qs(urlsplit(authorization.url).query).items()
    }
    assert query == {
        "access_type": "offline",
        "response_type": "code",
        "client_id": "me",
        "redirect_uri": "https://mcp.example/callback",
        "state": authorization.state,
        "code_challenge": make_challenge(authorization.verifier),
        "code_challenge_method": "S256",
        "scope": "offline_access read",
        "resource": "https://api.example/v1",
    }
    assert authorization.state not in repr(authorization)


def test_the_challenge_is_that_of_the_standard() -> None:  # RFC 7636, appendix B
    verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    assert make_challenge(verifier) == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


def test_a_code_is_redeemed_with_its_verifier(run) -> None:
    server, client = Server(token=(200, {"access_token": "a", "refresh_token": "r"})), make_client()

    async def connect() -> Any:
        authorization = await begin(client, server)
        given = {"state": authorization.state, "code": "c0de"}
        return authorization, await client.redeem(server.send, authorization, given)

    authorization, grant = run(connect())
    assert (grant.access_token, grant.refresh_token) == ("a", "r")
    assert server.forms == [
        {
            "grant_type": "authorization_code",
            "code": "c0de",
            "redirect_uri": "https://mcp.example/callback",
            "code_verifier": authorization.verifier,
        }
    ]


def test_a_public_client_names_itself_in_the_form(run) -> None:
    server, client = Server(token=(200, {"access_token": "a"})), make_client(secret="")
    run(client.refresh(server.send, "r-1"))
    assert server.forms == [
        {"grant_type": "refresh_token", "refresh_token": "r-1", "client_id": "me"}
    ]


def test_a_refused_refresh_token_is_told_apart(run) -> None:
    server = Server(token=(400, {"error": "invalid_grant"}))
    with pytest.raises(GrantRefusedError) as refused:
        run(make_client().refresh(server.send, "r-1"))
    assert refused.value.code == "invalid_grant"
    assert "r-1" not in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"state": "other"}, "does not belong"),
        ({"iss": "https://evil.example"}, "another authorization server"),
        ({"iss": None}, "does not name"),
        ({"error": "access_denied"}, "access_denied"),
        ({"error": "\n<script>", "code": None}, "did not grant access."),
        ({"code": ""}, "no authorization code"),
        ({"code": "a\nb"}, "no authorization code"),
    ],
)
def test_a_redirect_that_does_not_match_is_refused(run, changes: Any, told: str) -> None:
    server = Server(oauth_authorization_server=(200, METADATA))
    authorization = run(begin(make_client(), server))
    assert authorization.issuer == "https://id.example"
    given = {"state": authorization.state, "code": "c", "iss": "https://id.example", **changes}
    sent = {name: value for name, value in given.items() if value is not None}
    with pytest.raises(CallbackError, match=told):
        read_code(authorization, sent)
    assert server.forms == []


def test_metadata_of_another_issuer_or_token_endpoint_adds_nothing(run) -> None:
    for changes in ({"issuer": "https://evil.example"}, {"token_endpoint": "https://x.example/t"}):
        server = Server(oauth_authorization_server=(200, {**METADATA, **changes}))
        endpoints = run(make_client().find_endpoints(server.send))
        assert (endpoints.issuer, endpoints.revocation_url) == ("", "")


def test_a_token_is_revoked_where_the_metadata_says(run) -> None:
    server = Server(oauth_authorization_server=(200, METADATA), revoke=(200, {}))
    assert run(make_client().revoke(server.send, "r-1"))
    assert server.forms == [{"token": "r-1", "token_type_hint": "refresh_token"}]
    assert not run(make_client().revoke(Server().send, "r-1"))


def test_discovery_finds_the_endpoints(run) -> None:
    url = "https://id.example/.well-known/openid-configuration"
    client = make_client({"type": "openIdConnect", "openid_connect_url": url})
    server = Server(openid_configuration=(200, {**METADATA, "scopes_supported": ["openid"]}))
    endpoints = run(client.find_endpoints(server.send))
    assert endpoints.authorization_url == "https://id.example/authorize"
    assert endpoints.sends_issuer
    run(client.find_endpoints(server.send))
    assert len(server.requests) == 1


def test_tokens_are_requested_at_confirmed_origins_only(run) -> None:
    flow = {**FLOW, "tokenUrl": "https://elsewhere.example/token"}
    client = make_client({"type": "oauth2", "flows": {"authorizationCode": flow}})
    with pytest.raises(ConfigurationError, match=r"elsewhere\.example"):
        run(client.find_endpoints(Server().send))


def test_a_user_is_sent_to_https_only(run) -> None:
    flow = {**FLOW, "authorizationUrl": "http://id.example/authorize"}
    client = make_client({"type": "oauth2", "flows": {"authorizationCode": flow}})
    with pytest.raises(ConfigurationError, match="authorization URL"):
        run(client.find_endpoints(Server().send))
