"""Tests of `security`: alternatives, pairs, none; credentials only where their scheme says."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest
from msgspec import convert

from mcpgen.runtime.errors import ConfigurationError, InvalidArgumentsError, ToolError
from mcpgen.runtime.upstream.http.messages import HttpResponse
from mcpgen.runtime.upstream.request.rules import RequestRules

SCHEMES: dict[str, dict[str, Any]] = {
    "header_key": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "query_key": {"type": "apiKey", "in": "query", "name": "api key"},
    "cookie_key": {"type": "apiKey", "in": "cookie", "name": "session"},
    "login": {"type": "http", "scheme": "basic"},
    "token": {"type": "http", "scheme": "bearer"},
    "other": {"type": "http", "scheme": "DPoP"},
}
PARTS = {"login": ("username", "password")}
ENVIRONMENT = [
    {"name": f"PETSTORE_{scheme}_{part}".upper(), "scheme": scheme, "part": part}
    for scheme in SCHEMES
    for part in PARTS.get(scheme, ("value",))
]
ALL_SET = {
    "PETSTORE_HEADER_KEY_VALUE": "h-secret\n",
    "PETSTORE_QUERY_KEY_VALUE": "q&secret",
    "PETSTORE_COOKIE_KEY_VALUE": "c=secret",
    "PETSTORE_LOGIN_USERNAME": "ann",
    "PETSTORE_LOGIN_PASSWORD": "p\u00e4ss",
    "PETSTORE_TOKEN_VALUE": "t-secret",
    "PETSTORE_OTHER_VALUE": "o-secret",
}
BASIC = b64encode("ann:p\u00e4ss".encode()).decode()


@pytest.fixture(autouse=True)
def schemes(contract: dict[str, Any]) -> None:
    contract["security_schemes"] = SCHEMES
    contract["environment"] = ENVIRONMENT


def secured(*security: dict[str, list[str]], parameters: tuple[Any, ...] = ()) -> RequestRules:
    return convert(
        {"method": "GET", "path": "/pets", "security": security, "parameters": parameters},
        RequestRules,
    )


def call(make_client, run, environ, rules, **values) -> None:
    run(make_client(environ).bind("t", rules).request("GET", "/pets", **values, returns=dict))


@pytest.mark.parametrize(
    ("scheme", "headers", "query"),
    [
        ("header_key", {"X-Key": "h-secret"}, ""),
        ("query_key", {}, "?api%20key=q%26secret"),
        ("cookie_key", {"Cookie": "session=c=secret"}, ""),
        ("login", {"Authorization": f"Basic {BASIC}"}, ""),
        ("token", {"Authorization": "Bearer t-secret"}, ""),
        ("other", {"Authorization": "DPoP o-secret"}, ""),
    ],
)
def test_a_credential_is_sent_where_its_scheme_requires(
    make_client, upstream, run, scheme, headers, query
) -> None:
    call(make_client, run, ALL_SET, secured({scheme: []}))
    assert dict(upstream.only_request.headers) == headers
    assert upstream.only_request.url == f"https://petstore.example/v1/pets{query}"


def test_operation_without_security_gets_no_credential(make_client, upstream, run) -> None:
    call(make_client, run, ALL_SET, secured())
    assert upstream.only_request.headers == ()


def test_combined_schemes_are_sent_together(make_client, upstream, run) -> None:
    call(make_client, run, ALL_SET, secured({"header_key": [], "cookie_key": []}))
    assert dict(upstream.only_request.headers) == {
        "X-Key": "h-secret",
        "Cookie": "session=c=secret",
    }


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        (ALL_SET, "X-Key"),
        ({"PETSTORE_TOKEN_VALUE": "t"}, "Authorization"),
        ({"PETSTORE_TOKEN_VALUE": "t", "PETSTORE_HEADER_KEY_VALUE": "k"}, "Authorization"),
    ],
)
def test_the_first_fully_configured_alternative_is_used(
    make_client, upstream, run, environ, expected
) -> None:
    rules = secured({"header_key": [], "login": []}, {"token": []})
    call(make_client, run, environ, rules)
    assert expected in dict(upstream.only_request.headers)


def test_anonymous_alternative_is_used_only_without_credentials(make_client, upstream, run) -> None:
    rules = secured({}, {"token": []})
    call(make_client, run, {}, rules)
    assert upstream.only_request.headers == ()
    upstream.requests.clear()
    call(make_client, run, ALL_SET, rules)
    assert dict(upstream.only_request.headers) == {"Authorization": "Bearer t-secret"}


def test_missing_credentials_report_their_variables_and_send_nothing(
    make_client, upstream, run
) -> None:
    with pytest.raises(ToolError) as error:
        call(
            make_client,
            run,
            {"PETSTORE_LOGIN_USERNAME": "ann"},
            secured({"header_key": []}, {"login": []}),
        )
    assert str(error.value) == (
        "`GET /pets` needs a credential that this server does not have, so nothing was sent. "
        "The operator can set PETSTORE_HEADER_KEY_VALUE, "
        "or PETSTORE_LOGIN_USERNAME and PETSTORE_LOGIN_PASSWORD."
    )
    assert upstream.requests == []


def test_an_empty_password_counts_as_set(make_client, upstream, run) -> None:
    environ = {"PETSTORE_LOGIN_USERNAME": "sk_1", "PETSTORE_LOGIN_PASSWORD": ""}
    call(make_client, run, environ, secured({"login": []}))
    expected = b64encode(b"sk_1:").decode()
    assert dict(upstream.only_request.headers) == {"Authorization": f"Basic {expected}"}


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("PETSTORE_TOKEN_VALUE", "tok en-canary"),
        ("PETSTORE_HEADER_KEY_VALUE", "a\r\nX: canary"),
        ("PETSTORE_COOKIE_KEY_VALUE", "a; canary=1"),
        ("PETSTORE_OTHER_VALUE", "canary\u00e9"),
        ("PETSTORE_LOGIN_USERNAME", "a:canary"),
    ],
)
def test_a_credential_that_cannot_be_sent_is_rejected_without_being_shown(
    make_client, variable, value
) -> None:
    with pytest.raises(ConfigurationError) as error:
        make_client({"PETSTORE_LOGIN_PASSWORD": "x", variable: value})
    assert variable in str(error.value)
    assert "canary" not in str(error.value)


def test_a_credential_overrides_an_argument_with_the_same_name(make_client, upstream, run) -> None:
    header = {"in": "header", "name": "x-key", "argument": "x_key", "style": "simple"}
    rules = secured({"header_key": []}, parameters=(header,))
    call(make_client, run, ALL_SET, rules, headers={"x-key": "mine"})
    assert dict(upstream.only_request.headers) == {"X-Key": "h-secret"}


@pytest.mark.parametrize(
    ("scheme", "location", "name"),
    [("query_key", "query", "api key"), ("cookie_key", "cookie", "session")],
)
def test_a_member_of_an_argument_cannot_replace_a_credential(
    make_client, upstream, run, scheme, location, name
) -> None:
    free = {"in": location, "name": "extra", "argument": "extra", "style": "form", "explode": True}
    rules = secured({scheme: []}, parameters=(free,))
    place = {"query": "query", "cookie": "cookies"}[location]
    with pytest.raises(InvalidArgumentsError, match="carries a credential"):
        call(make_client, run, ALL_SET, rules, **{place: {"extra": {name: "mine"}}})
    assert upstream.requests == []


def test_secrets_do_not_occur_in_reprs(make_client, upstream, run) -> None:
    client = make_client(ALL_SET)
    rules = secured({"query_key": [], "header_key": [], "login": [], "cookie_key": []})
    api = client.bind("t", rules)
    run(api.request("GET", "/pets", returns=dict))
    schemes = client.credentials._schemes
    shown = repr([client, api, upstream.requests, api.last_response, schemes, *schemes.values()])
    for secret in ("h-secret", "secret", BASIC, "p\u00e4ss"):
        assert secret not in shown


@pytest.mark.parametrize("status", [401, 403])
def test_a_rejected_credential_is_reported_by_its_variable(
    make_client, upstream, run, status
) -> None:
    upstream.outcomes = (HttpResponse(status),)
    with pytest.raises(ToolError, match="PETSTORE_TOKEN_VALUE"):
        call(make_client, run, ALL_SET, secured({"token": []}))
