"""Tests of the server's own tokens: fetched once, shared, renewed early, never shown."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from typing import Any
from urllib.parse import parse_qs

import pytest
from msgspec import convert

from mcpgen.runtime.errors import ConfigurationError, ToolError
from mcpgen.runtime.upstream.errors import ConnectError
from mcpgen.runtime.upstream.http.messages import HttpRequest, HttpResponse
from mcpgen.runtime.upstream.request.rules import RequestRules

JSON = (("Content-Type", "application/json"),)
PARTS = ("client_id", "client_secret", "refresh_token", "access_token")
CLIENT = {"PETSTORE_LOGIN_CLIENT_ID": "me", "PETSTORE_LOGIN_CLIENT_SECRET": "s3cret:+"}
REFRESH = {"PETSTORE_LOGIN_REFRESH_TOKEN": "refresh-1", "PETSTORE_LOGIN_CLIENT_ID": "me"}
FLOWS: dict[str, Any] = {
    "clientCredentials": {"tokenUrl": "https://login.example/token"},
    "authorizationCode": {"tokenUrl": "https://id.example/oauth/refresh"},
}


class Issuer:
    """An API with a token endpoint that counts the requests to each."""

    def __init__(self) -> None:
        self.grants: list[HttpRequest] = []
        self.calls: list[HttpRequest] = []
        self.granted: dict[str, Any] = {"expires_in": 100}
        self.token_response: HttpResponse | Exception | None = None
        self.refused_tokens: set[str] = set()

    async def send(self, request: HttpRequest) -> HttpResponse:
        await asyncio.sleep(0)
        if "openid-configuration" in request.url:
            found = {"issuer": "https://id.example", "token_endpoint": "https://found.example/t"}
            return HttpResponse(200, JSON, json.dumps(found).encode())
        if request.url.endswith(("/token", "/oauth/refresh", "/t")):
            self.grants.append(request)
            if isinstance(self.token_response, Exception):
                raise self.token_response
            if self.token_response is not None:
                return self.token_response
            answer = {"access_token": f"token-{len(self.grants)}", **self.granted}
            return HttpResponse(200, JSON, json.dumps(answer).encode())
        self.calls.append(request)
        if dict(request.headers).get("Authorization", "")[7:] in self.refused_tokens:
            return HttpResponse(401)
        return HttpResponse(200, JSON, b"{}")

    @property
    def used(self) -> list[str]:
        return [dict(request.headers)["Authorization"] for request in self.calls]


@pytest.fixture
def issuer(upstream) -> Issuer:
    issuer = Issuer()
    upstream.send = issuer.send
    return issuer


@pytest.fixture(autouse=True)
def scheme(contract: dict[str, Any]) -> dict[str, Any]:
    scheme: dict[str, Any] = {"type": "oauth2", "flows": FLOWS}
    contract["security_schemes"] = {"login": scheme}
    contract["environment"] = [
        {"name": f"PETSTORE_LOGIN_{part.upper()}", "scheme": "login", "part": part}
        for part in PARTS
    ]
    return scheme


def rules(*scopes: str) -> RequestRules:
    return convert(
        {"method": "GET", "path": "/pets", "security": [{"login": list(scopes)}]}, RequestRules
    )


async def call(client, *scopes: str) -> Any:
    return await client.bind("t", rules(*scopes)).request("GET", "/pets", returns=dict)


def test_client_credentials_are_exchanged_for_a_token(make_client, issuer, run) -> None:
    run(call(make_client(CLIENT), "write", "read"))
    (grant,) = issuer.grants
    assert (grant.method, grant.url) == ("POST", "https://login.example/token")
    assert parse_qs((grant.body or b"").decode()) == {
        "grant_type": ["client_credentials"],
        "scope": ["read write"],
    }
    pair = b64encode(b"me:s3cret%3A%2B").decode()
    assert dict(grant.headers)["Authorization"] == f"Basic {pair}"
    assert issuer.used == ["Bearer token-1"]


def test_a_refresh_token_is_replaced_by_the_issued_one(
    make_client, issuer, environment, run
) -> None:
    issuer.granted["refresh_token"] = "refresh-2"
    client = make_client(REFRESH)

    async def twice() -> None:
        await call(client)
        environment.seconds = 90.0
        await call(client)

    run(twice())
    assert [grant.url for grant in issuer.grants] == ["https://id.example/oauth/refresh"] * 2
    forms = [parse_qs((grant.body or b"").decode()) for grant in issuer.grants]
    assert forms[0] == {
        "grant_type": ["refresh_token"],
        "refresh_token": ["refresh-1"],
        "client_id": ["me"],
    }
    assert forms[1]["refresh_token"] == ["refresh-2"]


def test_a_relative_token_url_is_resolved_against_the_api_host(
    make_client, issuer, scheme, run
) -> None:
    scheme["flows"] = {"authorizationCode": {"tokenUrl": "/oauth/refresh"}}
    run(call(make_client(REFRESH)))
    assert issuer.grants[0].url == "https://petstore.example/oauth/refresh"


def test_a_configured_access_token_is_sent_unchanged(make_client, issuer, run) -> None:
    run(call(make_client({**CLIENT, "PETSTORE_LOGIN_ACCESS_TOKEN": "given"})))
    assert issuer.used == ["Bearer given"]
    assert issuer.grants == []


def test_concurrent_calls_share_one_token_request_per_scope(make_client, issuer, run) -> None:
    client = make_client(CLIENT)

    async def many() -> None:
        await asyncio.gather(*(call(client, "read") for _ in range(10)), call(client, "write"))

    run(many())
    assert len(issuer.grants) == 2
    assert sorted(set(issuer.used)) == ["Bearer token-1", "Bearer token-2"]


def test_a_token_is_renewed_before_it_expires(make_client, issuer, environment, run) -> None:
    client = make_client(CLIENT)

    async def over_time() -> None:
        for environment.seconds in (0.0, 79.0, 81.0):
            await call(client)

    run(over_time())
    assert issuer.used == ["Bearer token-1", "Bearer token-1", "Bearer token-2"]


def test_a_rejected_token_is_replaced_once(make_client, issuer, run) -> None:
    issuer.refused_tokens = {"token-1"}
    run(call(make_client(CLIENT)))
    assert issuer.used == ["Bearer token-1", "Bearer token-2"]


def test_a_rejected_fresh_token_is_an_error(make_client, issuer, run) -> None:
    issuer.refused_tokens = {f"token-{number}" for number in range(9)}
    with pytest.raises(ToolError, match="PETSTORE_LOGIN_CLIENT_ID and PETSTORE_LOGIN_CLIENT_SEC"):
        run(call(make_client(CLIENT)))
    assert len(issuer.calls) == 2


def test_openid_connect_discovers_the_token_endpoint(make_client, issuer, scheme, run) -> None:
    scheme.clear()
    scheme |= {
        "type": "openIdConnect",
        "openid_connect_url": "https://id.example/.well-known/openid-configuration",
    }
    run(call(make_client(CLIENT)))
    assert issuer.grants[0].url == "https://found.example/t"


@pytest.mark.parametrize(
    "response",
    [
        HttpResponse(400, JSON, b'{"error":"invalid_client","error_description":"canary"}'),
        HttpResponse(200, JSON, b'{"access_token":""}'),
        HttpResponse(200, JSON, b'{"access_token":"a\\r\\nX: canary"}'),
        HttpResponse(200, (), b"<html>canary"),
        HttpResponse(302, (("Location", "https://canary.example"),), b""),
        ConnectError("could not be sent: refused."),
    ],
)
def test_a_failed_token_request_is_reported_and_no_call_is_sent(
    make_client, issuer, run, response
) -> None:
    issuer.token_response = response
    with pytest.raises(ToolError, match="No access token") as error:
        run(call(make_client(CLIENT)))
    assert "canary" not in str(error.value)
    assert issuer.calls == []


@pytest.mark.parametrize("url", ["http://login.example/token", "https://u:p@login.example/token"])
def test_a_token_url_without_tls_is_rejected(make_client, issuer, scheme, run, url) -> None:
    scheme["flows"] = {"clientCredentials": {"tokenUrl": url}}
    with pytest.raises(ConfigurationError, match="token URL"):
        run(call(make_client(CLIENT)))
    assert issuer.grants == []


def test_missing_client_credentials_report_their_variables(make_client, issuer, run) -> None:
    with pytest.raises(ToolError, match="LOGIN_CLIENT_ID and PETSTORE_LOGIN_CLIENT_SECRET"):
        run(call(make_client({})))
    assert issuer.calls == issuer.grants == []


@pytest.mark.parametrize(
    ("environ", "blamed"),
    [
        ({**CLIENT, "PETSTORE_LOGIN_ACCESS_TOKEN": "token-1"}, "PETSTORE_LOGIN_ACCESS_TOKEN"),
        (REFRESH, "PETSTORE_LOGIN_REFRESH_TOKEN and PETSTORE_LOGIN_CLIENT_ID"),
    ],
)
def test_the_rejected_credential_is_named(make_client, issuer, run, environ, blamed) -> None:
    issuer.refused_tokens = {f"token-{number}" for number in range(9)}
    with pytest.raises(ToolError, match=f" in {blamed}\\."):
        run(call(make_client(environ)))


def test_a_fetched_token_is_masked_in_output(make_client, issuer, run) -> None:
    client = make_client(CLIENT)
    run(call(client))
    assert client.get_redactor().clean("x token-1 y s3cret:+") == "x *** y ***"
    assert "token-1" not in repr(client.credentials._schemes["login"])
