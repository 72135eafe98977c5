"""Parameters that the manifest takes from settings of the server, up to the requests sent."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpgen.cli.app import run
from mcpgen.cli.packages import find_package
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.testing import Client, MockUpstream

DOCUMENT = """
openapi: 3.1.0
info: {title: Fleet, version: "1"}
servers: [{url: "https://fleet.example"}]
paths:
  /accounts/{account}/trucks:
    parameters:
      - name: account
        in: path
        required: true
        description: The account. It never changes.
        schema: {type: string, pattern: "^AC[0-9]{4}$", examples: [AC0001]}
      - {name: teamId, in: query, description: The team., schema: {type: integer, minimum: 10}}
      - {name: X-Trace, in: header, schema: {type: boolean}}
      - {name: X-Tenant, in: header, schema: {type: string}}
      - {name: region, in: cookie, schema: {type: string}}
      - {name: api_key, in: query, schema: {type: string}}
    get:
      operationId: listTrucks
      tags: [trucks]
      responses: {'200': {description: ok, content: {application/json: {schema: {type: array}}}}}
    post:
      operationId: addTruck
      tags: [trucks]
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [plate, depot]
              properties:
                plate: {type: string}
                depot: {type: integer, description: Where it belongs.}
                tags: {type: array, items: {type: integer}}
      responses: {'204': {description: ok}}
"""
COMMON = """
      account: {from_environment: FLEET_ACCOUNT}
      team_id: {from_environment: TEAM_ID}
      x_trace: {from_environment: FLEET_TRACE}
      x_tenant: {from_environment: FLEET_TENANT}
      region: {from_environment: FLEET_REGION, default: eu}
      api_key: {from_environment: FLEET_QUERY_KEY}
"""
MANIFEST = f"""
server: {{name: fleet}}
sources: [{{document: openapi.yaml}}]
operations:
  listTrucks:
    parameters:{COMMON}
  addTruck:
    parameters:{COMMON.rstrip()}
      body.depot: {{from_environment: FLEET_DEPOT}}
      body.tags: {{from_environment: FLEET_TAGS}}
"""
SET = {
    "FLEET_ACCOUNT": "AC1234",
    "TEAM_ID": "12",
    "FLEET_TRACE": "true",
    "FLEET_QUERY_KEY": "k-0123456789",
    "FLEET_DEPOT": "7",
    "FLEET_TAGS": "1, 2",
}


class Fleet:
    """A project whose tools take parameters from settings."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        document = folder.with_suffix(".yaml")
        document.write_text(DOCUMENT)
        self.folder = folder
        self.monkeypatch = monkeypatch
        assert run(["new", str(document), str(folder), "--name", "fleet", "-q"]) == 0
        self.generate(MANIFEST)
        monkeypatch.syspath_prepend(folder / "src")

    def generate(self, manifest: str) -> None:
        (self.folder / "mcpgen.yaml").write_text(manifest)
        assert run(["generate", str(self.folder), "-q"]) == 0

    def call(self, tool: str, arguments: dict[str, Any], environ: dict[str, str]) -> Any:
        """Call a tool; return its result and the requests that the API received."""
        mock = MockUpstream(find_package(self.folder).upstream(), base_url="https://fleet.example")

        async def converse() -> Any:
            package = ServerPackage.load("fleet_mcp")
            async with Client.in_memory(package, environ, send=mock.send) as client:
                return await client.call_tool(tool, arguments)

        return asyncio.run(asyncio.wait_for(converse(), 60)), mock.requests

    def run(self, *command: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run a command of Python in the project."""
        return subprocess.run(
            [sys.executable, "-m", *command],
            cwd=self.folder,
            env=find_package(self.folder).environment(environ),
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    yield Fleet(tmp_path / "fleet-mcp", monkeypatch)
    for name in [name for name in sys.modules if name.partition(".")[0] == "fleet_mcp"]:
        del sys.modules[name]


def texts(result: Any) -> str:
    return "\n".join(block["text"] for block in result["content"])


def test_settings_are_sent_from_every_place_and_offered_nowhere(fleet: Fleet) -> None:
    result, (sent,) = fleet.call("add_truck", {"body": {"plate": "B-1"}}, SET)
    assert not result.get("isError"), texts(result)
    assert sent.url == (
        "https://fleet.example/accounts/AC1234/trucks?teamId=12&api_key=k-0123456789"
    )
    headers = dict(sent.headers)
    assert headers["X-Trace"] == "true"
    assert headers["Cookie"] == "region=eu"
    assert json.loads(sent.body or b"") == {"plate": "B-1", "depot": 7, "tags": [1, 2]}
    assert not sent.problems

    contract = json.loads(
        (fleet.folder / "src/fleet_mcp/_generated/tools/trucks.json").read_bytes()
    )["tools"]
    assert not contract["list_trucks"]["listing"]["inputSchema"]["properties"]
    offered = contract["add_truck"]["listing"]["inputSchema"]["properties"]
    assert list(offered) == ["body"]
    assert list(offered["body"]["properties"]) == ["plate"]


def test_an_optional_setting_that_is_not_set_is_not_sent(fleet: Fleet) -> None:
    needed = {"FLEET_ACCOUNT": "AC1234", "FLEET_DEPOT": "7"}
    _, (sent,) = fleet.call("add_truck", {"body": {"plate": "B-1"}}, needed)
    assert sent.url == "https://fleet.example/accounts/AC1234/trucks"
    assert "X-Trace" not in dict(sent.headers)
    assert json.loads(sent.body or b"") == {"plate": "B-1", "depot": 7}


@pytest.mark.parametrize("missing", ["FLEET_ACCOUNT", "FLEET_DEPOT"])
def test_a_required_setting_that_is_missing_is_named_and_nothing_is_sent(
    fleet: Fleet, missing: str
) -> None:
    environ = {name: value for name, value in SET.items() if name != missing}
    result, sent = fleet.call("add_truck", {"body": {"plate": "B-1"}}, environ)
    assert not sent
    assert result["isError"]
    assert f"`add_truck` needs the setting {missing}" in texts(result)
    assert "nothing was sent" in texts(result)


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("FLEET_ACCOUNT", "12", "must match the pattern"),
        ("TEAM_ID", "9", "must be at least 10"),
        ("TEAM_ID", "twelve", "must be an integer"),
        ("FLEET_TRACE", "maybe", "must be a boolean"),
        ("FLEET_TAGS", "1,x", "has `/1`, which must be an integer"),
        ("FLEET_REGION", "a\x07b", "has a character that cannot be sent"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_at_the_start_and_by_check_env(
    fleet: Fleet, name: str, value: str, rule: str
) -> None:
    environ = {**SET, name: value}
    with pytest.raises(ConfigurationError) as refused:
        ServerPackage.load("fleet_mcp").load_hot(environ)
    assert name in str(refused.value)
    assert rule in str(refused.value)
    assert value not in str(refused.value).replace(rule, "")

    done = fleet.run("fleet_mcp", "--check-env", **environ)
    assert done.returncode == 1
    (line,) = [line for line in done.stdout.splitlines() if line.startswith(f"{name}:")]
    assert rule in line


def test_check_env_accepts_what_the_server_accepts(fleet: Fleet) -> None:
    done = fleet.run("fleet_mcp", "--check-env", **SET)
    assert done.returncode == 0, done.stdout
    assert "TEAM_ID: set. The team. An integer." in done.stdout
    done = fleet.run("fleet_mcp", "--check-env", **{**SET, "FLEET_ACCOUNT": ""})
    assert done.returncode == 1
    assert "FLEET_ACCOUNT: missing. The account." in done.stdout


def test_a_value_that_cannot_be_sent_is_told_by_the_name_of_its_setting(fleet: Fleet) -> None:
    environ = {**SET, "FLEET_TENANT": "t\u00e4nt"}
    result, sent = fleet.call("list_trucks", {}, environ)
    assert not sent
    assert "cannot send the setting FLEET_TENANT: it must have only visible ASCII" in texts(result)


def test_a_secret_setting_is_masked_and_others_are_not(fleet: Fleet) -> None:
    contract = json.loads((fleet.folder / "src/fleet_mcp/_generated/contract.json").read_bytes())
    secrets = {it["name"]: it["secret"] for it in contract["environment"] if "schema" in it}
    assert secrets == {name: name == "FLEET_QUERY_KEY" for name in secrets}
    assert {*SET, "FLEET_REGION", "FLEET_TENANT"} == secrets.keys()
    toolbox = ServerPackage.load("fleet_mcp").load_hot(SET)
    redactor = toolbox._client.redactor()
    assert redactor.clean("AC1234 k-0123456789") == "AC1234 ***"


def test_settings_are_listed_where_operators_look(fleet: Fleet) -> None:
    env_file = (fleet.folder / ".env.example").read_text()
    assert "# The account. Required. Example: AC0001\nFLEET_ACCOUNT=\n" in env_file
    assert "Optional, secret.\nFLEET_QUERY_KEY=" in env_file
    readme = (fleet.folder / "README.md").read_text()
    assert "| `FLEET_ACCOUNT` | The account. | yes |" in readme
    server = json.loads((fleet.folder / "server.json").read_bytes())
    listed = {it["name"]: it for it in server["packages"][0]["environmentVariables"]}
    assert listed["TEAM_ID"] == {
        "name": "TEAM_ID",
        "description": "The team. An integer.",
        "isRequired": False,
        "isSecret": False,
        "format": "number",
    }
    assert listed["FLEET_ACCOUNT"]["isRequired"] is True
    assert listed["FLEET_QUERY_KEY"]["isSecret"] is True


def test_the_generated_suite_covers_settings(fleet: Fleet) -> None:
    command = ("pytest", "-q", "-p", "no:cacheprovider", "tests/generated")
    done = fleet.run(*command)
    assert done.returncode == 0, done.stdout
    tools = fleet.folder / "src/fleet_mcp/_generated/tools/trucks.py"
    source = tools.read_text()
    assert 'ctx.api.setting("FLEET_ACCOUNT")' in source
    assert 'ctx.api.setting("TEAM_ID", ABSENT)' in source
    assert 'ctx.api.setting("FLEET_REGION", "eu")' in source
    tools.write_text(source.replace('"FLEET_ACCOUNT"', '"FLEET_REGION", "AC0000"'))
    assert fleet.run(*command).returncode == 1


def test_a_call_against_the_mock_needs_no_settings(fleet: Fleet) -> None:
    assert run(["call", "list_trucks", str(fleet.folder), "--mock", "-q"]) == 0
    assert run(["test", str(fleet.folder), "-q"]) == 0
