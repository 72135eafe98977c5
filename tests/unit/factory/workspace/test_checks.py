"""Tests of `ws lint`, `ws validate` and `ws bundle`: results and evidence of each server."""

from __future__ import annotations

import errno
import json
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from mcpgen.cli.app import run
from mcpgen.factory.workspace import checks
from tests.support.workspaces import Ws, ended, rules

pytestmark = pytest.mark.slow

LISTING = "src/pet_shop_mcp/_generated/listing.json"


def evidence(workspace: Path, server: str, check: str) -> dict[str, Any]:
    file = workspace / "servers" / server / ".mcpgen/evidence" / f"{check}.json"
    found: dict[str, Any] = json.loads(file.read_text())
    return {name: value for name, value in found.items() if name not in ("time", "earlier")}


def spoil_tool(workspace: Path, server: str) -> None:
    """Rename a tool to a name that clients reject."""
    file = workspace / "servers" / server / LISTING
    file.write_text(file.read_text().replace('"get_pet"', '"get pet!"'))


def prevent_start(workspace: Path, server: str) -> None:
    handlers = workspace / "servers" / server / "src/pet_shop_mcp/handlers"
    (handlers / "mine.py").write_text("# Features\nraise OSError\n")


def test_lint_reports_each_server_and_records_evidence(ws: Ws, workspace: Path) -> None:
    spoil_tool(workspace, "bee")

    code, report = ws("lint", "--jobs", "2")

    assert (code, ended(report)) == (1, {"servers/ant": 0, "servers/bee": 1, "servers/cat": 0})
    assert ("tool-name", f"servers/bee/{LISTING}") in rules(report)
    assert all(str(file).startswith("servers/") for _, file in rules(report))
    assert evidence(workspace, "ant", "lint")["outcome"] == "passed"
    assert evidence(workspace, "bee", "lint")["outcome"] == "failed"
    assert report["servers"][1]["counts"] == evidence(workspace, "bee", "lint")["counts"]


def test_lint_agrees_with_the_command_for_one_server(
    ws: Ws, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil_tool(workspace, "bee")
    options = ("--targets", "claude-code", "--tokens-budget", "5")
    _, fleet = ws("lint", "bee", *options)
    recorded = evidence(workspace, "bee", "lint")

    assert run(["lint", str(workspace / "servers/bee"), *options, "--json"]) == 1
    capsys.readouterr()

    assert evidence(workspace, "bee", "lint") == recorded
    assert {rule for rule, _ in rules(fleet)} == set(recorded["rules"])
    assert (recorded["clients"], recorded["budget"]) == (["claude-code"], 5)


def test_lint_rejects_an_unknown_client_before_it_begins(ws: Ws, workspace: Path) -> None:
    code, report = ws("lint", "--targets", "claude-cod")
    assert (code, rules(report)) == (2, [("usage", None)])
    assert not (workspace / "servers/ant/.mcpgen/evidence").exists()


def test_lint_starts_the_servers_if_asked(ws: Ws, workspace: Path) -> None:
    prevent_start(workspace, "bee")
    code, report = ws("lint", "ant", "bee", "--start")
    assert (code, ended(report)) == (1, {"servers/ant": 0, "servers/bee": 1})
    assert ("unreachable", "servers/bee") in rules(report)


def test_notes_are_listed_with_verbose(ws: Ws, capsys: pytest.CaptureFixture[str]) -> None:
    _, report = ws("lint", "ant")
    assert {finding["severity"] for finding in report["findings"]} == {"note"}

    assert run(["ws", "lint", "ant"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.endswith("1 server, none failed\n--verbose lists the notes\n")

    assert run(["ws", "lint", "ant", "--verbose"]) == 0
    assert "note[" in capsys.readouterr().err


def test_affected_skips_servers_with_current_evidence(ws: Ws, workspace: Path) -> None:
    assert len(ended(ws("lint", "--affected")[1])) == 3
    assert ended(ws("lint", "--affected")[1]) == {}

    (workspace / "servers/ant/.mcpgen/evidence/lint.json").unlink()
    (workspace / "servers/bee/README.md").write_text("# Other\n")
    pins = workspace / "servers/cat/.mcpgen/evidence/pins.json"
    pins.write_text('{"version": 1, "servers": {"pet-shop": {"tools": {}}}}')

    code, report = ws("lint", "--affected")
    assert (code, ended(report)) == (1, {"servers/ant": 0, "servers/bee": 0, "servers/cat": 1})
    assert ended(ws("lint", "--affected")[1]) == {"servers/cat": 1}


WAIVERS = """\
version: 1
waivers:
- {rule: tool-name, reason: the client copes, owner: "@shop/bees", expires: %s}
"""


def test_lint_applies_the_waivers_of_each_server(ws: Ws, workspace: Path) -> None:
    for name, waivers in (("ant", WAIVERS % "2999-01-01"), ("bee", WAIVERS % "2001-01-01")):
        spoil_tool(workspace, name)
        (workspace / "servers" / name / "waivers.yaml").write_text(waivers)
    (workspace / "servers/cat/waivers.yaml").write_text("waivers: 1\n")
    code, report = ws("lint")
    assert (code, ended(report)) == (3, {"servers/ant": 0, "servers/bee": 1, "servers/cat": 3})
    assert ("tool-name", f"servers/ant/{LISTING}") in rules(report)
    assert ("waiver-expired", "servers/bee/waivers.yaml") in rules(report)


def test_validate_reports_scores_and_records_evidence(ws: Ws, workspace: Path) -> None:
    prevent_start(workspace, "bee")

    code, report = ws("validate", "ant", "bee", "--min-score", "90", "--jobs", "2")

    assert (code, ended(report)) == (1, {"servers/ant": 0, "servers/bee": 1})
    assert rules(report)[-1] == ("unreachable", "servers/bee")
    ant, bee = report["servers"]
    assert ant["revisions"]["2025-11-25"]["score"] == 100
    assert evidence(workspace, "ant", "validate")["result"] == ant["summary"]
    assert (evidence(workspace, "bee", "validate")["outcome"], bee["revisions"]) == (
        "unreachable",
        {},
    )
    assert [row["score"] for row in ws("list", "ant")[1]["servers"]] == [ant["summary"]]


def test_bundle_writes_the_bundles_of_each_server(ws: Ws, workspace: Path) -> None:
    (workspace / "servers/bee/server.json").write_text("{")

    code, report = ws("bundle", "--format", "mcpb", "--jobs", "2")

    assert (code, ended(report)) == (3, {"servers/ant": 0, "servers/bee": 3, "servers/cat": 0})
    assert ("bundle-metadata", "servers/bee/server.json") in rules(report)
    assert not (workspace / "servers/bee/dist").exists()
    (described,) = report["servers"][0]["bundles"]
    assert [it.name for it in (workspace / "servers/ant/dist").iterdir()] == [described["path"]]


def test_bundle_writes_below_another_folder_by_the_paths_of_servers(
    ws: Ws, workspace: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert ws("bundle", "--out", str(out), "--format", "server-json", "--dry-run")[0] == 0
    assert not out.exists()
    assert ws("bundle", "--out", str(out), "--format", "server-json")[0] == 0
    written = {it.relative_to(out).as_posix() for it in out.rglob("server.json")}
    assert written == {f"servers/{name}/server-json/server.json" for name in ("ant", "bee", "cat")}
    shutil.rmtree(out / "servers/cat")
    (out / "servers/cat").write_text("a file")
    code, report = ws("bundle", "--out", str(out), "--format", "server-json")
    assert (code, ended(report)["servers/cat"]) == (2, 2)


@pytest.mark.parametrize("command", ["lint", "validate", "bundle", "test"])
def test_a_server_without_a_generated_package_is_reported(
    ws: Ws, workspace: Path, command: str
) -> None:
    (workspace / "servers/ant/src/pet_shop_mcp/_generated/contract.json").unlink()
    code, report = ws(command, "ant")
    assert (code, ended(report)) == (2, {"servers/ant": 2})
    assert rules(report) == [("usage", "servers/ant")]


def test_a_full_disk_stops_one_server_and_is_no_bug(
    ws: Ws, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = checks.lint_package

    def fill_the_disk(*given: Any, **named: Any) -> object:
        if given[0].directory.name == "bee":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "somewhere")
        return real(*given, **named)

    monkeypatch.setattr(checks, "lint_package", fill_the_disk)
    code, report = ws("lint", "--jobs", "1")
    assert (code, ended(report)) == (1, {"servers/ant": 0, "servers/bee": 1, "servers/cat": 0})
    assert ("no-space", "somewhere") in rules(report)


def test_lint_of_affected_servers_sees_a_waiver_expire(
    ws: Ws, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = '{rule: tool-name, reason: R, owner: "@me", expires: 2026-11-24}'
    waivers = workspace / "servers" / "bee" / "waivers.yaml"
    waivers.write_text(f"version: 1\nwaivers: [{entry}]\n")
    spoil_tool(workspace, "bee")
    moment = datetime(2026, 11, 24, tzinfo=UTC)
    monkeypatch.setattr("mcpgen.factory.waivers.read_clock", lambda: moment)
    assert ws("lint", "--affected", "--jobs", "1")[0] == 0
    moment += timedelta(days=1)
    code, report = ws("lint", "--affected", "--jobs", "1")
    assert code == 1
    assert ended(report)["servers/bee"] == 1
