"""Tests of `mcpgen ws init`: it writes the first workspace file of a repository, and only that."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from mcpgen.cli.app import run


@pytest.fixture
def repository(workspace: Path, server: Path) -> Path:
    """Make servers in several folders without a workspace, and change to their root."""
    (workspace / "mcpgen-workspace.yaml").unlink()
    for path in ("at-the-root", "deep/in [it]/owl", "node_modules/not-ours", ".hidden/not-ours"):
        shutil.copytree(server, workspace / path)
    (workspace / "servers/ant/inner").mkdir()
    for name in ("mcpgen.yaml", "mcpgen.lock"):
        shutil.copy(server / name, workspace / "servers/ant/inner")
    (workspace / "notes").mkdir()
    (workspace / "notes/mcpgen.yaml").write_text("# of no server\n")
    return workspace


SERVERS = ["at-the-root", "deep/in [it]/owl", "servers/ant", "servers/bee", "servers/cat"]


def test_init_writes_patterns_for_the_existing_servers(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(repository / "notes")
    assert run(["ws", "init", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["servers"] == SERVERS
    file = (repository / "mcpgen-workspace.yaml").read_text()
    assert 'servers: ["*", "deep/in [[]it]/*", "servers/*"]\n' in file

    assert run(["ws", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["servers"]
    assert [each["server"] for each in listed] == SERVERS
    assert run(["ws", "check"]) == 0


def test_a_dry_run_shows_the_file_and_writes_nothing(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["ws", "init", "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("\n".join(SERVERS))
    assert '\nmcpgen: "0.6.*"\n' in shown
    assert not (repository / "mcpgen-workspace.yaml").exists()


@pytest.mark.parametrize("folder", [".", "servers"])
def test_init_rejects_an_existing_workspace(
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    folder: str,
) -> None:
    before = (workspace / "mcpgen-workspace.yaml").read_bytes()
    monkeypatch.chdir(workspace / folder)
    assert run(["ws", "init"]) == 2
    assert "error[workspace-exists]" in capsys.readouterr().err
    assert (workspace / "mcpgen-workspace.yaml").read_bytes() == before
    assert not (workspace / "servers/mcpgen-workspace.yaml").exists()


def test_init_without_servers_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["ws", "init"]) == 2
    assert "error[no-servers]" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
