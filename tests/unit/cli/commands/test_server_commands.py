"""Tests of `tools`, `call` and `mock` on servers of every kind."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from mcpgen.cli.app import run
from mcpgen.cli.commands.tools import title
from mcpgen.cli.output.calls import content_text
from mcpgen.contract.snapshot import estimate_tokens
from mcpgen.factory.packages import find_package

WAIT_SECONDS = 60


def test_tools_lists_the_tools_of_a_package_by_name(
    petstore: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["tools", str(petstore)]) == 0

    *lines, count = capsys.readouterr().out.splitlines()
    assert lines == sorted(lines)
    assert "get_pet            Fetch one pet" in lines
    assert count == f"{len(lines)} tools"


def test_token_costs_of_tools_add_up_to_the_total(
    petstore: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["tools", str(petstore), "--tokens"]) == 0

    _, *lines, total = capsys.readouterr().out.splitlines()
    costs = [int(line.split()[0].replace(",", "")) for line in lines]
    assert total.endswith(f"; listing them costs about {sum(costs):,} tokens of a budget of 20,000")


def test_any_command_can_start_the_server(
    petstore: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    started = ["env", f"PYTHONPATH={petstore / 'src'}", sys.executable, "-m", "petstore_mcp"]

    assert run(["tools", "--json", "--revision", "2026-07-28", "--", *started]) == 0

    report = json.loads(capsys.readouterr().out)
    assert report["outcome"] == "done"
    assert "get_pet" in {tool["name"] for tool in report["tools"]}


def test_the_folder_of_another_project_names_its_server(
    petstore: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = {
        "command": sys.executable,
        "args": ["-m", "petstore_mcp"],
        "env": {"PYTHONPATH": str(petstore / "src")},
    }
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"shop": server}}))

    assert run(["tools", str(tmp_path)]) == 0
    assert "get_pet            Fetch one pet" in capsys.readouterr().out


@pytest.mark.parametrize("command", [["tools"], ["call", "get_pet"], ["lint"], ["validate"]])
def test_words_after_a_url_are_a_usage_error(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, "http://127.0.0.1:1/mcp", "surplus"]) == 2
    assert "unexpected argument `surplus` after the URL" in capsys.readouterr().err


@pytest.mark.parametrize(
    "server", [["http://127.0.0.1:1/mcp"], ["false"], ["--", "no-such-program", "--stdio"]]
)
def test_an_unreachable_server_is_reported(
    server: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["tools", *server]) == 1
    assert capsys.readouterr().err.startswith("error[unreachable]: ")


def test_call_with_mock_shows_the_request_and_the_result(
    petstore: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--arg", "status=sold", "--arg", "tag=a b&c", "--arg", "limit=2"]

    assert run(["call", "list_pets", str(petstore), "--mock", *arguments]) == 0

    shown = capsys.readouterr().out
    sent, result = shown.split("< 200\n")
    assert "/v1/pets?status=sold&tag=a%20b%26c&limit=2\n" in sent
    assert "> X-Petstore-Key: mock-value\n" in sent
    page, end = json.JSONDecoder().raw_decode(result)
    assert page["items"][0]["name"] == "Rex"
    following = '{"status":["sold"],"tag":["a b&c"],"limit":2,"after":"cGV0OjQy"}'
    assert result[end:] == f"\nThis is 1 page; more follow. Next call: `list_pets` {following}\n"


def test_call_with_json_reports_the_request_and_the_result(
    petstore: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = {"name": "Rex", "species": "dog"}

    arguments = json.dumps({"body": body})
    assert run(["call", "create_pet", str(petstore), "--mock", "--json", arguments]) == 0

    report = json.loads(capsys.readouterr().out)
    (request,) = report["requests"]
    assert (request["method"], json.loads(request["body"])) == ("POST", body)
    assert (request["status"], request["problems"]) == (201, [])
    assert report["result"]["structuredContent"]["id"] == 43


def test_call_with_invalid_arguments_reports_an_error_and_sends_nothing(
    petstore: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["call", "get_pet", str(petstore), "--mock", "--arg", "pet_id=0"]) == 1

    shown = capsys.readouterr()
    assert "> " not in shown.out
    assert "/pet_id" in shown.out
    assert shown.err.startswith("error[tool-error]: `get_pet` ")


def test_call_with_a_missing_credential_reports_its_variable(
    petstore: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("PETSTORE_API_KEY", raising=False)

    assert run(["call", "get_pet", str(petstore), "--arg", "pet_id=1"]) == 1

    assert "PETSTORE_API_KEY" in capsys.readouterr().out


FAILING = """\
import json
import re

from mcpgen.runtime import Context, Features, before

features = Features()


@features.tool()
async def parse(ctx: Context, *, text: str) -> dict[str, object]:
    parsed: dict[str, object] = json.loads(text)
    return parsed


@before("GET /pets/{petId}")
async def fail(ctx: Context, arguments: object) -> None:
    raise LookupError("no such shelf")
"""


@pytest.fixture
def failing(petstore: Path) -> Path:
    """Return the petstore with failing handlers in the module `failing.py`."""
    (petstore / "src/petstore_mcp/handlers/failing.py").write_text(FAILING)
    return petstore


@pytest.mark.parametrize(
    ("tool", "argument", "logged"),
    [
        ("parse", "text={", r"JSONDecodeError: Expecting .*failing\.py:11, raised at .*decoder"),
        ("get_pet", "pet_id=1", r"LookupError: no such shelf \(.*failing\.py:17\)"),
    ],
    ids=["a hand-written tool", "a hook"],
)
def test_the_log_of_a_handler_that_raises_is_shown(
    tool: str, argument: str, logged: str, failing: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["call", tool, str(failing), "--mock", "--arg", argument]) == 1

    first, *log = capsys.readouterr().err.splitlines()
    assert first.startswith("error[")
    assert re.search(logged, log[0])
    assert all(line.startswith("  log: ") for line in log)

    name, _, value = argument.partition("=")
    arguments = json.dumps({name: int(value) if value.isdigit() else value})
    assert run(["call", tool, str(failing), "--mock", "--json", arguments]) == 1
    assert re.search(logged, json.loads(capsys.readouterr().out)["log"][0])


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["get_pett"], "did you mean `get_pet`?"),
        (["get_pet", "--arg", "pet_id"], "`--arg pet_id` is not KEY=VALUE"),
        (["get_pet", "--json", "7"], "--json has no JSON object"),
    ],
)
def test_an_invalid_call_is_a_usage_error(
    argv: list[str], message: str, petstore: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tool, *options = argv

    assert run(["call", tool, str(petstore), *options]) == 2

    shown = capsys.readouterr()
    assert message in shown.out + shown.err


def test_call_with_mock_requires_a_package_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["call", "get_pet", "--mock", "http://127.0.0.1:1/mcp"]) == 2
    assert "--mock needs the folder of a package" in capsys.readouterr().err


@contextlib.contextmanager
def mock_of(package: Path, *options: str) -> Iterator[IO[str]]:
    """Yield the output of `mcpgen mock`; at the end, interrupt it and require exit code 0."""
    server = subprocess.Popen(
        [sys.executable, "-m", "mcpgen", "mock", str(package), *options],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    try:
        yield server.stdout
        server.send_signal(signal.SIGINT)
        assert server.wait(WAIT_SECONDS) == 0
    finally:
        server.kill()
        server.wait(WAIT_SECONDS)
        server.stdout.close()


def test_mock_prints_its_url_and_serves_until_it_is_interrupted(petstore: Path) -> None:
    with mock_of(petstore) as said:
        variable, _, base_url = said.readline().strip().partition("=")
        request = urllib.request.Request(f"{base_url}/pets/7", headers={"X-Petstore-Key": "any"})
        with urllib.request.urlopen(request, timeout=WAIT_SECONDS) as response:
            pet = json.load(response)
    assert variable == "PETSTORE_BASE_URL"
    assert pet["name"] == "Rex"


def test_stateful_mock_lists_its_collections_and_stores_resources(petstore: Path) -> None:
    with mock_of(petstore, "--stateful") as said:
        base_url = said.readline().strip().partition("=")[2]
        remembered = [said.readline().strip() for _ in range(3)]
        request = urllib.request.Request(f"{base_url}/pets/7", headers={"X-Petstore-Key": "any"})
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=WAIT_SECONDS)
        refused.value.close()
    assert remembered == [
        "remembered: /pets, each by its `id`",
        "remembered: /store/orders, each by its `id`",
        "remembered: /users, each by its `username`",
    ]
    assert refused.value.code == 404


def test_mock_values_are_generated_for_unset_credentials(
    petstore: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PETSTORE_API_KEY", "mine")
    monkeypatch.delenv("PETSTORE_BEARER", raising=False)

    settings = find_package(petstore).mock_environment("http://127.0.0.1:9")

    assert settings == {
        "PETSTORE_BEARER": "mock-value",
        "PETSTORE_BASE_URL": "http://127.0.0.1:9",
    }


def test_a_tool_without_a_title_is_shown_by_its_description() -> None:
    assert title({"name": "x", "description": "One line.\nAnother."}) == "One line."
    assert title({"name": "x", "annotations": {"title": "Old place"}}) == "Old place"


def test_the_cost_of_a_tool_is_a_quarter_of_its_bytes_rounded_up() -> None:
    assert estimate_tokens({"name": "é"}) == 4  # {"name":"é"} is 13 bytes


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ({"type": "text", "text": "plain"}, "plain"),
        ({"type": "text", "text": '{"a":1}'}, '{\n  "a": 1\n}'),
        ({"type": "image", "data": "", "mimeType": "image/png"}, "[image image/png]"),
        ({"type": "resource_link", "uri": "a:b", "name": "b"}, "[resource a:b]"),
        ({"type": "resource", "resource": {"uri": "a:b", "text": ""}}, "[resource a:b]"),
    ],
)
def test_content_is_shown_as_text(content: dict[str, str], shown: str) -> None:
    assert content_text(content) == shown
