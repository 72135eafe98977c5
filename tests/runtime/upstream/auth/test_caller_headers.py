"""Tests that a header of the caller becomes the credential of a scheme of any type."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest
from msgspec import convert

from mcpgen.runtime.auth.access import Access
from mcpgen.runtime.errors import ToolError
from mcpgen.runtime.process.caller_secrets import mask_secrets_of
from mcpgen.runtime.protocol.request import Request
from mcpgen.runtime.protocol.server import ServerProtocol
from mcpgen.runtime.protocol.versions import REVISIONS
from mcpgen.runtime.upstream.http.messages import HttpResponse
from mcpgen.runtime.upstream.request.rules import RequestRules
from tests.support.http_server import definition

SCHEMES: dict[str, dict[str, Any]] = {
    "header_key": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "query_key": {"type": "apiKey", "in": "query", "name": "key"},
    "cookie_key": {"type": "apiKey", "in": "cookie", "name": "session"},
    "basic": {"type": "http", "scheme": "basic"},
    "token": {"type": "http", "scheme": "bearer"},
    "other": {"type": "http", "scheme": "DPoP"},
    "oauth": {"type": "oauth2", "flows": {}},
    "oidc": {"type": "openIdConnect", "openid_connect_url": "https://a.example/c"},
}
PAIR = b64encode(b"ann:pass").decode()


@pytest.fixture(autouse=True)
def sources(contract: dict[str, Any]) -> None:
    contract["security_schemes"] = {**SCHEMES, "own": {"type": "http", "scheme": "bearer"}}
    contract["credentials"] = {
        name: {"from": "header", "header": f"X-Of-{name}"} for name in SCHEMES
    }
    contract["environment"] = [{"name": "PETSTORE_OWN", "scheme": "own", "part": "value"}]


def make_owner(headers: dict[str, str] | None) -> Request:
    """Return a request over HTTP with these headers, or one over stdio if they are None."""
    access = None if headers is None else Access(headers=headers)
    protocol = ServerProtocol(definition(), encode=lambda _: b"")
    return Request(protocol, REVISIONS[-1], 1, "tools/call", {}, access=access)


def secured(*security: dict[str, list[str]]) -> RequestRules:
    return convert({"method": "GET", "path": "/pets", "security": security}, RequestRules)


def call(
    make_client: Any,
    run: Any,
    security: tuple[dict[str, list[str]], ...],
    headers: dict[str, str] | None,
    environ: dict[str, str] | None = None,
) -> Any:
    client = make_client(environ or {})

    async def work() -> None:
        api = client.bind("t", secured(*security))
        api.owner = make_owner(headers)
        if api.owner.access is not None:
            mask_secrets_of(api.owner.access)
        await api.request("GET", "/pets", returns=dict)

    run(work())
    return client


@pytest.mark.parametrize(
    ("scheme", "value", "headers", "query"),
    [
        ("header_key", "k 1", {"X-Key": "k 1"}, ""),
        ("query_key", "k&1", {}, "?key=k%261"),
        ("cookie_key", "k=1", {"Cookie": "session=k=1"}, ""),
        ("basic", "ann:pass", {"Authorization": f"Basic {PAIR}"}, ""),
        ("basic", PAIR, {"Authorization": f"Basic {PAIR}"}, ""),
        ("basic", f"basic {PAIR}", {"Authorization": f"Basic {PAIR}"}, ""),
        ("token", "t-1", {"Authorization": "Bearer t-1"}, ""),
        ("token", "bearer t-1", {"Authorization": "Bearer t-1"}, ""),
        ("other", "proof", {"Authorization": "DPoP proof"}, ""),
        ("oauth", "Bearer t-1", {"Authorization": "Bearer t-1"}, ""),
        ("oidc", "t-1", {"Authorization": "Bearer t-1"}, ""),
    ],
)
def test_the_value_is_sent_where_its_scheme_requires(
    make_client: Any, run: Any, upstream: Any, scheme: str, value: str, headers: Any, query: str
) -> None:
    call(make_client, run, ({scheme: []},), {f"x-of-{scheme}": value})
    assert dict(upstream.only_request.headers) == headers
    assert upstream.only_request.url == f"https://petstore.example/v1/pets{query}"


@pytest.mark.parametrize(
    ("scheme", "value"),
    [
        ("header_key", "k\r\nX-Other: 1"),
        ("header_key", "k\u00e4"),
        ("cookie_key", "k; other=1"),
        ("token", "two words"),
        ("token", "Basic abc"),
        ("oauth", "Bearer a b"),
        ("basic", "not-base64"),
    ],
)
def test_a_value_that_cannot_be_sent_is_rejected_without_it(
    make_client: Any, run: Any, upstream: Any, scheme: str, value: str
) -> None:
    with pytest.raises(ToolError) as raised:
        call(make_client, run, ({scheme: []},), {f"x-of-{scheme}": value})
    assert "nothing was sent" in str(raised.value)
    assert value not in str(raised.value)
    assert upstream.requests == []


def test_the_first_alternative_that_the_caller_or_the_server_has_is_used(
    make_client: Any, run: Any, upstream: Any
) -> None:
    ways: Any = ({"header_key": []}, {"own": []}, {})
    call(make_client, run, ways, {"x-of-header_key": "k"}, {"PETSTORE_OWN": "s"})
    call(make_client, run, ways, {}, {"PETSTORE_OWN": "s"})
    call(make_client, run, ways, {})
    assert [dict(it.headers) for it in upstream.requests] == [
        {"X-Key": "k"},
        {"Authorization": "Bearer s"},
        {},
    ]


def test_sources_of_one_requirement_are_combined(make_client: Any, run: Any, upstream: Any) -> None:
    both: Any = ({"header_key": [], "own": []},)
    call(make_client, run, both, {"x-of-header_key": "k"}, {"PETSTORE_OWN": "s"})
    assert dict(upstream.only_request.headers) == {"X-Key": "k", "Authorization": "Bearer s"}
    with pytest.raises(ToolError, match="`X-Of-header_key`"):
        call(make_client, run, both, {}, {"PETSTORE_OWN": "s"})
    with pytest.raises(ToolError, match="The operator can set PETSTORE_OWN"):
        call(make_client, run, both, {"x-of-header_key": "k"})


def test_the_error_names_what_the_caller_and_the_operator_can_do(
    make_client: Any, run: Any
) -> None:
    with pytest.raises(ToolError) as raised:
        call(make_client, run, ({"header_key": []}, {"own": []}), {})
    assert str(raised.value) == (
        "`GET /pets` needs a credential of its caller, so nothing was sent. This request has no"
        " header `X-Of-header_key`: configure the MCP client to send your own credential in it,"
        " with each request. The operator can set PETSTORE_OWN."
    )
    with pytest.raises(ToolError, match="must be started with --http"):
        call(make_client, run, ({"header_key": []},), None)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (401, "Check the credential that your MCP client sends in the header `X-Of-token`."),
        (403, "The credential in your header `X-Of-token` does not permit this."),
    ],
)
def test_a_refusal_of_the_api_names_the_header(
    make_client: Any, run: Any, upstream: Any, status: int, said: str
) -> None:
    upstream.outcomes = (HttpResponse(status, (), b""),)
    with pytest.raises(ToolError) as raised:
        call(make_client, run, ({"token": []},), {"x-of-token": "t-1"})
    assert said in str(raised.value)
    assert len(upstream.requests) == 1  # only the caller can renew the credential


@pytest.mark.parametrize(
    "value", ["ann:a-long-password", b64encode(b"ann:a-long-password").decode()]
)
def test_the_parts_of_a_value_are_masked(
    make_client: Any, run: Any, upstream: Any, value: str
) -> None:
    body = b'{"title": "Wrong", "detail": "a-long-password"}'
    upstream.outcomes = (HttpResponse(400, (("Content-Type", "application/json"),), body),)
    with pytest.raises(ToolError) as raised:
        call(make_client, run, ({"basic": []},), {"x-of-basic": value})
    assert "a-long-password" not in str(raised.value)
    assert "***" in str(raised.value)


def test_the_redactor_forgets_a_caller_after_the_request(
    make_client: Any, run: Any, upstream: Any
) -> None:
    client = call(make_client, run, ({"token": []},), {"x-of-token": "a-secret-of-ann"})
    assert client.get_redactor().clean("a-secret-of-ann") == "a-secret-of-ann"
    assert "a-secret-of-ann" not in repr(vars(client.credentials))
