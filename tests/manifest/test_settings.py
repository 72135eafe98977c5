"""Tests of parameters taken from settings of the server, down to the requests sent."""

from __future__ import annotations

import json

import pytest

from mcpgen.cli.app import run
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.package import ServerPackage
from tests.manifest.fleet import SET, Fleet, texts
from tests.support.generated_files import tool_contracts


def test_settings_are_sent_in_every_location_and_are_not_arguments(fleet: Fleet) -> None:
    result, (sent,) = fleet.call("add_truck", {"plate": "B-1"}, SET)
    assert not result.get("isError"), texts(result)
    assert sent.url == (
        "https://fleet.example/accounts/AC1234/trucks?teamId=12&api_key=k-0123456789"
    )
    headers = dict(sent.headers)
    assert headers["X-Trace"] == "true"
    assert headers["Cookie"] == "region=eu"
    assert json.loads(sent.body or b"") == {"plate": "B-1", "depot": 7, "tags": [1, 2]}
    assert not sent.problems

    contract = tool_contracts(fleet.folder)
    assert contract["list_trucks"]["listing"]["inputSchema"]["properties"].keys() == {
        "continue_from"
    }
    offered = contract["add_truck"]["listing"]["inputSchema"]["properties"]
    assert list(offered) == ["plate"]


def test_an_optional_setting_that_is_not_set_is_not_sent(fleet: Fleet) -> None:
    needed = {"FLEET_ACCOUNT": "AC1234", "FLEET_DEPOT": "7"}
    _, (sent,) = fleet.call("add_truck", {"plate": "B-1"}, needed)
    assert sent.url == "https://fleet.example/accounts/AC1234/trucks"
    assert "X-Trace" not in dict(sent.headers)
    assert json.loads(sent.body or b"") == {"plate": "B-1", "depot": 7}


@pytest.mark.parametrize("missing", ["FLEET_ACCOUNT", "FLEET_DEPOT"])
def test_a_missing_required_setting_is_reported_and_nothing_is_sent(
    fleet: Fleet, missing: str
) -> None:
    environ = {name: value for name, value in SET.items() if name != missing}
    result, sent = fleet.call("add_truck", {"plate": "B-1"}, environ)
    assert not sent
    assert result["isError"]
    assert f"`add_truck` was not sent: the setting {missing} is missing" in texts(result)


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
def test_an_invalid_value_is_rejected_at_start_and_by_check_env(
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
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("error: ")]
    assert name in line
    assert rule in line


def test_check_env_accepts_what_the_server_accepts(fleet: Fleet) -> None:
    done = fleet.run("fleet_mcp", "--check-env", **SET)
    assert done.returncode == 0, done.stdout
    assert state_of("TEAM_ID", done.stdout) == "set"
    done = fleet.run("fleet_mcp", "--check-env", **{**SET, "FLEET_ACCOUNT": ""})
    assert done.returncode == 1
    assert state_of("FLEET_ACCOUNT", done.stdout) == "missing"


def state_of(name: str, report: str) -> str:
    (line,) = [line for line in report.splitlines() if line.startswith(f"{name} ")]
    return line.split()[1]


def test_a_value_that_cannot_be_sent_is_reported_with_its_setting_name(fleet: Fleet) -> None:
    environ = {**SET, "FLEET_TENANT": "t\u00e4nt"}
    result, sent = fleet.call("list_trucks", {}, environ)
    assert not sent
    assert "cannot send the setting FLEET_TENANT: it must have only visible ASCII" in texts(result)


def test_only_secret_settings_are_masked(fleet: Fleet) -> None:
    contract = json.loads((fleet.folder / "src/fleet_mcp/_generated/contract.json").read_bytes())
    secrets = {it["name"]: it["secret"] for it in contract["environment"] if "schema" in it}
    assert secrets == {name: name == "FLEET_QUERY_KEY" for name in secrets}
    assert {*SET, "FLEET_REGION", "FLEET_TENANT"} == secrets.keys()
    registry = ServerPackage.load("fleet_mcp").load_hot(SET)
    redactor = registry._client.get_redactor()
    assert redactor.clean("AC1234 k-0123456789") == "AC1234 ***"


def test_settings_are_listed_in_the_env_example_and_the_registry_entry(fleet: Fleet) -> None:
    env_file = (fleet.folder / ".env.example").read_text()
    assert "# The account. Needed by all tools. Example: AC0001\nFLEET_ACCOUNT=\n" in env_file
    assert "Optional, secret.\nFLEET_QUERY_KEY=" in env_file
    readme = (fleet.folder / "README.md").read_text()
    assert "| `FLEET_ACCOUNT` | The account. | needed by all tools |" in readme
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


def test_the_generated_suite_detects_every_mutation_of_a_setting(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["test", str(fleet.folder), "--mutate"]) == 0
    assert ", 0 survived" in capsys.readouterr().out
