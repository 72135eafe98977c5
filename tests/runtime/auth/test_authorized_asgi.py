"""Tests of authorization under an ASGI server, where the same settings apply."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcpgen.runtime.asgi import AsgiApplication
from mcpgen.runtime.errors import ConfigurationError
from tests.support.asgi import make_scope
from tests.support.http_server import BOUND_SECONDS, MODERN, SentHead, modern
from tests.support.imports import importing_anew
from tests.support.issuer import running_issuer
from tests.support.stdio_process import write_package

RESOURCE = "https://pets.example/mcp"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.syspath_prepend(write_package(tmp_path))
    with importing_anew("small_mcp"):
        yield "small_mcp"


async def send(app: AsgiApplication, method: str, path: str, **more: str) -> tuple[int, Any]:
    """Send a request from another machine; return the status and the JSON of the response."""
    fields = {
        "host": "pets.example",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": MODERN,
        "mcp-method": "tools/list",
        **more,
    }
    head = SentHead(method, path, "", [(k.encode(), v.encode()) for k, v in fields.items()])
    message = json.dumps(modern("tools/list")).encode() if method == "POST" else b""
    sent: list[dict[str, Any]] = []
    requests = [{"type": "http.request", "body": message, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if requests:
            return requests.pop()
        await asyncio.Event().wait()
        raise AssertionError

    async def collect(event: dict[str, Any]) -> None:
        sent.append(event)

    scope = {**make_scope(head), "server": ("10.0.0.5", 8000)}
    await asyncio.wait_for(app(scope, receive, collect), BOUND_SECONDS)
    return sent[0]["status"], json.loads(b"".join(part["body"] for part in sent[1:]))


def test_a_token_is_needed_and_other_machines_are_served(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        async with running_issuer() as issuer:
            monkeypatch.setenv("SMALL_AUTH_ISSUER", issuer.identifier)
            monkeypatch.setenv("SMALL_PUBLIC_URL", RESOURCE)
            app = AsgiApplication(package)
            async with app.lifespan():
                status, _ = await send(app, "POST", "/mcp")
                assert status == 401
                token = issuer.token(RESOURCE)
                status, answer = await send(app, "POST", "/mcp", authorization=f"Bearer {token}")
                assert status == 200
                assert answer["result"]["tools"]
                path = "/.well-known/oauth-protected-resource/mcp"
                status, metadata = await send(app, "GET", path, origin="https://page.example")
                assert (status, metadata["resource"]) == (200, RESOURCE)

    asyncio.run(asyncio.wait_for(scenario(), BOUND_SECONDS))


@pytest.mark.parametrize(
    ("name", "value", "missing"),
    [
        ("AUTH_ISSUER", "https://id.example", "SMALL_PUBLIC_URL"),
        ("AUTH_AUDIENCE", "api://pets", "SMALL_AUTH_ISSUER"),
    ],
)
def test_a_missing_setting_prevents_the_start(
    package: str, monkeypatch: pytest.MonkeyPatch, name: str, value: str, missing: str
) -> None:
    monkeypatch.setenv(f"SMALL_{name}", value)
    with pytest.raises(ConfigurationError, match=f"missing {missing}"):
        asyncio.run(AsgiApplication(package).start())
