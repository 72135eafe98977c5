"""Tests of `mcpgen eval`: exit codes, reports, and comparing two versions of descriptions."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import yaml
from typer import Context

from mcpgen.cli.app import run
from mcpgen.cli.completion_values import list_tasks
from mcpgen.factory.packages import GeneratedPackage
from tests.support import keyword_agent
from tests.unit.factory.eval.conftest import write_tasks

Capture = pytest.CaptureFixture[str]
CHOOSING = shlex.join([sys.executable, str(keyword_agent.__file__)])
SHOP = """\
  - id: adopt
    goal: "Add a pet (name: Tim). Show one."
    calls:
      - {tool: add_pet, id: new, arguments: {name: Tim}}
      - {tool: get_pet, arguments: {pet_id: $calls.new#/id}}
    state: [{path: /pets, has: {name: Tim}}]
  - id: sell
    goal: "Remove the pet that was sold (pet_id: 1)."
    calls: [{tool: remove_pet, arguments: {pet_id: 1}}]
    forbidden: [{tool: add_pet}]
    state: [{path: /pets, count: 0}]
"""
VAGUE = """\
operations:
  addPet: {title: Operation 1, description: Calls an endpoint of the service.}
"""


def evaluate(capsys: Capture, package: GeneratedPackage, *options: str, code: int = 0) -> Any:
    capsys.readouterr()
    assert run(["eval", str(package.directory), "--json", *options]) == code
    return json.loads(capsys.readouterr().out)


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    command = ["git", "-C", str(folder), *identity, *arguments]
    subprocess.run(command, check=True, capture_output=True)


def commit(folder: Path) -> None:
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "x")


def test_a_report_and_its_comparison(
    capsys: Capture, package: GeneratedPackage, tmp_path: Path
) -> None:
    write_tasks(package, SHOP)
    report = evaluate(capsys, package)
    assert (report["outcome"], report["agent"], report["server"]) == ("passed", "scripted", "pets")
    assert report["totals"] | {"definition_tokens": 0, "result_tokens": 0} == {
        "tasks": 2,
        "passed": 2,
        "calls": 3,
        "errors": 0,
        "definition_tokens": 0,
        "result_tokens": 0,
    }
    assert report["tasks"][1]["made_calls"] == [
        {"tool": "remove_pet", "arguments": {"pet_id": 1}, "error": None}
    ]
    (tmp_path / "report.json").write_text(json.dumps(report))

    write_tasks(package, SHOP.replace("count: 0", "count: 7").replace("Show one", "Fetch it"))
    page = tmp_path / "page.md"
    options = ("--compare", str(tmp_path / "report.json"), "--markdown", str(page))
    found = evaluate(capsys, package, *options, code=1)["comparison"]
    assert (found["won"], found["lost"], found["other_goals"]) == ([], ["sell"], ["adopt"])
    assert (found["before"]["passed"], found["after"]["passed"]) == (2, 1)
    assert "| sell | **failed** | 1 | 0 |" in page.read_text()
    assert "- lost: `sell`" in page.read_text()

    assert run(["eval", str(package.directory), *options]) == 1
    printed = capsys.readouterr().out
    assert "failed  sell: Remove the pet that was sold" in printed
    assert "why:  /pets has 0 items, expected 7" in printed
    assert "1 of 2 passed; agent: scripted" in printed
    assert "  lost:    sell" in printed


def test_better_descriptions_win_tasks(capsys: Capture, package: GeneratedPackage) -> None:
    manifest = package.directory / "mcpgen.yaml"
    good = manifest.read_text()
    manifest.write_text(f"{good}\n{VAGUE}")
    assert "operations" in yaml.safe_load(manifest.read_text())
    assert run(["generate", str(package.directory), "-q"]) == 0
    write_tasks(package, SHOP)
    git(package.directory, "init", "--quiet", "--initial-branch=main")
    commit(package.directory)

    manifest.write_text(good)
    assert run(["generate", str(package.directory), "-q"]) == 0
    options = ("--agent", CHOOSING, "--compare", "HEAD")
    better = evaluate(capsys, package, *options)["comparison"]
    assert (better["won"], better["lost"]) == (["adopt"], [])
    assert better["before"]["definition_tokens"] != better["after"]["definition_tokens"]
    assert better["agent_before"] == CHOOSING

    commit(package.directory)
    manifest.write_text(f"{good}\n{VAGUE}")
    assert run(["generate", str(package.directory), "-q"]) == 0
    worse = evaluate(capsys, package, *options, code=1)["comparison"]
    assert (worse["won"], worse["lost"]) == ([], ["adopt"])


def test_a_renamed_tool_is_the_same_tool(capsys: Capture, package: GeneratedPackage) -> None:
    git(package.directory, "init", "--quiet", "--initial-branch=main")
    commit(package.directory)
    manifest = package.directory / "mcpgen.yaml"
    manifest.write_text(f"{manifest.read_text()}\noperations: {{addPet: {{name: new_pet}}}}\n")
    assert run(["generate", str(package.directory), "-q"]) == 0
    write_tasks(package, SHOP.replace("add_pet", "new_pet"))
    found = evaluate(capsys, package, "--compare", "HEAD")["comparison"]
    assert (found["before"]["passed"], found["after"]["passed"]) == (2, 2)


def test_tasks_complete_on_the_command_line(package: GeneratedPackage) -> None:
    context = cast("Context", SimpleNamespace(params={"directory": package.directory}, args=[]))
    write_tasks(package, SHOP)
    assert list_tasks(context) == ["adopt", "sell"]
    for text in ("tasks: 7", "[", "tasks: [{id: 'a b'}, 1, {}]"):
        (package.directory / "evals" / "tasks.yaml").write_text(text)
        assert list_tasks(context) == []


def test_only_the_wanted_tasks_run(capsys: Capture, package: GeneratedPackage) -> None:
    write_tasks(package, SHOP)
    report = evaluate(capsys, package, "--task", "sell")
    assert [task["id"] for task in report["tasks"]] == ["sell"]


@pytest.mark.parametrize(
    ("options", "message", "help"),
    [
        (("--task", "sel"), "unknown task `sel`", "did you mean `sell`?"),
        (("--agent", "no-such-program --x"), "cannot find the program `no-such-program`", "path"),
        (("--agent", "'"), "invalid value of --agent: No closing quotation", ""),
        (("--compare", "no-such-branch"), "cannot compare with `no-such-branch`", "a git revision"),
        (("--compare", "{folder}/mcpgen.yaml"), "is no report", "mcpgen eval --json > FILE"),
        (("--init",), "tasks.yaml` exists", "remove it"),
        (("--max-calls", "0"), "Invalid value for '--max-calls'", ""),
    ],
)
def test_wrong_options_are_usage_errors(
    capsys: Capture,
    package: GeneratedPackage,
    options: tuple[str, ...],
    message: str,
    help: str,
) -> None:
    write_tasks(package, SHOP)
    git(package.directory, "init", "--quiet")
    given = [it.replace("{folder}", str(package.directory)) for it in options]
    (problem,) = evaluate(capsys, package, *given, code=2)["findings"]
    assert message in problem["message"]
    assert help in problem["help"]


@pytest.mark.parametrize(
    "content",
    ["[]", "{}", '{"format": 1}', '{"format": 1, "agent": "a", "tasks": [{}]}', "[" * 9999],
)
def test_what_is_no_report_is_rejected(
    capsys: Capture, package: GeneratedPackage, tmp_path: Path, content: str
) -> None:
    (tmp_path / "r.json").write_text(content)
    report = evaluate(capsys, package, "--compare", str(tmp_path / "r.json"), code=2)
    assert "is no report" in report["findings"][0]["message"]


def test_an_invalid_file_has_exit_code_3(capsys: Capture, package: GeneratedPackage) -> None:
    write_tasks(package, SHOP.replace("goal", "gaol", 1))
    report = evaluate(capsys, package, code=3)
    assert {it["rule"] for it in report["findings"]} == {"tasks"}
    assert report["findings"][0]["line"] == 3


def test_a_server_without_an_api_has_no_tasks(capsys: Capture, tmp_path: Path) -> None:
    folder = str(tmp_path / "plain")
    assert run(["new", "--empty", "plain", folder, "--defaults", "-q"]) == 0
    assert run(["eval", folder, "--init"]) == 0
    assert "no tasks" in capsys.readouterr().out
    assert run(["eval", folder]) == 2


def test_tasks_are_written_once(capsys: Capture, package: GeneratedPackage) -> None:
    tasks = package.directory / "evals" / "tasks.yaml"
    tasks.write_text("mine")
    assert run(["generate", str(package.directory), "-q", "--force"]) == 0
    assert tasks.read_text() == "mine"
    tasks.unlink()
    assert run(["generate", str(package.directory), "-q", "--force"]) == 0
    assert not tasks.exists()
    assert "evals/" not in (package.directory / "mcpgen.lock").read_text()
    assert run(["eval", str(package.directory), "--init"]) == 0
    assert tasks.read_text().startswith("# Tasks for agents")
    capsys.readouterr()
