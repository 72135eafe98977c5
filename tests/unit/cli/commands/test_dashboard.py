"""Tests of `mcpgen dashboard`: the file that it writes, and what it rejects."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from mcpgen.cli.app import run
from mcpgen.factory.dashboard.page import MARK
from tests.support.paths import EXAMPLES

WAIT_SECONDS = 60


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("petstore-mcp", "n8n-mcp"):
        shutil.copytree(EXAMPLES / name, tmp_path / "servers" / name)
    (tmp_path / "mcpgen-workspace.yaml").write_text(
        'version: 1\nmcpgen: ">=0.1"\nservers: ["servers/*-mcp"]\n'
        'owners: {"servers/n8n-mcp": "@ada"}\n'
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_in_a_workspace_it_shows_all_servers(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["dashboard"]) == 0
    assert capsys.readouterr().out == "mcpgen-dashboard.html written, with 2 servers\n"
    page = (work / "mcpgen-dashboard.html").read_text()
    assert MARK in page
    assert 'href="./servers/n8n-mcp/.mcpgen/evidence/lint.json"' in page
    assert "@ada" in page
    assert str(work) not in page


def test_in_the_folder_of_a_server_it_shows_that_one(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["dashboard", "servers/n8n-mcp", "--out", "reports.html"]) == 0
    page = (work / "reports.html").read_text()
    assert "servers/</span><wbr>n8n-mcp" in page
    assert "petstore-mcp" not in page
    assert 'href="./servers/n8n-mcp/.mcpgen/evidence/lint.json"' in page
    assert "with 1 server\n" in capsys.readouterr().out


def test_a_server_outside_of_a_workspace_links_to_its_own_files(work: Path) -> None:
    (work / "mcpgen-workspace.yaml").unlink()
    assert run(["dashboard", "servers/n8n-mcp"]) == 0
    page = (work / "servers/n8n-mcp/mcpgen-dashboard.html").read_text()
    assert 'href="./../n8n-mcp/.mcpgen/evidence/lint.json"' in page


def test_links_lead_from_the_file_to_the_evidence(work: Path) -> None:
    (work / "out/deep").mkdir(parents=True)
    assert run(["dashboard", "--out", "out/deep/index.html"]) == 0
    page = (work / "out/deep/index.html").read_text()
    assert 'href="./../../servers/n8n-mcp/.mcpgen/evidence/lint.json"' in page
    file = work / "out/deep/./../../servers/n8n-mcp/.mcpgen/evidence/lint.json"
    assert file.is_file()


def test_json_is_the_fleet_and_writes_no_file(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["dashboard", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["outcome"] == "done"
    assert [it["status"]["server"] for it in found["servers"]] == [
        "servers/n8n-mcp",
        "servers/petstore-mcp",
    ]
    assert found["servers"][1]["tools"][0]["name"] == "cancel_order"
    assert not (work / "mcpgen-dashboard.html").exists()


def test_a_dashboard_is_overwritten_and_no_other_file_is(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["dashboard"]) == 0
    assert run(["dashboard"]) == 0
    capsys.readouterr()
    (work / "mine.html").write_text("<!doctype html><p>mine")
    assert run(["dashboard", "--out", "mine.html"]) == 2
    assert "mine.html exists, and is no dashboard" in capsys.readouterr().err
    assert (work / "mine.html").read_text() == "<!doctype html><p>mine"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "there is no folder nowhere"),
        (["--out", "nowhere/x.html"], "cannot write nowhere/x.html"),
        (["--out", "servers"], "cannot write servers"),
        (["--serve", "--out", "x.html"], "--serve writes no file"),
    ],
)
def test_wrong_arguments_are_usage_errors(
    arguments: list[str], message: str, work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["dashboard", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_folder_without_servers_is_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["dashboard", str(tmp_path)]) == 2
    assert "mcpgen-workspace.yaml" in capsys.readouterr().err
    assert [*tmp_path.iterdir()] == []


def test_a_port_in_use_is_reported(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert run(["dashboard", "--serve", "--port", str(port)]) == 1
    assert f"cannot listen on 127.0.0.1:{port}" in capsys.readouterr().err


@pytest.mark.slow
def test_it_serves_until_it_is_interrupted(work: Path) -> None:
    command = [sys.executable, "-m", "mcpgen", "dashboard", "--serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().partition(" ")[0]
        with urlopen(f"{url}fleet.json", timeout=WAIT_SECONDS) as response:
            assert len(json.loads(response.read())["servers"]) == 2
        process.send_signal(signal.SIGINT)
        assert process.wait(WAIT_SECONDS) == 0
    assert not (work / "mcpgen-dashboard.html").exists()
