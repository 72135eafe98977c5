"""Tests of `mcpgen status` and `mcpgen ws status`: output and exit codes."""

from __future__ import annotations

import io
import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from mcpgen.cli.app import run
from mcpgen.cli.output.report import Printer
from mcpgen.cli.output.status_table import show_server, show_servers
from mcpgen.factory.status.examine import examine_server
from mcpgen.factory.status.model import Proof, ServerStatus, Stage, StageName, State
from mcpgen.pipeline.project.evidence import write_evidence
from tests.support.paths import EXAMPLES

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
WORKSPACE = "version: 1\nmcpgen: '>=0.5'\nservers: ['servers/*']\ndefaults: {owner: '@shop'}\n"


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a workspace of petstore, and of bookshop with an edited manifest."""
    for name in ("petstore", "bookshop"):
        shutil.copytree(EXAMPLES / f"{name}-mcp", tmp_path / "servers" / name)
    manifest = tmp_path / "servers/bookshop/mcpgen.yaml"
    manifest.write_text(manifest.read_text() + "# changed\n")
    (tmp_path / "mcpgen-workspace.yaml").write_text(WORKSPACE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ask(capsys: pytest.CaptureFixture[str], *words: str, code: int) -> dict[str, Any]:
    capsys.readouterr()
    assert run([*words, "--json"]) == code
    captured = capsys.readouterr()
    assert captured.err == ""
    report: dict[str, Any] = json.loads(captured.out)
    return report


def test_a_server_is_shown_with_its_stages_and_needs(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = ask(capsys, "status", "servers/petstore", code=0)
    assert report["outcome"] == "done"
    server = report["server"]
    assert (server["server"], server["name"], server["tools"]) == ("petstore", "petstore-mcp", 14)
    assert server["reached"] == "conformant"
    assert [it["name"] for it in server["stages"]] == [name.value for name in StageName]
    assert datetime.fromisoformat(report["now"]).tzinfo is not None
    assert run(["status", "servers/petstore"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == f"petstore-mcp 0.1.0, Petstore, 14 tools, {server['tokens']:,} tokens"
    assert "generated: passed: 44 files, as generated" in printed
    assert "packaged: unknown: never built" in printed
    assert "  run `mcpgen bundle servers/petstore`" in printed


def test_stale_is_a_finding_and_unknown_only_with_strict(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["status", "servers/petstore", "--strict"]) == 1
    report = ask(capsys, "status", "servers/bookshop", code=1)
    assert report["outcome"] == "findings"
    stages = {it["name"]: it["proof"] for it in report["server"]["stages"]}
    assert stages["generated"]["changed"] == ["manifest"]
    assert stages["linted"]["state"] == "stale"


def test_commands_of_the_current_folder_name_no_folder(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(workspace / "servers/bookshop")
    server = ask(capsys, "status", code=1)["server"]
    assert server["server"] == "bookshop"
    assert server["needs"][0]["command"] == "mcpgen generate"


def test_a_folder_that_is_no_project_is_a_usage_error(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["status", "servers"]) == 2
    assert "servers is not an mcpgen project" in capsys.readouterr().err


def test_a_workspace_is_shown_with_a_line_for_each_server(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = ask(capsys, "ws", "status", code=1)
    assert [it["server"] for it in report["servers"]] == ["servers/bookshop", "servers/petstore"]
    assert report["servers"][0]["owners"] == ["@shop"]
    assert run(["ws", "status"]) == 1
    bookshop, petstore, total = capsys.readouterr().out.splitlines()
    assert bookshop.startswith(
        "servers/bookshop: stage declared; stale: generated, linted, tested, conformant; "
    )
    assert bookshop.endswith("next mcpgen generate servers/bookshop")
    assert petstore.startswith("servers/petstore: stage conformant; unknown: packaged, drift; ")
    assert total == "2 servers, 0 in order, 1 stale, 1 unknown"
    assert run(["ws", "status", "petstore"]) == 0
    assert run(["ws", "status", "petstore", "--strict"]) == 1


def test_shards_split_the_servers(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = []
    for index in (1, 2):
        capsys.readouterr()
        run(["ws", "status", "--shard", f"{index}/2", "--json"])
        found += [it["server"] for it in json.loads(capsys.readouterr().out)["servers"]]
    assert sorted(found) == ["servers/bookshop", "servers/petstore"]
    assert run(["ws", "status", "--shard", "3/2"]) == 2


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def show(*statuses: ServerStatus, is_terminal: bool = True) -> str:
    stream = Terminal() if is_terminal else io.StringIO()
    show_servers(Printer(stdout=stream), statuses, NOW)
    return stream.getvalue()


def make_status(**changes: Any) -> ServerStatus:
    passed = Proof(state=State.PASSED, summary="fine", time="2026-11-21T12:00:00Z")
    usual: dict[str, Any] = {
        "server": "servers/shop",
        "name": "shop-mcp",
        "stages": tuple(Stage(name, passed) for name in StageName),
        "reached": StageName.PUBLISHED,
        "drift": passed,
    }
    return ServerStatus(**{**usual, **changes})


def test_a_terminal_gets_aligned_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    drift = Proof(state=State.STALE, summary="changed, tools: major", changed=("source",))
    assert show(make_status(), make_status(server="a", drift=drift)) == (
        "server        stage      state         drift                  checked     next\n"
        "servers/shop  published  in order      none                   3 days ago  -\n"
        "a             published  stale: drift  changed, tools: major  3 days ago  -\n"
        "2 servers, 1 in order, 1 stale\n"
    )


def test_colours_are_for_terminals_that_have_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    assert "\x1b[32min order\x1b[0m" in show(make_status())
    assert "\x1b" not in show(make_status(), is_terminal=False)
    monkeypatch.setattr("sys.platform", "win32")
    assert "\x1b" not in show(make_status())


def test_text_of_evidence_cannot_control_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    hostile = Proof(state=State.FAILED, summary="\x1b]0;x\x07\n[31m", changed=("\x1b[2J",))
    status = make_status(
        name="\x1b[1m", stages=tuple(Stage(name, hostile) for name in StageName), drift=hostile
    )
    for stream in (Terminal(), io.StringIO()):
        show_server(Printer(stdout=stream), status, NOW)
        show_servers(Printer(stdout=stream), [status], NOW)
        text = stream.getvalue()
        assert "\x1b" not in text
        assert "\x07" not in text


def test_the_oldest_evidence_decides_the_age(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = workspace / "servers/petstore"
    for check, days in (("lint", 2), ("tests", 40), ("validate", 1)):
        found = {"outcome": "passed", "result": "fine"}
        write_evidence(target, check, found, now=NOW - timedelta(days=days))
    text = show(examine_server(target, "servers/petstore", (), NOW), is_terminal=False)
    assert "; checked 40 days ago; " in text
