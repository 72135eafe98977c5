"""Tests of OAuth 2, byte for byte: what the token server and the API are sent."""

from __future__ import annotations

import asyncio
import itertools
import json
from base64 import b64encode
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mcpgen.runtime.content import Text, ToolResult
from mcpgen.runtime.tools.registry import ToolRegistry
from mcpgen.runtime.upstream.client import Environment
from tests.wire.served import Served, serve
from tests.wire.upstream import Answer, Sent, Upstream

DOCUMENT = """
openapi: 3.1.1
info: {{title: Tokens, version: "1"}}
servers: [{{url: https://api.example.com}}]
components:
  responses:
    Ok: {{description: Done, content: {{application/json: {{schema: {{type: object}}}}}}}}
  securitySchemes:
    login:
      type: oauth2
      flows:
        clientCredentials: {{tokenUrl: {issuer}/token, scopes: {{read: Read, write: Write}}}}
        authorizationCode:
          authorizationUrl: {issuer}/authorize
          tokenUrl: {issuer}/token
          refreshUrl: {issuer}/refresh
          scopes: {{read: Read}}
paths:
  /things:
    get:
      operationId: readThings
      security: [{{login: [read]}}]
      responses: {{"200": {{$ref: '#/components/responses/Ok'}}}}
    post:
      operationId: writeThings
      security: [{{login: [write, read]}}]
      responses: {{"200": {{$ref: '#/components/responses/Ok'}}}}
"""
JSON = (("Content-Type", "application/json"),)
SECRET = "s3cret:+ value"
FORM = ("content-type", "application/x-www-form-urlencoded")
ACCEPT = ("accept", "application/json")
NUMBERS = itertools.count(1)


@dataclass
class Issuer(Upstream):
    """A token server and an API in one; its first tokens are token-1, token-2, …"""

    grant: dict[str, Any] = field(default_factory=lambda: {"expires_in": 100})
    refusal: Answer | None = None
    dead_tokens: set[str] = field(default_factory=set)

    @property
    def grants(self) -> Sequence[Sent]:
        return [sent for sent in self.received if sent.line in {"POST /token", "POST /refresh"}]

    @property
    def calls(self) -> Sequence[Sent]:
        return [sent for sent in self.received if sent not in self.grants]

    def tokens(self) -> list[str]:
        return [dict(sent.headers)["authorization"] for sent in self.calls]

    def _next(self) -> Answer:
        sent = self.received[-1]
        if sent.line.endswith("/things"):
            token = dict(sent.headers).get("authorization", "").removeprefix("Bearer ")
            return Answer(401, (), b"") if token in self.dead_tokens else Answer()
        if self.refusal is not None:
            return self.refusal
        token = {"access_token": f"token-{len(self.grants)}", "token_type": "Bearer", **self.grant}
        return Answer(200, JSON, json.dumps(token).encode())


@dataclass
class Clock:
    seconds: float = 0.0

    def environment(self) -> Environment:
        return Environment(clock=lambda: self.seconds)


Play = Callable[[ToolRegistry], Awaitable[None]]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def play(tmp_path: Path, clock: Clock) -> Callable[..., Served]:
    """Run a test with the tools, under the configured parts of `login`."""

    def run(issuer: Issuer, act: Play, **parts: str) -> Served:
        return asyncio.run(_played(issuer, act, parts, tmp_path, clock))

    return run


async def _played(
    issuer: Issuer, act: Play, parts: dict[str, str], folder: Path, clock: Clock
) -> Served:
    async with asyncio.timeout(20), issuer.listening() as address:
        document = folder / "openapi.yaml"
        document.write_text(DOCUMENT.format(issuer=address), encoding="utf-8")
        served = serve(document, f"tokens-{next(NUMBERS)}", folder / "package")
        prefix = served.plan.env_prefix
        environ = {f"{prefix}LOGIN_{part.upper()}": value for part, value in parts.items()}
        environ[f"{prefix}BASE_URL"] = address
        registry = served.registry_at(environ, clock.environment())
        try:
            await act(registry)
        finally:
            await registry.aclose()
    return served


async def call(registry: ToolRegistry, tool: str = "read_things") -> ToolResult:
    context: Any = SimpleNamespace(owner=None)
    return await registry.call(tool, {}, context)


CLIENT = {"client_id": "me", "client_secret": SECRET.replace(" ", "")}


def test_client_credentials_are_sent_by_rfc_6749_and_the_token_is_cached(play) -> None:
    issuer = Issuer()

    async def act(registry: ToolRegistry) -> None:
        await call(registry)
        await call(registry)

    play(issuer, act, **CLIENT)

    # RFC 6749, sections 4.4.2 and 2.3.1: the pair is form-encoded before it is joined.
    pair = b64encode(b"me:s3cret%3A%2Bvalue").decode()
    grant = Sent(
        "POST /token",
        (FORM, ACCEPT, ("authorization", f"Basic {pair}")),
        b"grant_type=client_credentials&scope=read",
    )
    used = Sent("GET /things", (ACCEPT, ("authorization", "Bearer token-1")), None)
    assert issuer.received == [grant, used, used]


def test_concurrent_calls_share_one_token_request_per_scope(play) -> None:
    issuer = Issuer()

    async def act(registry: ToolRegistry) -> None:
        await asyncio.gather(*(call(registry) for _ in range(5)))
        await call(registry, "write_things")

    play(issuer, act, **CLIENT)

    assert [sent.body for sent in issuer.grants] == [
        b"grant_type=client_credentials&scope=read",
        b"grant_type=client_credentials&scope=read+write",
    ]
    assert issuer.tokens() == ["Bearer token-1"] * 5 + ["Bearer token-2"]


def test_a_token_is_renewed_before_it_expires(play, clock) -> None:
    issuer = Issuer()

    async def act(registry: ToolRegistry) -> None:
        for seconds in (0, 79, 81):
            clock.seconds = seconds
            await call(registry)

    play(issuer, act, **CLIENT)

    assert issuer.tokens() == ["Bearer token-1", "Bearer token-1", "Bearer token-2"]


def test_a_refresh_token_is_sent_by_rfc_6749_and_replaced_by_the_issued_one(play, clock) -> None:
    issuer = Issuer(grant={"expires_in": 100, "refresh_token": "refresh-2"})

    async def act(registry: ToolRegistry) -> None:
        await call(registry)
        clock.seconds = 100
        await call(registry)

    play(issuer, act, refresh_token="refresh-1", client_id="me")

    # RFC 6749, section 6; a client without a secret names itself in the body (section 3.2.1).
    assert [(sent.line, sent.body) for sent in issuer.grants] == [
        (
            "POST /refresh",
            b"grant_type=refresh_token&refresh_token=refresh-1&scope=read&client_id=me",
        ),
        (
            "POST /refresh",
            b"grant_type=refresh_token&refresh_token=refresh-2&scope=read&client_id=me",
        ),
    ]


def test_a_rejected_token_is_replaced_once(play) -> None:
    issuer = Issuer(dead_tokens={"token-1"})

    play(issuer, call, **CLIENT)

    assert issuer.tokens() == ["Bearer token-1", "Bearer token-2"]


def test_a_wrong_secret_is_reported_without_being_shown(play) -> None:
    said = json.dumps({"error": "invalid_client", "error_description": f"not {CLIENT}"})
    issuer = Issuer(refusal=Answer(401, JSON, said.encode()))
    results: list[ToolResult] = []

    async def act(registry: ToolRegistry) -> None:
        results.append(await call(registry))

    served = play(issuer, act, **CLIENT)

    (result,) = results
    (text,) = result.content
    assert result.is_error
    assert isinstance(text, Text)
    assert f"{served.plan.env_prefix}LOGIN_CLIENT_SECRET" in text.text
    assert CLIENT["client_secret"] not in text.text
    assert issuer.calls == []


def test_missing_client_credentials_report_their_settings(play) -> None:
    issuer = Issuer()
    results: list[ToolResult] = []

    async def act(registry: ToolRegistry) -> None:
        results.append(await call(registry))

    play(issuer, act)

    assert results[0].is_error
    assert "LOGIN_CLIENT_ID and" in str(results[0].content)
    assert issuer.received == []
