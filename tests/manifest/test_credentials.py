"""Tests of credentials hidden in a document, from `mcpgen new` to the requests that arrive."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import yaml
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from mcpgen.cli.app import run
from mcpgen.cli.questions import decide_credential
from mcpgen.factory.packages import find_package
from mcpgen.ir.credentials import HiddenCredential
from mcpgen.testing import MockUpstream
from mcpgen.testing.client.client import Client
from mcpgen.testing.mock.upstream import RecordedRequest
from tests.support.generated_files import tool_contracts

OK = {"200": {"description": "ok", "content": {"application/json": {"schema": {"type": "object"}}}}}
REFUSED = {**OK, "401": {"description": "Unauthorized"}}
KEY = {
    "name": "api_key",
    "in": "query",
    "required": True,
    "description": "Your API key.",
    "schema": {"type": "string"},
}
AUTHORIZATION = {
    "name": "Authorization",
    "in": "header",
    "required": True,
    "description": "`Bearer` and the access token.",
    "schema": {"type": "string"},
}


def document(
    *parameters: Mapping[str, Any],
    responses: Mapping[str, Any] = OK,
    body: Mapping[str, Any] | None = None,
    **root: Any,
) -> dict[str, Any]:
    """Return a document of four operations with the same parameters and body."""
    operation: dict[str, Any] = {"responses": responses}
    if parameters:
        operation["parameters"] = list(parameters)
    if body is not None:
        schema = {"type": "object", "required": list(body), "properties": dict(body)}
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema}},
        }
    method = "get" if body is None else "post"
    names = ("birds", "cats", "dogs", "fish")
    return {
        "openapi": "3.1.0",
        "info": {"title": "Zoo", "version": "1"},
        "servers": [{"url": "https://zoo.example"}],
        "paths": {
            f"/{name}": {method: {**operation, "operationId": f"list_{name}"}} for name in names
        },
        **root,
    }


class Zoo:
    """A project that `mcpgen new` made of a document."""

    def __init__(self, folder: Path) -> None:
        self.source = folder / "zoo.json"
        self.project = folder / "zoo-mcp"
        self.cache = folder / "cache"

    def make(self, described: Mapping[str, Any], *more: str) -> int:
        self.source.write_text(json.dumps(described))
        source, project = str(self.source), str(self.project)
        return run(["new", source, project, "--defaults", "--no-models", *more])

    @property
    def manifest_text(self) -> str:
        return (self.project / "mcpgen.yaml").read_text()

    @property
    def manifest(self) -> Any:
        return yaml.safe_load(self.manifest_text)

    @property
    def source_entry(self) -> Any:
        (entry,) = self.manifest["sources"]
        return entry

    @property
    def contract(self) -> Any:
        return tool_contracts(self.project)

    def arguments(self, tool: str) -> list[str]:
        return list(self.contract[tool]["arguments"])

    def settings(self) -> dict[str, Any]:
        contract = json.loads((self.project / "src/zoo_mcp/_generated/contract.json").read_bytes())
        return {setting["name"]: setting for setting in contract["environment"]}

    def call(
        self, tool: str, arguments: Mapping[str, Any], environ: Mapping[str, str]
    ) -> tuple[Any, list[RecordedRequest]]:
        """Call a tool of the server over stdio; return the result and the requests that arrived."""

        async def serve() -> tuple[Any, list[RecordedRequest]]:
            package = find_package(self.project)
            upstream = MockUpstream(package.upstream())
            settings = package.base_urls(await upstream.start()) | dict(environ)
            try:
                async with await Client.over_stdio(
                    package.command, package.environment(settings)
                ) as client:
                    result = await client.call_tool(tool, dict(arguments))
            finally:
                await upstream.stop()
            # The mock checks requests against the document and the credentials of its security.
            assert [request.problems for request in upstream.requests if request.problems] == []
            return result, upstream.requests

        return asyncio.run(asyncio.wait_for(serve(), 60))

    def run_suite(self) -> str:
        """Run the generated tests; return pytest's output if one fails."""
        found = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "tests/generated", "-p", "no:cacheprovider"],
            cwd=self.project,
            env={**os.environ, "PYTHONPATH": "src"},
            capture_output=True,
            text=True,
            check=False,
        )
        return "" if found.returncode == 0 else found.stdout

    def generate(self, monkeypatch: pytest.MonkeyPatch, *more: str) -> int:
        """Run `mcpgen generate` without the cache of earlier runs."""
        monkeypatch.setenv("XDG_CACHE_HOME", str(self.cache))
        return run(["generate", str(self.project), *more])


def header(request: RecordedRequest, name: str) -> str | None:
    return next((value for key, value in request.headers if key.lower() == name), None)


def query(request: RecordedRequest) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(request.url).query))


@pytest.fixture
def zoo(tmp_path: Path) -> Zoo:
    return Zoo(tmp_path)


def findings(capsys: pytest.CaptureFixture[str]) -> list[Any]:
    return list(json.loads(capsys.readouterr().out)["findings"])


def test_an_authorization_header_parameter_becomes_a_security_scheme(
    zoo: Zoo, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert zoo.make(document(AUTHORIZATION), "--json") == 0
    (found,) = [it for it in findings(capsys) if it["rule"] == "credential-header"]
    assert found["severity"] == "note"
    assert found["message"] == "4 tools read a credential from the environment"
    assert "`list_birds`" in found["why"]
    assert "ZOO_TOKEN" in found["help"]
    assert zoo.source_entry["security_schemes"] == {"token": {"type": "http", "scheme": "bearer"}}
    assert zoo.settings()["ZOO_TOKEN"]["required"]
    assert zoo.settings()["ZOO_TOKEN"]["secret"]
    _, (request,) = zoo.call("list_birds", {}, {"ZOO_TOKEN": "t0ken"})
    assert header(request, "authorization") == "Bearer t0ken"
    result, requests = zoo.call("list_birds", {}, {})
    assert result["isError"]
    assert "ZOO_TOKEN" in result["content"][0]["text"]
    assert requests == []
    assert zoo.run_suite() == ""
    assert zoo.generate(monkeypatch) == 0
    assert "nothing to do" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("description", "scheme", "name"),
    [
        ("HTTP Basic credentials.", {"type": "http", "scheme": "basic"}, "basic"),
        (
            "The token.",
            {"type": "apiKey", "in": "header", "name": "Authorization"},
            "authorization",
        ),
    ],
)
def test_the_scheme_type_follows_the_parameter_description(
    zoo: Zoo, description: str, scheme: Any, name: str
) -> None:
    assert zoo.make(document({**AUTHORIZATION, "description": description}), "-q") == 0
    assert zoo.source_entry["security_schemes"] == {name: scheme}


def test_only_operations_that_declare_the_header_send_it(zoo: Zoo) -> None:
    described = document(AUTHORIZATION)
    del described["paths"]["/fish"]["get"]["parameters"]
    assert zoo.make(described, "-q") == 0
    _, (request,) = zoo.call("list_fish", {}, {"ZOO_TOKEN": "t0ken"})
    assert header(request, "authorization") is None
    _, (request,) = zoo.call("list_birds", {}, {"ZOO_TOKEN": "t0ken"})
    assert header(request, "authorization") == "Bearer t0ken"


def test_a_key_parameter_of_all_operations_is_not_an_argument(
    zoo: Zoo, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert zoo.make(document(KEY)) == 0
    shown = capsys.readouterr()
    assert "note[secret-argument]: 4 tools read a credential from the environment" in shown.err
    assert "ZOO_API_KEY" in shown.out
    assert zoo.arguments("list_birds") == []
    assert zoo.source_entry["security_schemes"]["api_key"]["in"] == "query"
    result, (request,) = zoo.call("list_birds", {}, {"ZOO_API_KEY": "k3y"})
    assert not result.get("isError")
    assert query(request) == {"api_key": "k3y"}
    assert zoo.run_suite() == ""
    assert zoo.generate(monkeypatch) == 0
    assert "nothing to do" in capsys.readouterr().out


def test_an_optional_token_parameter_becomes_an_alternative_to_the_scheme(zoo: Zoo) -> None:
    optional = {**KEY, "name": "access_token", "required": False}
    schemes = {"oauth": {"type": "http", "scheme": "bearer"}}
    described = document(
        optional, components={"securitySchemes": schemes}, security=[{"oauth": []}]
    )
    assert zoo.make(described, "-q") == 0
    assert zoo.arguments("list_birds") == []
    _, (request,) = zoo.call("list_birds", {}, {"ZOO_OAUTH": "one", "ZOO_ACCESS_TOKEN": "two"})
    assert (header(request, "authorization"), query(request)) == ("Bearer one", {})
    _, (request,) = zoo.call("list_birds", {}, {"ZOO_ACCESS_TOKEN": "two"})
    assert header(request, "authorization") is None
    assert query(request) == {"access_token": "two"}
    assert zoo.run_suite() == ""


def test_a_required_key_parameter_is_sent_together_with_the_scheme(zoo: Zoo) -> None:
    schemes = {"oauth": {"type": "http", "scheme": "bearer"}}
    described = document(KEY, components={"securitySchemes": schemes}, security=[{"oauth": []}])
    assert zoo.make(described, "-q") == 0
    _, (request,) = zoo.call("list_birds", {}, {"ZOO_OAUTH": "one", "ZOO_API_KEY": "two"})
    assert (header(request, "authorization"), query(request)) == (
        "Bearer one",
        {"api_key": "two"},
    )
    assert zoo.run_suite() == ""


def test_operations_without_security_use_the_scheme_whose_parameter_they_declare(
    zoo: Zoo,
) -> None:
    schemes = {"key": {"type": "apiKey", "in": "query", "name": "api_key"}}
    described = document(KEY, components={"securitySchemes": schemes})
    described["paths"]["/birds"]["get"]["security"] = [{"key": []}]
    assert zoo.make(described, "-q") == 0
    assert zoo.source_entry["security"] == [{"key": []}]
    for tool in ("list_birds", "list_cats"):
        assert zoo.arguments(tool) == []
        _, (request,) = zoo.call(tool, {}, {"ZOO_KEY": "k3y"})
        assert query(request) == {"api_key": "k3y"}


def test_a_secret_in_all_bodies_comes_from_a_setting(
    zoo: Zoo, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    members = {
        "secret": {"type": "string", "description": "Your Zoo API secret."},
        "name": {"type": "string"},
    }
    assert zoo.make(document(body=members), "-q") == 0
    assert zoo.manifest["operations"] == {
        "*": {"parameters": {"body.secret": {"from_environment": "ZOO_SECRET", "secret": True}}}
    }
    assert zoo.settings()["ZOO_SECRET"]["secret"]
    listed = zoo.contract["list_birds"]["listing"]["inputSchema"]["properties"]
    assert list(listed) == ["name"]
    _, (request,) = zoo.call("list_birds", {"name": "Rio"}, {"ZOO_SECRET": "s3cret"})
    assert json.loads(request.body) == {"name": "Rio", "secret": "s3cret"}
    assert "s3cret" not in zoo.manifest_text
    assert zoo.run_suite() == ""
    capsys.readouterr()
    assert zoo.generate(monkeypatch) == 0
    assert "nothing to do" in capsys.readouterr().out


def test_a_document_without_security_gets_a_scheme_as_a_comment(
    zoo: Zoo, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert zoo.make(document(responses=REFUSED), "--json") == 0
    (found,) = [it for it in findings(capsys) if it["rule"] == "no-credentials"]
    assert found["severity"] == "warning"
    assert found["message"].startswith("4 tools send no credential")
    assert "security" not in zoo.source_entry
    uncommented = zoo.manifest_text.replace("    # security", "    security")
    uncommented = uncommented.replace("    #   token", "      token")
    (zoo.project / "mcpgen.yaml").write_text(uncommented)
    assert zoo.generate(monkeypatch, "--json") == 0
    assert [it for it in findings(capsys) if it["rule"] == "no-credentials"] == []
    _, (request,) = zoo.call("list_birds", {}, {"ZOO_TOKEN": "t0ken"})
    assert header(request, "authorization") == "Bearer t0ken"
    _, (request,) = zoo.call("list_birds", {}, {})
    assert header(request, "authorization") is None
    assert zoo.run_suite() == ""


def test_declared_schemes_that_no_operation_uses_are_applied_to_all_operations(zoo: Zoo) -> None:
    schemes = {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}
    described = document(responses=REFUSED, components={"securitySchemes": schemes})
    assert zoo.make(described, "-q") == 0
    assert zoo.source_entry["security"] == [{"key": []}]
    _, (request,) = zoo.call("list_birds", {}, {"ZOO_KEY": "k3y"})
    assert header(request, "x-key") == "k3y"


def test_an_existing_project_keeps_its_argument_and_is_warned(
    zoo: Zoo, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert zoo.make(document(KEY), "-q") == 0
    manifest = "server: {name: zoo}\nmodels: false\nsources:\n  - document: openapi.json\n"
    (zoo.project / "mcpgen.yaml").write_text(manifest)
    capsys.readouterr()
    assert zoo.generate(monkeypatch, "--json") == 0
    (found,) = [it for it in findings(capsys) if it["rule"] == "secret-argument"]
    assert found["severity"] == "warning"
    assert found["message"] == "4 tools take a secret as an argument"
    assert zoo.arguments("list_birds") == ["api_key"]

    entry = found["help"].split("`")[1]
    (zoo.project / "mcpgen.yaml").write_text(f"{manifest}    {entry}\n")
    assert zoo.generate(monkeypatch, "--json") == 0
    assert [it for it in findings(capsys) if it["rule"] == "secret-argument"] == []
    assert zoo.arguments("list_birds") == []


def test_a_secret_argument_requested_in_the_manifest_is_kept_without_a_warning(
    zoo: Zoo, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert zoo.make(document(KEY), "-q") == 0
    (zoo.project / "mcpgen.yaml").write_text(
        "server: {name: zoo}\nmodels: false\nsources: [{document: openapi.json}]\n"
        'operations: {"*": {parameters: {api_key: {hidden: false}}}}\n'
    )
    capsys.readouterr()
    assert zoo.generate(monkeypatch, "--json") == 0
    assert [it["rule"] for it in findings(capsys)] == []
    assert zoo.arguments("list_birds") == ["api_key"]


def test_an_empty_security_entry_in_the_manifest_silences_the_warning(
    zoo: Zoo, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert zoo.make(document(responses=REFUSED), "-q") == 0
    text = zoo.manifest_text.replace(
        '- document: "openapi.json"', "- document: openapi.json\n    security: []"
    )
    (zoo.project / "mcpgen.yaml").write_text(text)
    capsys.readouterr()
    assert zoo.generate(monkeypatch, "--json") == 0
    assert findings(capsys) == []


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("security: [{tokn: []}]", "unknown security scheme `tokn`"),
        ("security_schemes: {key: {type: apiKey}}", "the security scheme `key` is not used"),
    ],
)
def test_an_invalid_entry_is_rejected(
    zoo: Zoo,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    entry: str,
    message: str,
) -> None:
    assert zoo.make(document(), "-q") == 0
    text = zoo.manifest_text.replace('"openapi.json"', f'"openapi.json"\n    {entry}')
    (zoo.project / "mcpgen.yaml").write_text(text)
    capsys.readouterr()
    assert zoo.generate(monkeypatch, "--json") == 3
    (found,) = findings(capsys)
    assert found["message"].startswith(message)
    assert (found["file"], found["line"]) == ("mcpgen.yaml", 8)


# The question in a terminal

UNDECLARED = HiddenCredential(
    "no-credentials",
    "",
    ("a",),
    is_certain=False,
    schemes={"token": {"type": "http", "scheme": "bearer"}},
    security=({"token": ()}, {}),
)


def decide(credential: HiddenCredential, keys: str) -> HiddenCredential:
    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
        pipe.send_text(keys)
        return decide_credential(credential)


@pytest.mark.parametrize(("keys", "is_active"), [("\r", True), ("n", False), ("y", True)])
def test_the_user_decides_whether_an_argument_is_a_credential(keys: str, is_active: bool) -> None:
    credential = HiddenCredential("secret-argument", "the query parameter `key`", ("a",), True)
    assert decide(credential, keys).is_certain is is_active


def test_the_user_selects_the_security_scheme_of_the_api() -> None:
    down = "\x1b[B"
    assert decide(UNDECLARED, "\r").is_denied
    assert decide(UNDECLARED, f"{down}\r").schemes == {
        "token": {"type": "http", "scheme": "bearer"}
    }
    assert decide(UNDECLARED, f"{down}{down}\r").schemes == {
        "basic": {"type": "http", "scheme": "basic"}
    }
    assert decide(UNDECLARED, f"{down}{down}{down}\r\r").schemes == {
        "api_key": {"type": "apiKey", "in": "header", "name": "X-API-Key"}
    }


def test_each_source_has_its_own_credentials(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.json").write_text(json.dumps(document(AUTHORIZATION)))
    (tmp_path / "b.json").write_text(json.dumps(document(responses=REFUSED)))
    (tmp_path / "c.json").write_text(json.dumps(document(KEY)))
    token = "security_schemes: {token: {type: http, scheme: bearer}}"
    (tmp_path / "server.yaml").write_text(
        "server: {name: zoo}\nmodels: false\nsources:\n"
        f"  - {{document: a.json, name: a, prefix: a, {token}}}\n"
        f"  - {{document: b.json, name: b, prefix: b, {token}, security: [{{token: []}}]}}\n"
        "  - {document: c.json, name: c, prefix: c}\n"
    )
    zoo = Zoo(tmp_path)
    assert run(["new", str(tmp_path / "server.yaml"), str(zoo.project), "--json"]) == 0
    (found,) = [it for it in findings(capsys) if it["severity"] == "warning"]
    assert (found["rule"], "`c_list_birds`" in found["why"]) == ("secret-argument", True)
    secrets = [name for name, setting in zoo.settings().items() if setting["secret"]]
    assert secrets == ["ZOO_A_TOKEN", "ZOO_B_TOKEN"]
    environ = {"ZOO_A_TOKEN": "one", "ZOO_B_TOKEN": "two"}
    _, (request,) = zoo.call("a_list_birds", {}, environ)
    assert header(request, "authorization") == "Bearer one"
    _, (request,) = zoo.call("b_list_birds", {}, environ)
    assert header(request, "authorization") == "Bearer two"
    _, (request,) = zoo.call("c_list_birds", {"api_key": "given"}, environ)
    assert header(request, "authorization") is None
