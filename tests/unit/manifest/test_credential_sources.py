"""Tests of `credentials` in the manifest: which schemes, sources and headers are accepted."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.diagnostics import Diagnostic, Place, Problems, RejectedError
from mcpgen.ir.api import Api, SecurityScheme
from mcpgen.ir.manifest_entries import CredentialEntry
from mcpgen.manifest.credential_sources import with_credential_sources
from mcpgen.manifest.manifest import read_manifest

START = "server: {name: pets}\nsources: [{document: openapi.yaml}]\ncredentials:\n"
FLOW = {
    "authorizationUrl": "https://auth.example/authorize",
    "deviceAuthorizationUrl": "https://auth.example/device",
    "tokenUrl": "https://auth.example/token",
    "scopes": {},
}


def api(**schemes: Any) -> Api:
    """Return an API with these security schemes."""
    at = Place("", lambda _: pytest.fail("the problem is in the manifest"))
    declared = tuple(SecurityScheme(name, at=at, **fields) for name, fields in schemes.items())
    return Api("Pets", "1", "", (), declared, (), {})


def apply(text: str, **schemes: Any) -> dict[str, CredentialEntry]:
    """Return the credential source of each scheme."""
    manifest = read_manifest((START + text).encode(), Problems())
    applied = with_credential_sources(api(**schemes), manifest, Problems())
    return {scheme.id: scheme.credential for scheme in applied.security_schemes}


def reject(text: str, **schemes: Any) -> Diagnostic:
    """Return the only problem of a manifest."""
    problems = Problems()
    with pytest.raises(RejectedError):
        with_credential_sources(
            api(**schemes), read_manifest((START + text).encode(), problems), problems
        )
    (problem,) = problems
    return problem


def test_schemes_that_are_not_named_come_from_the_environment() -> None:
    sources = apply(
        "  key: {from: header, header: X-Pet-Key}\n",
        key={"type": "apiKey", "location": "header", "name": "X-Key"},
        other={"type": "http", "http_scheme": "basic"},
    )
    assert sources == {
        "key": CredentialEntry(from_="header", header="X-Pet-Key"),
        "other": CredentialEntry(from_="environment"),
    }


@pytest.mark.parametrize(
    ("text", "place", "message", "help"),
    [
        ("  key: {from: heder}\n", (4, 15), 'found `"heder"`', ""),
        ("  key: {form: header}\n", (4, 15), "unknown key `form`", "`from`"),
        ("  key: {from: header}\n", (4, 3), "missing `header`", "header: X-Api-Token"),
        ("  key: {header: X-Key}\n", (4, 17), "`X-Key` is not read", "remove"),
        ("  key: {from: header, header: 'a b'}\n", (4, 31), "invalid value", ""),
        (
            "  kye: {from: header, header: X-Key}\n",
            (4, 3),
            "unknown security scheme `kye`",
            "`key`",
        ),
        (
            "  zzzzzzz: {from: user}\n",
            (4, 3),
            "unknown security scheme `zzzzzzz`",
            "known schemes: `key`",
        ),
    ],
)
def test_an_invalid_entry_is_reported_with_its_location(
    text: str, place: tuple[int, int], message: str, help: str
) -> None:
    problem = reject(text, key={"type": "http", "http_scheme": "bearer"})
    assert problem.at is not None
    assert (problem.at.line, problem.at.column) == place
    assert message in problem.message
    assert help in problem.help


@pytest.mark.parametrize(
    "name",
    [
        "Host", "Cookie", "cookie", "Connection", "Keep-Alive", "Transfer-Encoding", "TE",
        "Content-Type", "Content-Length", "Content-Language", "Accept", "Accept-Language", "Origin",
        "Mcp-Session-Id", "MCP-Protocol-Version", "Last-Event-ID", "Proxy-Authorization",
        "X-Forwarded-For", "Sec-Fetch-Site", "traceparent", "User-Agent",
    ],
)  # fmt: skip
def test_headers_with_another_meaning_cannot_carry_a_credential(name: str) -> None:
    problem = reject(
        f"  key: {{from: header, header: {name}}}\n", key={"type": "http", "http_scheme": "bearer"}
    )
    assert problem.message == f"the header `{name}` cannot carry a credential"


def test_authorization_can_carry_a_credential_if_callers_are_not_authorized() -> None:
    sources = apply(
        "  key: {from: header, header: Authorization}\n",
        key={"type": "http", "http_scheme": "bearer"},
    )
    assert sources["key"].header == "Authorization"


@pytest.mark.parametrize("other", ["exchange", "user"])
def test_authorization_cannot_carry_a_credential_if_callers_must_be_authorized(other: str) -> None:
    problem = reject(
        f"  key: {{from: header, header: authorization}}\n  oauth: {{from: {other}}}\n",
        key={"type": "http", "http_scheme": "bearer"},
        oauth={"type": "oauth2", "flows": {"authorizationCode": FLOW}},
    )
    assert "never passed on" in problem.message
    assert "`oauth` needs it" in problem.message


def test_authorization_cannot_carry_a_credential_beside_scopes_of_callers() -> None:
    problem = reject(
        "  key: {from: header, header: Authorization}\n"
        'authorization: {scopes: {"*": ["pets:read"]}}\n',
        key={"type": "http", "http_scheme": "bearer"},
    )
    assert "`authorization` needs it" in problem.message


@pytest.mark.parametrize(
    ("source", "scheme", "is_accepted"),
    [
        ("header, header: X-T", {"type": "mutualTLS"}, False),
        ("header, header: X-T", {"type": "oauth2"}, True),
        ("exchange", {"type": "apiKey", "location": "header", "name": "X-Key"}, False),
        ("exchange", {"type": "http", "http_scheme": "basic"}, False),
        ("exchange", {"type": "http", "http_scheme": "bearer"}, True),
        ("exchange", {"type": "openIdConnect"}, True),
        ("user", {"type": "http", "http_scheme": "bearer"}, False),
        ("user", {"type": "oauth2", "flows": {"clientCredentials": FLOW}}, False),
        ("user", {"type": "oauth2", "flows": {"authorizationCode": {"tokenUrl": "/t"}}}, False),
        ("user", {"type": "oauth2", "flows": {"authorizationCode": FLOW}}, True),
        ("user", {"type": "oauth2", "flows": {"deviceAuthorization": FLOW}}, True),
        ("user", {"type": "openIdConnect", "openid_connect_url": "https://a.example/c"}, True),
    ],
)
def test_a_source_must_suit_the_type_of_the_scheme(
    source: str, scheme: Any, is_accepted: bool
) -> None:
    text = f"  key: {{from: {source}}}\n"
    if is_accepted:
        assert apply(text, key=scheme)["key"].from_ == source.partition(",")[0]
    else:
        assert reject(text, key=scheme).code == "credentials"


def test_credentials_need_an_api() -> None:
    problems = Problems()
    with pytest.raises(RejectedError):
        read_manifest(
            b"server: {name: pets}\nsources: []\ncredentials: {key: {from: user}}\n", problems
        )
    assert [problem.message for problem in problems] == [
        "`credentials` without an API: `sources` and `tools` are empty"
    ]
