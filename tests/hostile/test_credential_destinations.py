"""Tests that credentials are sent only to the API's server and to origins confirmed by the owner.

The document names an operation-level server, a token URL and an OpenID Connect issuer on foreign
origins. Each of them would receive the operator's credentials.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from mcpgen.cli.questions import confirm_origin
from mcpgen.ir.credentials import CredentialDestination
from mcpgen.pipeline.commands.new import new
from mcpgen.pipeline.options import Options
from tests.support.attack.api import Exchange, HostileApi
from tests.support.attack.documents import api_document, operation
from tests.support.attack.server import (
    PREFIX,
    AttackedServer,
    Bystander,
    HttpClient,
    generate,
    serve_http,
)

KEY, CLIENT_SECRET = "key-of-the-operator", "secret-of-the-operator"
CREDENTIALS = {
    f"{PREFIX}KEY": KEY,
    f"{PREFIX}TENANT_KEY": KEY,
    f"{PREFIX}LOGIN_CLIENT_ID": "client",
    f"{PREFIX}LOGIN_CLIENT_SECRET": CLIENT_SECRET,
    f"{PREFIX}OIDC_CLIENT_ID": "client",
    f"{PREFIX}OIDC_CLIENT_SECRET": CLIENT_SECRET,
    f"{PREFIX}ALLOW_PRIVATE": "1",
}
TOOLS = ("get_with_key", "get_with_key_or_without", "get_public", "get_with_token", "get_with_oidc")


def document(own: str, other: str) -> dict[str, Any]:
    """Return the document of an API at `own` that asks to send credentials to `other`."""
    servers = [{"url": other}]
    paths = {
        "/with-key": {"get": operation("getWithKey", security=[{"key": []}], servers=servers)},
        "/with-key-or-without": {
            "get": operation("getWithKeyOrWithout", security=[{"key": []}, {}], servers=servers)
        },
        "/public": {"servers": servers, "get": operation("getPublic", security=[])},
        "/with-token": {"get": operation("getWithToken", security=[{"login": []}])},
        "/with-oidc": {"get": operation("getWithOidc", security=[{"oidc": []}])},
        "/own": {"get": operation("getOwn", security=[{"key": []}])},
    }
    flows = {"clientCredentials": {"tokenUrl": f"{other}/token", "scopes": {}}}
    discovery = f"{other}/.well-known/openid-configuration"
    schemes = {
        "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "login": {"type": "oauth2", "flows": flows},
        "oidc": {"type": "openIdConnect", "openIdConnectUrl": discovery},
    }
    return {
        **api_document(paths, {"securitySchemes": schemes}),
        "servers": [{"url": own}],
    }


@pytest.fixture(scope="module")
def own() -> Iterator[HostileApi]:
    with HostileApi() as api:
        for path in ("/own", "/with-token", "/with-oidc"):
            api.on(path, _answer)
        yield api


@pytest.fixture(scope="module")
def other() -> Iterator[HostileApi]:
    async def discover(exchange: Exchange) -> None:
        await exchange.answer({"issuer": api.base_url, "token_endpoint": f"{api.base_url}/token"})

    async def grant(exchange: Exchange) -> None:
        await exchange.answer({"access_token": "granted", "token_type": "Bearer"})

    with HostileApi() as api:
        for path in ("/with-key", "/with-key-or-without", "/public"):
            api.on(path, _answer)
        api.on("/.well-known/openid-configuration", discover)
        api.on("/token", grant)
        yield api


async def _answer(exchange: Exchange) -> None:
    await exchange.answer({"ok": True})


@pytest.fixture(scope="module")
def project(own: HostileApi, other: HostileApi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a project whose owner confirmed no origin (`new --defaults`)."""
    folder = tmp_path_factory.mktemp("destinations")
    return generate(folder, document(own.base_url, other.base_url))


def call(server: AttackedServer, tool: str) -> tuple[bool, str]:
    with HttpClient(server.port) as client:
        result = client.call_tool(tool, {})["result"]
    return result.get("isError", False), json.dumps(result)


def wait_for(bystander: Bystander) -> None:
    """Wait until the second client has made enough calls."""
    due = time.monotonic() + 30
    while bystander.rounds < 3 and time.monotonic() < due:
        time.sleep(0.02)


def test_no_credential_is_sent_to_an_unconfirmed_origin(
    project: Path, own: HostileApi, other: HostileApi
) -> None:
    with serve_http(project, CREDENTIALS) as server:
        before = len(other.exchanges)
        with Bystander(server) as bystander:
            answers = {tool: call(server, tool) for tool in TOOLS}
            own_answer = call(server, "get_own")
            wait_for(bystander)
        bystander.check()

    for tool in ("get_with_key", "get_with_token", "get_with_oidc"):
        is_error, text = answers[tool]
        assert is_error
        assert other.base_url in text
        assert "credential_origins" in text
        assert "mcpgen generate" in text
    for tool in ("get_with_key_or_without", "get_public"):
        assert not answers[tool][0], answers[tool]
    assert not own_answer[0], own_answer
    sent_to_own = [exchange for exchange in own.exchanges if exchange.target == "/own"]
    assert sent_to_own[-1].headers("x-key") == [KEY]
    received = other.exchanges[before:]
    assert {exchange.target for exchange in received} == {"/with-key-or-without", "/public"}
    sent = b"".join(exchange.head + exchange.body for exchange in received)
    assert KEY.encode() not in sent
    assert CLIENT_SECRET.encode() not in sent


def test_the_owner_confirms_an_origin_in_the_manifest(
    own: HostileApi, other: HostileApi, tmp_path: Path
) -> None:
    target = generate(
        tmp_path, document(own.base_url, other.base_url), "--confirm-origin", other.base_url
    )
    with serve_http(target, CREDENTIALS) as server:
        with Bystander(server) as bystander:
            answers = {tool: call(server, tool) for tool in TOOLS}
            wait_for(bystander)
        bystander.check()

    assert not any(is_error for is_error, _ in answers.values()), answers
    with_key = [it for it in other.exchanges if it.target == "/with-key"]
    assert with_key[-1].headers("x-key") == [KEY]
    manifest = (target / "mcpgen.yaml").read_text()
    assert f'credential_origins: ["{other.base_url}"]' in manifest


def test_the_operator_confirms_an_origin_by_the_base_url(project: Path, other: HostileApi) -> None:
    environ = {**CREDENTIALS, f"{PREFIX}BASE_URL": other.base_url}
    with serve_http(project, environ) as server:
        is_error, text = call(server, "get_with_key")
    assert not is_error, text


@pytest.mark.parametrize(("keys", "is_confirmed"), [("y", True), ("n", False), ("\r", False)])
def test_new_asks_once_for_each_origin(
    keys: str, is_confirmed: bool, own: HostileApi, other: HostileApi, tmp_path: Path
) -> None:
    source, target = tmp_path / "api.json", tmp_path / "server"
    source.write_text(json.dumps(document(own.base_url, other.base_url)))
    asked = []

    def confirm(destination: CredentialDestination) -> bool:
        asked.append(destination.origin)
        with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
            pipe.send_text(keys)
            return confirm_origin(destination)

    options = Options(models=False, external_validator=False, cache=tmp_path / "cache")
    report = new(str(source), target, options, lambda _: None, confirm=confirm)
    assert report.outcome == "done"
    assert asked == [other.base_url]
    manifest = (target / "mcpgen.yaml").read_text()
    assert (f'\n    credential_origins: ["{other.base_url}"]' in manifest) is is_confirmed


def test_every_command_reports_an_unconfirmed_origin(project: Path, other: HostileApi) -> None:
    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", *command],
            cwd=project,
            env={**_environment(project), **CREDENTIALS},
            capture_output=True,
            text=True,
            check=False,
        )

    current = json.loads(run("mcpgen", "check", str(project), "--json").stdout)
    assert [it["rule"] for it in current["findings"]] == ["credential-destination"]
    assert other.base_url in current["findings"][0]["message"]
    (project / "mcpgen.yaml").write_text((project / "mcpgen.yaml").read_text() + "\n# changed\n")
    generated = run("mcpgen", "generate", str(project), "--dry-run", "--json")
    assert generated.returncode == 0, generated.stderr
    found = [
        problem
        for problem in json.loads(generated.stdout)["findings"]
        if problem["rule"] == "credential-destination"
    ]
    assert {(it["severity"], it["pointer"]) for it in found} == {
        ("warning", "/paths/~1with-key/get"),
        ("warning", "/components/securitySchemes/login"),
        ("warning", "/components/securitySchemes/oidc"),
    }
    assert all(f'credential_origins: ["{other.base_url}"]' in it["help"] for it in found)
    checked = run("attacked_mcp", "--check-env")
    assert f"they would send credentials to {other.base_url}" in checked.stdout


def _environment(project: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(project / "src")}
