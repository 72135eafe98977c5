"""Tests of OpenID Connect discovery: what an issuer and an API of other origin are sent."""

from __future__ import annotations

import asyncio
import itertools
import json
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mcpgen.runtime.content import Text, ToolResult
from mcpgen.runtime.upstream.client import Environment
from tests.wire.served import serve
from tests.wire.upstream import Answer, Sent, Upstream

DOCUMENT = """
openapi: 3.1.1
info: {{title: OpenID, version: "1"}}
servers: [{{url: https://api.example.com}}]
components:
  responses: {{Done: {{description: Done}}}}
  securitySchemes:
    oidc: {{type: openIdConnect, openIdConnectUrl: {issuer}/.well-known/openid-configuration}}
paths:
  /secured:
    get:
      operationId: secured
      security: [{{oidc: [read]}}]
      responses: {{"204": {{$ref: '#/components/responses/Done'}}}}
  /open:
    get:
      operationId: open
      security: []
      responses: {{"204": {{$ref: '#/components/responses/Done'}}}}
"""
JSON = (("Content-Type", "application/json"),)
ANY = ("accept", "*/*")
PAIR = b64encode(b"me:s3cret").decode()
DISCOVERY = "GET /.well-known/openid-configuration"
NUMBERS = itertools.count(1)


@dataclass
class Issuer(Upstream):
    """An issuer that publishes its token endpoint; its tokens are token-1, token-2, …"""

    address: str = ""
    metadata: Callable[[str], dict[str, Any]] = field(
        default=lambda address: {"issuer": address, "token_endpoint": f"{address}/oauth/token"}
    )

    def _next(self) -> Answer:
        if self.received[-1].line == DISCOVERY:
            return Answer(200, JSON, json.dumps(self.metadata(self.address)).encode())
        grants = [sent for sent in self.received if sent.line.startswith("POST")]
        token = {"access_token": f"token-{len(grants)}", "expires_in": 100}
        return Answer(200, JSON, json.dumps(token).encode())


@dataclass
class Clock:
    seconds: float = 0.0


Play = Callable[..., tuple[list[Sent], list[ToolResult]]]


@pytest.fixture
def play(tmp_path: Path) -> Play:
    """Call tools, each at its time; return the requests to the API, and the results."""

    def run(issuer: Issuer, *calls: tuple[int, str]) -> tuple[list[Sent], list[ToolResult]]:
        return asyncio.run(_played(issuer, calls, tmp_path))

    return run


async def _played(
    issuer: Issuer, calls: tuple[tuple[int, str], ...], folder: Path
) -> tuple[list[Sent], list[ToolResult]]:
    api, clock = Upstream([Answer(204, (), b"")]), Clock()
    context: Any = SimpleNamespace(owner=None)
    async with asyncio.timeout(20), issuer.listening() as there, api.listening() as here:
        issuer.address = there
        document = folder / "openapi.yaml"
        document.write_text(DOCUMENT.format(issuer=there), encoding="utf-8")
        served = serve(document, f"openid-{next(NUMBERS)}", folder / "package", there)
        prefix = served.plan.env_prefix
        environ = {
            f"{prefix}BASE_URL": here,
            f"{prefix}ALLOW_PRIVATE": "1",  # the issuer is on this machine
            f"{prefix}OIDC_CLIENT_ID": "me",
            f"{prefix}OIDC_CLIENT_SECRET": "s3cret",
        }
        registry = served.registry_at(environ, Environment(clock=lambda: clock.seconds))
        results = []
        try:
            for clock.seconds, tool in calls:
                results.append(await registry.call(tool, {}, context))
        finally:
            await registry.aclose()
    return api.received, results


def test_the_token_comes_from_the_discovered_endpoint(play: Play) -> None:
    issuer = Issuer()

    received, results = play(issuer, (0, "secured"), (1, "secured"))

    form = ("content-type", "application/x-www-form-urlencoded")
    assert issuer.received == [
        Sent(DISCOVERY, (), None),
        Sent(
            "POST /oauth/token",
            (form, ("accept", "application/json"), ("authorization", f"Basic {PAIR}")),
            b"grant_type=client_credentials&scope=read",
        ),
    ]
    used = Sent("GET /secured", (ANY, ("authorization", "Bearer token-1")), None)
    assert received == [used, used]
    assert not any(result.is_error for result in results)


def test_discovery_is_requested_once_although_tokens_expire(play: Play) -> None:
    issuer = Issuer()

    received, _ = play(issuer, (0, "secured"), (100, "secured"))

    assert [sent.line for sent in issuer.received].count(DISCOVERY) == 1
    tokens = [dict(sent.headers)["authorization"] for sent in received]
    assert tokens == ["Bearer token-1", "Bearer token-2"]


def test_an_operation_without_security_sends_no_credential(play: Play) -> None:
    issuer = Issuer()

    received, _ = play(issuer, (0, "open"))

    assert issuer.received == []
    assert received == [Sent("GET /open", (ANY,), None)]


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        ({"token_endpoint": "http://issuer.example.org/token"}, ["not https"]),
        ({"token_endpoint": "https://me:pw@issuer.example.org/token"}, ["has a user"]),
        (
            {"token_endpoint": "https://other.example.org/token"},
            ["https://other.example.org", "credential_origins"],
        ),
        ({"token_endpoint": None}, ["gave no token endpoint"]),
        ({"issuer": "https://other.example.org"}, ["`https://other.example.org`", "`{address}`"]),
        ({"issuer": "{address}/tenant"}, ["`{address}/tenant`", "`{address}`"]),
        ({"issuer": "{address}//"}, ["`{address}//`", "`{address}`"]),
        ({"issuer": None}, ["names as its issuer none", "`{address}`"]),
        ({"issuer": "a\nb"}, ["names as its issuer none"]),
    ],
)
def test_no_secret_is_sent_if_discovery_is_invalid_or_untrusted(
    play: Play, metadata: dict[str, Any], told: list[str]
) -> None:
    def answered(address: str) -> dict[str, Any]:
        changed = {
            name: value and value.replace("{address}", address) for name, value in metadata.items()
        }
        return {"issuer": address, "token_endpoint": f"{address}/oauth/token", **changed}

    issuer = Issuer(metadata=answered)

    received, (result,) = play(issuer, (0, "secured"))

    assert [sent.line for sent in issuer.received] == [DISCOVERY]
    assert received == []
    assert result.is_error
    (text,) = result.content
    assert isinstance(text, Text)
    for part in told:
        assert part.replace("{address}", issuer.address) in text.text


def test_a_trailing_slash_of_the_issuer_is_not_in_the_discovery_url(play: Play) -> None:
    issuer = Issuer(
        metadata=lambda address: {
            "issuer": f"{address}/",
            "token_endpoint": f"{address}/oauth/token",
        }
    )

    received, _ = play(issuer, (0, "secured"))

    assert received == [Sent("GET /secured", (ANY, ("authorization", "Bearer token-1")), None)]
