"""Tests of `mcpgen ws`: its messages about the servers of a workspace, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcpgen.cli.app import run
from mcpgen.factory.workspace import tasks
from mcpgen.pipeline.options import CheckReport
from tests.support.workspaces import Ws, ended, rules

pytestmark = pytest.mark.slow


def append(path: Path, text: str = "\n# changed\n") -> None:
    path.write_text(path.read_text() + text)


def test_list_shows_the_servers_sorted_by_path(ws: Ws, workspace: Path) -> None:
    append(workspace / "servers/bee/mcpgen.yaml", "workspace: {member: false, reason: old API}\n")

    code, report = ws("list")

    assert code == 0
    assert [(row["server"], row["owner"]) for row in report["servers"]] == [
        ("servers/ant", "@shop/platform"),
        ("servers/cat", "@shop/cats cat@shop.example"),
    ]
    assert report["servers"][0] | {"tokens": ""} == {
        "server": "servers/ant",
        "api": "Pet Shop API",
        "version": "0.1.0",
        "tools": "2",
        "tokens": "",
        "owner": "@shop/platform",
        "tests": "unknown",
        "score": "unknown",
    }
    assert report["left_out"] == [{"server": "servers/bee", "reason": "old API"}]


def test_the_workspace_is_found_from_a_subfolder(
    ws: Ws, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace / "servers" / "ant" / "src")
    code, report = ws("check", "..")
    assert (code, ended(report)) == (0, {"servers/ant": 0})
    assert report["workspace"] == workspace.as_posix()


@pytest.mark.parametrize("name", ["cat", "servers/cat", "servers/cat/"])
def test_a_server_is_named_by_its_folder_or_path(ws: Ws, name: str) -> None:
    assert ended(ws("check", name)[1]) == {"servers/cat": 0}


def test_check_reports_each_server_and_exits_with_the_worst_code(ws: Ws, workspace: Path) -> None:
    append(workspace / "servers/ant/openapi.yaml")
    (workspace / "servers/bee/mcpgen.lock").write_text('{"lock_version": 99, "mcpgen": "9"}')

    code, report = ws("check")
    assert (code, ended(report)) == (2, {"servers/ant": 1, "servers/bee": 2, "servers/cat": 0})

    append(workspace / "servers/cat/src/pet_shop_mcp/_generated/tools/pets.py")
    code, report = ws("check")
    assert (code, ended(report)) == (4, {"servers/ant": 1, "servers/bee": 2, "servers/cat": 4})
    assert rules(report) == [
        ("stale", "servers/ant/openapi.yaml"),
        ("lock-too-new", "servers/bee/mcpgen.lock"),
        ("hand-edit", "servers/cat/src/pet_shop_mcp/_generated/tools/pets.py"),
    ]


def test_a_bug_fails_only_its_own_server(
    ws: Ws, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = tasks.check

    def fails_for_bee(target: Path) -> CheckReport:
        if target.name == "bee":
            raise ZeroDivisionError("never shown")
        return real(target)

    monkeypatch.setattr(tasks, "check", fails_for_bee)

    code, report = ws("check")
    assert (code, ended(report)) == (70, {"servers/ant": 0, "servers/bee": 70, "servers/cat": 0})
    assert rules(report) == [("bug", None)]

    assert run(["ws", "check"]) == 70
    shown = capsys.readouterr().out
    assert "servers/cat: current" in shown
    details = Path(shown.partition("the details are in ")[2].splitlines()[0])
    assert "ZeroDivisionError: never shown" in details.read_text()
    details.unlink()


def test_a_rejected_document_stops_only_its_own_server(ws: Ws, workspace: Path) -> None:
    (workspace / "servers/ant/openapi.yaml").write_text("openapi: [")
    append(workspace / "servers/cat/openapi.yaml")

    code, report = ws("generate", "--jobs", "2")

    assert (code, ended(report)) == (3, {"servers/ant": 3, "servers/bee": 0, "servers/cat": 0})
    assert report["servers"][1]["written"] == []
    assert "mcpgen.lock" in report["servers"][2]["written"]
    files = [
        file for rule, file in rules(report) if rule != "external-validator"
    ]  # busy, it gives up
    assert all(file.startswith("servers/ant/") for file in files if file)


def test_a_dry_run_writes_nothing(ws: Ws, workspace: Path) -> None:
    document = workspace / "servers/cat/openapi.yaml"
    document.write_text(document.read_text().replace("Pet Shop API", "Cat Shop API"))

    code, report = ws("generate", "cat", "--dry-run")
    assert code == 0
    assert "README.md" in report["servers"][0]["written"]
    assert ended(ws("check")[1])["servers/cat"] == 1

    code, report = ws("generate", "cat")
    assert (code, report["root_files"]) == (0, {"README.md": "written"})
    assert "| servers/cat | Cat Shop API |" in (workspace / "README.md").read_text()
    assert ws("check")[0] == 0


AFFECTING = [
    "openapi.yaml",
    "mcpgen.yaml",
    ".copier-answers.yml",
    "src/pet_shop_mcp/handlers/__init__.py",
    "src/pet_shop_mcp/_generated/contract.json",
    "tests/generated/cases.json",
    "README.md",
    "new_file.py",
]


def test_affected_skips_servers_that_were_clean(ws: Ws) -> None:
    assert ended(ws("check", "--affected")[1])

    code, report = ws("check", "--affected")
    assert (code, report["servers"], report["unaffected"]) == (0, [], 3)
    assert ws("list", "--affected")[1]["servers"] == []


@pytest.mark.parametrize("path", AFFECTING)
def test_a_changed_file_affects_its_server(ws: Ws, workspace: Path, path: str) -> None:
    ws("check", "--affected")
    file = workspace / "servers" / "bee" / path
    before = file.read_bytes() if file.exists() else None
    file.write_bytes((before or b"") + b"\n")

    assert [*ended(ws("check", "--affected")[1])] == ["servers/bee"]

    if before is None:
        file.unlink()
    else:
        file.write_bytes(before)
    assert ended(ws("check", "--affected")[1]) == {}


def test_a_changed_file_outside_the_server_affects_it_if_the_lock_lists_it(
    ws: Ws, workspace: Path
) -> None:
    shared = workspace / "shared.yaml"
    shared.write_text("one")
    lock = workspace / "servers/bee/mcpgen.lock"
    parsed = json.loads(lock.read_text())
    digest = "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"  # of "one"
    parsed["documents"]["openapi.yaml"]["sha256"]["../../shared.yaml"] = digest
    lock.write_text(json.dumps(parsed))
    assert ws("check", "--affected")[0] == 0
    assert ended(ws("check", "--affected")[1]) == {}

    shared.write_text("two")
    code, report = ws("check", "--affected")
    assert (code, ended(report)) == (1, {"servers/bee": 1})


@pytest.mark.parametrize("inputs", [["../"], {"document": "../"}, {"overlays": {"../x": 1}}])
def test_invalid_inputs_in_a_lock_are_ignored(ws: Ws, workspace: Path, inputs: object) -> None:
    lock = workspace / "servers/bee/mcpgen.lock"
    lock.write_text(json.dumps(json.loads(lock.read_text()) | {"inputs": inputs}))
    code, report = ws("check", "--affected")
    assert (code, ended(report)["servers/bee"]) == (1, 1)


@pytest.mark.parametrize("path", ["build/x", ".mcpgen/evidence/x", ".venv/x", "src/__pycache__/x"])
def test_files_left_by_tools_affect_no_server(ws: Ws, workspace: Path, path: str) -> None:
    ws("check", "--affected")
    file = workspace / "servers" / "bee" / path
    file.parent.mkdir(parents=True)
    file.write_text("left")
    assert ended(ws("check", "--affected")[1]) == {}


def test_a_server_with_problems_stays_affected(ws: Ws, workspace: Path) -> None:
    append(workspace / "servers/ant/openapi.yaml")
    for _ in range(2):
        code, report = ws("check", "--affected")
        assert (code, ended(report)["servers/ant"]) == (1, 1)


def test_another_mcpgen_version_affects_every_server(
    ws: Ws, request: pytest.FixtureRequest
) -> None:
    ws("check", "--affected")
    request.getfixturevalue("other_code")
    assert len(ended(ws("check", "--affected")[1])) == 3


def test_a_changed_workspace_setting_affects_every_server(ws: Ws, workspace: Path) -> None:
    ws("check", "--affected")
    file = workspace / "mcpgen-workspace.yaml"
    file.write_text(file.read_text().replace('"0.6.*"', '">=0.5"'))
    assert len(ended(ws("check", "--affected")[1])) == 3


def test_generate_affected_runs_only_changed_servers(ws: Ws, workspace: Path) -> None:
    ws("generate", "--affected", "--jobs", "1")
    append(workspace / "servers/cat/openapi.yaml")
    assert [*ended(ws("generate", "--affected", "--jobs", "1")[1])] == ["servers/cat"]
    assert ended(ws("generate", "--affected", "--jobs", "1")[1]) == {}


def test_a_lock_outside_the_pin_fails_the_check(ws: Ws, workspace: Path) -> None:
    lock = workspace / "servers/ant/mcpgen.lock"
    lock.write_text(lock.read_text().replace('"mcpgen": "0.6.0"', '"mcpgen": "0.3.9"'))
    code, report = ws("check")
    assert (code, ended(report)["servers/ant"]) == (1, 1)
    assert ("outside-pin", "servers/ant/mcpgen.lock") in rules(report)


def test_a_server_that_requires_another_runtime_fails_the_check(ws: Ws, workspace: Path) -> None:
    file = workspace / "servers/bee/pyproject.toml"
    file.write_text(file.read_text().replace("mcpgen>=0.6,<0.7", "mcpgen>=0.3,<0.7"))
    code, report = ws("check")
    assert (code, rules(report)) == (1, [("runtime-pin", "servers/bee/pyproject.toml")])


@pytest.mark.parametrize("command", ["check", "generate", "upgrade"])
def test_an_mcpgen_version_outside_the_pin_is_rejected(
    ws: Ws, workspace: Path, command: str
) -> None:
    file = workspace / "mcpgen-workspace.yaml"
    file.write_text(file.read_text().replace('"0.6.*"', '"0.9.*"'))
    code, report = ws(command)
    assert (code, rules(report)) == (2, [("outside-pin", "mcpgen-workspace.yaml")])
    assert (report["findings"][0]["line"], report["findings"][0]["column"]) == (2, 9)


def test_upgrade_changes_only_the_pin(ws: Ws, workspace: Path) -> None:
    file = workspace / "mcpgen-workspace.yaml"
    before = file.read_text().replace('"0.6.*"', "0.3.*  # as released")
    file.write_text(before)
    lock = workspace / "servers/cat/mcpgen.lock"
    current = lock.read_text()
    lock.write_text(current.replace('"mcpgen": "0.6.0"', '"mcpgen": "0.3.9"'))

    code, report = ws("upgrade", "--to", ">=0.6,<0.7")

    assert code == 0
    assert file.read_text() == before.replace("0.3.*", '">=0.6,<0.7"')
    written = {each["server"]: each["written"] for each in report["servers"]}
    assert written == {"servers/ant": [], "servers/bee": [], "servers/cat": ["mcpgen.lock"]}
    assert lock.read_text() == current


@pytest.mark.parametrize("to", ["0.9.*", "soon"])
def test_upgrade_to_an_invalid_version_changes_nothing(ws: Ws, workspace: Path, to: str) -> None:
    before = (workspace / "mcpgen-workspace.yaml").read_text()
    assert ws("upgrade", "--to", to)[0] == 2
    assert (workspace / "mcpgen-workspace.yaml").read_text() == before


def test_each_document_is_pulled_from_its_origin(ws: Ws, workspace: Path) -> None:
    source = workspace / "new.yaml"
    document = workspace / "servers/bee/openapi.yaml"
    source.write_text(document.read_text().replace("Fetch one pet", "Fetch a pet"))
    lock = workspace / "servers/bee/mcpgen.lock"
    lock.write_text(lock.read_text().replace('"petshop.yaml"', '"../new.yaml"'))
    before = document.read_text()

    code, report = ws("pull", "--dry-run", "--jobs", "1")
    assert (code, ended(report)["servers/bee"]) == (1, 0)
    assert document.read_text() == before

    code, report = ws("pull", "bee", "--jobs", "1")
    assert (code, report["servers"][0]["level"]) == (0, "patch")
    assert document.read_text() == source.read_text()


def test_a_problem_of_a_fetched_document_names_the_document(ws: Ws, workspace: Path) -> None:
    source = workspace / "new.yaml"
    document = (workspace / "servers/bee/openapi.yaml").read_text()
    source.write_text(document.replace("in: path, required: true", "in: path"))
    lock = workspace / "servers/bee/mcpgen.lock"
    lock.write_text(lock.read_text().replace('"petshop.yaml"', '"../new.yaml"'))

    _, report = ws("pull", "bee", "--jobs", "1")

    assert {file for rule, file in rules(report) if rule != "external-validator"} == {"new.yaml"}


def test_changelog_reports_a_level_for_each_server(ws: Ws, workspace: Path) -> None:
    ws("check", "--affected")
    document = workspace / "servers/bee/openapi.yaml"
    document.write_text(document.read_text().replace("/pets/{petId}", "/animals/{petId}"))

    code, report = ws("changelog", "--fail-on", "major", "--jobs", "1")
    assert (code, ended(report)) == (1, {"servers/ant": 0, "servers/bee": 1, "servers/cat": 0})
    levels = {each["server"]: each["level"] for each in report["servers"]}
    assert levels == {"servers/ant": "none", "servers/bee": "major", "servers/cat": "none"}

    for _ in range(2):  # reported again: only a check makes it current
        code, report = ws("changelog", "bee", "cat", "--affected", "--jobs", "1")
        assert (code, ended(report), report["unaffected"]) == (0, {"servers/bee": 0}, 1)


def test_test_runs_the_tests_of_each_server(ws: Ws, workspace: Path) -> None:
    for name, claim in (("ant", "True"), ("bee", "False"), ("cat", "True")):
        folder = workspace / "servers" / name / "tests"
        for path in folder.rglob("test_*.py"):
            path.unlink()
        (folder / "test_claim.py").write_text(
            f"import pet_shop_mcp\ndef test_claim() -> None:\n    assert {claim}\n"
        )

    code, report = ws("test", "--jobs", "2")

    assert (code, ended(report)) == (1, {"servers/ant": 0, "servers/bee": 1, "servers/cat": 0})
    assert [each["summary"].split(" in ")[0] for each in report["servers"]] == [
        "1 passed", "0 passed, 1 failed", "1 passed",
    ]  # fmt: skip
    assert rules(report) == [("tests-failed", None)]


@pytest.mark.parametrize("command", ["check", "generate"])
def test_an_unreadable_server_is_affected_and_does_not_stop_others(
    ws: Ws, workspace: Path, command: str
) -> None:
    (workspace / "servers/bee/README.md").unlink()
    (workspace / "servers/bee/README.md").symlink_to("README.md")  # to itself
    for others in ({"servers/ant": 0, "servers/cat": 0}, {}):
        code, report = ws(command, "--affected", "--jobs", "1")
        assert (code, ended(report)) == (2, {**others, "servers/bee": 2})
