"""Tests that clients never see secrets of the server, however the API or a handler returns them."""

from __future__ import annotations

import json
import re
import time
from base64 import b64decode, b64encode, urlsafe_b64encode
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.support.attack.api import Exchange, HostileApi
from tests.support.attack.documents import api_document, operation
from tests.support.attack.server import PREFIX, Bystander, HttpClient, generate, serve_http

KEY = 'sk-"0123/456+789\\abc'
USERNAME, PASSWORD = "operator", "correct-horse-battery"
STATE_KEY = "0123456789-state-key-0123456789-abcd"
SETTINGS = {
    f"{PREFIX}KEY": KEY,
    f"{PREFIX}LOGIN_USERNAME": USERNAME,
    f"{PREFIX}LOGIN_PASSWORD": PASSWORD,
    f"{PREFIX}STATE_KEYS": STATE_KEY,
}
HANDLERS = f'''
from mcpgen.runtime import Context, Features, ToolError

features = Features()


@features.tool()
def tell(ctx: Context) -> dict[str, str]:
    """Return a secret."""
    return {{"{PASSWORD}": "{PASSWORD}"}}


@features.tool()
def fail(ctx: Context) -> str:
    """Fail with a secret."""
    raise ToolError("no such key: {PASSWORD}")


@features.tool()
def crash(ctx: Context) -> str:
    """Raise a secret."""
    raise ValueError("no such key: {PASSWORD}")


@features.resource("secret://text")
def read(ctx: Context) -> str:
    """Read a secret."""
    return "{PASSWORD}"


@features.prompt()
def ask(ctx: Context) -> str:
    """Prompt with a secret."""
    return "{PASSWORD}"
'''


def spellings(secret: str) -> list[str]:
    raw = secret.encode()
    texts = [
        secret,
        quote(secret, safe=""),
        re.sub("%..", lambda code: code[0].lower(), quote(secret, safe="")),
        json.dumps(secret)[1:-1],
        raw.hex(),
        raw.hex().upper(),
    ]
    for before in (b"", b"a", b"ab", b"abc"):
        for encode in (b64encode, urlsafe_b64encode):
            text = encode(before + raw + b"-after").decode()
            texts += [text, text.rstrip("=")]
    return texts


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    paths = {
        "/echo": {"get": operation("getEcho", security=[{"key": []}])},
        "/text": {"get": operation("getText", media_type="text/plain", security=[{"login": []}])},
        "/image": {"get": operation("getImage", media_type="image/png")},
    }
    schemes = {
        "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "login": {"type": "http", "scheme": "basic"},
    }
    document = api_document(paths, {"securitySchemes": schemes})
    project = generate(tmp_path_factory.mktemp("secrets"), document)
    (project / "src" / "attacked_mcp" / "handlers" / "secrets.py").write_text(HANDLERS)
    return project


def test_secrets_in_responses_are_masked(project: Path, api: HostileApi) -> None:
    secrets = (KEY, PASSWORD, STATE_KEY, b64encode(f"{USERNAME}:{PASSWORD}".encode()).decode())
    hidden = [text for secret in secrets for text in spellings(secret)]
    statuses = [200]

    async def echo_json(exchange: Exchange) -> None:
        sent = exchange.headers("x-key") + exchange.headers("authorization")
        value = {"sent": sent, "all": hidden, "names": dict.fromkeys(hidden, 1), "url": hidden[1]}
        await exchange.answer(value, status=statuses[-1])

    async def echo_text(exchange: Exchange) -> None:
        await exchange.answer(" ".join(hidden), content_type="text/plain", status=statuses[-1])

    async def echo_image(exchange: Exchange) -> None:
        await exchange.answer(b"\x89PNG" + KEY.encode() + b"\xff", content_type="image/png")

    api.on("/echo", echo_json)
    api.on("/text", echo_text)
    api.on("/image", echo_image)
    answers: list[dict[str, Any]] = []
    with serve_http(project, {**SETTINGS, f"{PREFIX}BASE_URL": api.base_url}) as server:
        with Bystander(server) as bystander, HttpClient(server.port) as client:
            for status in (200, 422, 500):
                statuses.append(status)
                answers += [client.call_tool(name, {}) for name in ("get_echo", "get_text")]
            answers += [client.call_tool(name, {}) for name in ("tell", "fail", "crash")]
            image = client.call_tool("get_image", {})
            client.open_session()
            answers += [
                client.post({"jsonrpc": "2.0", "id": 9, "method": method, "params": params})
                for method, params in (
                    ("resources/read", {"uri": "secret://text"}),
                    ("prompts/get", {"name": "ask"}),
                    ("tools/call", {"name": "tell", "arguments": {PASSWORD: PASSWORD}}),
                )
            ]
            while bystander.rounds < 2:
                time.sleep(0.01)
        bystander.check()
        log = server.log
    for answer in answers:
        assert "result" in answer or "error" in answer
        texts = json.dumps(answer, ensure_ascii=False) + str(answer)
        for text in hidden:
            assert text not in texts, (text, texts[:3000])
    structured = answers[0]["result"]["structuredContent"]["result"]
    assert structured["sent"] == ["***"]
    assert set(structured["names"].values()) == {1}
    data = b64decode(image["result"]["content"][0]["data"])
    assert data == b"\x89PNG" + b"*" * len(KEY) + b"\xff"
    assert PASSWORD not in log
    assert KEY not in log


def test_a_response_without_secrets_is_returned_unchanged(project: Path, api: HostileApi) -> None:
    value = {"id": 1, "text": "operator correct horse battery", "token": "eyJhbGciOi.eyJzdWIi.c2"}

    async def answer(exchange: Exchange) -> None:
        await exchange.answer(value)

    api.on("/echo", answer)
    environ = {**SETTINGS, f"{PREFIX}BASE_URL": api.base_url}
    with serve_http(project, environ) as server, HttpClient(server.port) as client:
        result = client.call_tool("get_echo", {})["result"]
    assert result["structuredContent"] == {"result": value}
    assert json.loads(result["content"][0]["text"]) == value
