"""Tests of default headers in the manifest, down to the requests sent."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from mcpgen.cli.app import run
from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.manifest.manifest import read_manifest
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.package import ServerPackage
from tests.manifest.fleet import Fleet, texts
from tests.support.generated_files import tool_contracts

HEAD = "server: {name: fleet}\nsources:\n  - document: openapi.yaml\n"
OPERATIONS = """
operations:
  "*":
    parameters:
      account: {fixed: AC0001}
"""
HEADERS = f"""
headers:
  X-Api-Version: "2026-01-01"
  X-Tenant: {{from_environment: FLEET_TENANT}}
  X-Region: {{from_environment: FLEET_REGION, default: eu}}
  X-Auth-Token: {{from_environment: FLEET_TOKEN, required: false}}
  User-Agent: fleet-test
{OPERATIONS}"""


def test_default_headers_are_sent_with_every_request(fleet: Fleet) -> None:
    fleet.generate(HEAD + HEADERS)
    environ = {"FLEET_TENANT": "t-1"}
    _, (sent,) = fleet.call("list_trucks", {}, environ)
    headers = dict(sent.headers)
    assert headers["X-Api-Version"] == "2026-01-01"
    assert headers["X-Tenant"] == "t-1"
    assert headers["X-Region"] == "eu"
    assert headers["User-Agent"] == "fleet-test"
    assert "X-Auth-Token" not in headers
    assert not sent.problems
    source = (fleet.folder / "src/fleet_mcp/_generated/tools/trucks.py").read_text()
    assert "X-Api-Version" not in source
    listed = tool_contracts(fleet.folder)["list_trucks"]["listing"]
    assert "x_tenant" not in listed["inputSchema"]["properties"]

    result, sent_without = fleet.call("list_trucks", {}, {})
    assert not sent_without
    assert "the setting FLEET_TENANT is missing" in texts(result)
    with pytest.raises(ConfigurationError, match="invalid FLEET_TENANT: it must have only visible"):
        ServerPackage.load("fleet_mcp").load_hot({"FLEET_TENANT": "t\u00e4"})
    registry = ServerPackage.load("fleet_mcp").load_hot({"FLEET_TOKEN": "secret-1234"})
    assert registry._client.get_redactor().clean("secret-1234") == "***"
    done = fleet.run("fleet_mcp", "--check-env")
    assert done.returncode == 1
    assert "until FLEET_TENANT is set." in done.stdout


def test_the_generated_suite_detects_a_missing_header(fleet: Fleet) -> None:
    fleet.generate(HEAD + HEADERS)
    command = ("pytest", "-q", "-p", "no:cacheprovider", "tests/generated")
    done = fleet.run(*command)
    assert done.returncode == 0, done.stdout
    contract = fleet.folder / "src/fleet_mcp/_generated/contract.json"
    stated = json.loads(contract.read_bytes())
    del stated["headers"]["X-Api-Version"]
    contract.write_text(json.dumps(stated))
    done = fleet.run(*command)
    assert done.returncode == 1
    assert "header parameter `X-Api-Version`: not sent" in done.stdout


def test_a_header_parameter_of_the_operation_takes_precedence_over_the_default(
    fleet: Fleet,
) -> None:
    fleet.generate(
        HEAD + HEADERS + "  listTrucks: {parameters: {x_tenant: {description: Yours.}}}\n"
    )
    environ = {"FLEET_TENANT": "t-1"}
    _, (sent,) = fleet.call("list_trucks", {"x_tenant": "t-2"}, environ)
    assert [value for name, value in sent.headers if name == "X-Tenant"] == ["t-2"]
    _, (sent,) = fleet.call("list_trucks", {}, environ)
    assert [value for name, value in sent.headers if name == "X-Tenant"] == ["t-1"]


def test_headers_of_a_source_override_the_default_headers(fleet: Fleet) -> None:
    source = "    headers: {x-api-version: 2026-02-02, X-Own: '1'}\n"
    fleet.generate(HEAD + source + HEADERS)
    _, (sent,) = fleet.call("list_trucks", {}, {"FLEET_TENANT": "t-1"})
    headers = dict(sent.headers)
    assert headers["x-api-version"] == "2026-02-02"
    assert headers["X-Own"] == "1"
    assert "X-Api-Version" not in headers


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ('{X-A: "a\\r\\nX-B: b"}', "`/headers/X-A`"),
        ('{X-A: "a\\nb"}', "`/headers/X-A`"),
        ('{"X A": b}', "X A"),
        ("{Host: evil.example}", "the header `Host` cannot be set"),
        ("{Authorization: {from_environment: TOKEN}}", "`Authorization` cannot be set"),
        ("{Proxy-Foo: a}", "`Proxy-Foo` cannot be set"),
        ("{X-Api-Key: abc}", "the value of the header `X-Api-Key` is a secret"),
        (f"{{X-A: ghp_{'0' * 36}}}", "`X-A` is a secret"),
        ("{X-A: a, x-a: b}", "duplicate header `x-a`"),
    ],
)
@pytest.mark.parametrize("place", ["headers", "source"])
def test_invalid_header_entries_are_rejected(headers: str, message: str, place: str) -> None:
    text = f"server: {{name: a}}\nsources: [{{document: a}}]\nheaders: {headers}\n"
    if place == "source":
        text = f"server: {{name: a}}\nsources: [{{document: a, headers: {headers}}}]\n"
    problems = Problems()
    with pytest.raises(RejectedError):
        read_manifest(text.encode(), problems)
    (problem,) = problems
    shown = re.sub(r"^`/headers/", "", message).rstrip("`")
    assert shown in f"{problem.message} {problem.at.pointer if problem.at else ''}"
    assert problem.at is not None
    assert problem.at.line in (2, 3)


def test_a_secret_default_header_with_several_sources_is_rejected() -> None:
    text = (
        "server: {name: a}\n"
        "sources: [{document: a, name: one}, {document: b, name: two}]\n"
        "headers: {X-Api-Key: {from_environment: KEY}}\n"
    )
    problems = Problems()
    with pytest.raises(RejectedError):
        read_manifest(text.encode(), problems)
    (problem,) = problems
    assert "would send a secret to several APIs" in problem.message


def test_a_default_that_violates_the_header_parameter_schema_is_rejected(
    fleet: Fleet, capsys: Any
) -> None:
    (fleet.folder / "mcpgen.yaml").write_text(f"{HEAD}headers: {{X-Trace: maybe}}\n")
    assert run(["generate", str(fleet.folder)]) == 3
    assert "cannot have this value of the header `X-Trace`" in capsys.readouterr().err
    fleet.generate(f"{HEAD}headers: {{X-Trace: 'true'}}\n")


def test_each_of_several_sources_sends_its_own_headers(fleet: Fleet) -> None:
    document = (fleet.folder / "openapi.yaml").read_text()
    (fleet.folder / "second.yaml").write_text(document.replace("fleet.example", "two.example"))
    fleet.generate(
        "server: {name: fleet}\n"
        "sources:\n"
        "  - {document: openapi.yaml, name: one, prefix: one_, headers: {X-Own: '1'}}\n"
        "  - document: second.yaml\n"
        "    name: two\n"
        "    prefix: two_\n"
        "    headers: {X-Own: {from_environment: TWO_KEY, secret: true}}\n"
        "headers: {X-All: a}\n"
    )
    contract = json.loads((fleet.folder / "src/fleet_mcp/_generated/contract.json").read_bytes())
    about = [contract, *contract["sources"].values()]
    own = [it["headers"]["X-Own"] for it in about if "X-Own" in it.get("headers", {})]
    assert own == ["1", {"setting": "TWO_KEY", "required": True}]
    assert {it["headers"]["X-All"] for it in about if "headers" in it} == {"a"}
    done = fleet.run("pytest", "-q", "-p", "no:cacheprovider", "tests/generated")
    assert done.returncode == 0, done.stdout
