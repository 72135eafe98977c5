"""Tests of workspace errors: one message with a location, and no further action."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from mcpgen.cli.app import run
from tests.unit.factory.workspace.conftest import SETTINGS


def refused(
    capsys: pytest.CaptureFixture[str], *words: str, command: str = "check"
) -> tuple[int, dict[str, Any]]:
    """Run a command that must fail; return its exit code and its only finding."""
    code = run(["ws", command, *words, "--json"])
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    return code, finding


@pytest.mark.parametrize("command", ["list", "check", "generate", "test", "upgrade"])
def test_a_command_outside_a_workspace_is_an_error(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    code, finding = refused(capsys, command=command)
    assert (code, finding["rule"]) == (2, "no-workspace")
    assert str(tmp_path) in finding["message"]


def test_an_unknown_server_is_answered_with_a_suggestion(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, finding = refused(capsys, "servers/cad")
    assert (code, finding["rule"]) == (2, "unknown-server")
    assert finding["help"] == "did you mean `cat`?"


def test_an_excluded_server_is_reported_with_its_reason(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (workspace / "servers/cat/mcpgen.yaml").open("a") as manifest:
        manifest.write("workspace: {member: false, reason: on leave}\n")
    code, finding = refused(capsys, "cat")
    assert (code, finding["why"]) == (2, "servers/cat is not a member: on leave")


def test_an_ambiguous_server_name_is_rejected(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (workspace / "more").mkdir()
    (workspace / "servers/bee").rename(workspace / "more/cat")
    file = workspace / "mcpgen-workspace.yaml"
    file.write_text(SETTINGS.replace('["servers/*"]', '["servers/*", "more/*"]'))
    code, finding = refused(capsys, "cat")
    assert (code, finding["help"]) == (2, "use a path: more/cat, servers/cat")


@pytest.mark.parametrize(
    ("old", "new", "place", "message", "help"),
    [
        ("version: 1", "version: 2", (1, 10), "expected `1`, found `2`", ""),
        ('"0.6.*"', '"soon"', (2, 9), "invalid range of versions `soon`", '"0.6.*"'),
        ('mcpgen: "0.6.*"', "", (1, 1), "missing key `mcpgen`", "add `mcpgen`"),
        (
            "mcpgen>=0.6,<0.7",
            "mcpgem>=0.5",
            (3, 10),
            "invalid requirement of mcpgen `mcpgem>=0.5`",
            "mcpgen>=",
        ),
        ("runtime:", "runtimes:", (3, 11), "unknown key `runtimes`", "did you mean `runtime`?"),
        ("servers/*", "clients/*", (4, 11), "`clients/*` matches no folder", "servers/*"),
        ("servers/*", "../servers/*", (4, 11), "`../servers/*` is outside", "relative"),
        ("servers/c*", "servers/d*", (6, 10), "`servers/d*` matches no server", "servers/*"),
        ("@shop/platform", "platform", (5, 19), "invalid owner `platform`", "@org/team"),
        ("file: README.md", "file: /README.md", (7, 19), "`/README.md` is outside", "relative"),
        ("api, tools", "apis, tools", (7, 48), 'found `"apis"`', ""),
    ],
)
def test_an_invalid_workspace_file_is_reported_with_its_location(
    workspace: Path,
    capsys: pytest.CaptureFixture[str],
    old: str,
    new: str,
    place: tuple[int, int],
    message: str,
    help: str,
) -> None:
    assert old in SETTINGS
    (workspace / "mcpgen-workspace.yaml").write_text(SETTINGS.replace(old, new))
    code, finding = refused(capsys)
    assert (code, finding["rule"], finding["file"]) == (3, "workspace", "mcpgen-workspace.yaml")
    assert message in finding["message"]
    assert help in finding["help"]
    assert (finding["line"], finding["column"]) == place


def test_a_new_server_uses_the_defaults_of_its_workspace(workspace: Path) -> None:
    file = workspace / "mcpgen-workspace.yaml"
    defaults = 'defaults: {namespace: org.shop, pre_commit: "yes", '
    file.write_text(SETTINGS.replace("defaults: {", defaults))

    words = ["--defaults", "--data", "namespace=org.dogs"]
    assert run(["new", "--empty", "dog", "servers/dog", *words]) == 0

    answers = (workspace / "servers/dog/.copier-answers.yml").read_text()
    assert 'namespace: "org.dogs"\n' in answers
    assert 'pre_commit: "yes"\n' in answers
    assert (workspace / "servers/dog/.pre-commit-config.yaml").is_file()


def test_a_new_server_is_not_created_in_an_invalid_workspace(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (workspace / "mcpgen-workspace.yaml").write_text("version: 2\n")
    assert run(["new", "--empty", "dog", "servers/dog"]) == 3
    assert "mcpgen-workspace.yaml:1:10" in capsys.readouterr().err
    assert not (workspace / "servers/dog").exists()


def test_a_nested_workspace_is_rejected(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    inner = workspace / "servers" / "cat"
    (inner / "mcpgen-workspace.yaml").write_text(SETTINGS)

    code, finding = refused(capsys)
    assert (code, finding["rule"]) == (3, "nested-workspace")
    assert finding["file"] == "servers/cat/mcpgen-workspace.yaml"

    monkeypatch.chdir(inner)
    code, finding = refused(capsys)
    assert (code, finding["rule"]) == (3, "nested-workspace")
    assert str(workspace) in finding["message"]


def test_a_linked_server_is_a_member_only_once(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Otherwise two runs would work in one folder."""
    (workspace / "servers/aaa").symlink_to("bee")
    (workspace / "servers/zoo").symlink_to(shutil.copytree("servers/ant", workspace.parent / "zoo"))

    assert run(["ws", "list", "--json"]) == 0

    report = json.loads(capsys.readouterr().out)
    names = [f"servers/{name}" for name in ("ant", "bee", "cat")]
    assert [each["server"] for each in report["servers"]] == names
    aaa, zoo = report["left_out"]
    assert aaa == {"server": "servers/aaa", "reason": "it is a link to servers/bee"}
    assert (zoo["server"], "outside the workspace" in zoo["reason"]) == ("servers/zoo", True)
