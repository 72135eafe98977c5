"""Tests of the MCP Inspector's requirements and configuration; tests/conformance runs it."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpgen.cli.app import run
from mcpgen.factory import process_groups
from mcpgen.factory.inspector import (
    PACKAGE,
    VERSION,
    InspectorError,
    configure,
    find_inspector,
    run_inspector,
)
from mcpgen.factory.packages import find_package
from mcpgen.factory.wire.targets import Target
from tests.support.paths import EXAMPLES, REPOSITORY
from tests.support.running_process import wait_for_end

SECRET = "s3cret-of-the-user"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make an empty folder that is the current one and the only one on PATH."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", str(folder))
    return folder


def write_program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def find_quietly() -> list[str]:
    return find_inspector(lambda _: None)


def test_the_tests_install_the_pinned_version() -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    assert re.findall(rf"{PACKAGE}@(\S+)", makefile) == [VERSION]


def test_a_missing_node_is_a_usage_error_with_alternatives(
    programs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["inspect", str(EXAMPLES / "petstore-mcp")]) == 2

    shown = capsys.readouterr().err
    assert "Node is not installed" in shown
    assert "install Node 22.19 or newer" in shown
    for alternative in ("mcpgen explore", "mcpgen tools", "mcpgen call"):
        assert alternative in shown


@pytest.mark.parametrize(
    ("version", "problem"),
    [
        ("v20.20.2", "is Node 20.20.2, expected 22.19 or newer"),
        ("v22.18.9", "is Node 22.18.9, expected 22.19 or newer"),
        ("nonsense", "of an unknown version"),
    ],
)
def test_an_old_node_is_reported_with_its_version(
    version: str, problem: str, programs: Path
) -> None:
    write_program(programs / "node", f"echo {version}")
    with pytest.raises(InspectorError, match=re.escape(problem)) as caught:
        find_quietly()
    assert "22.19" in caught.value.help


def test_a_missing_npx_is_reported(programs: Path) -> None:
    write_program(programs / "node", "echo v22.19.0")
    with pytest.raises(InspectorError, match="npx is not installed") as caught:
        find_quietly()
    assert f"npm install {PACKAGE}@{VERSION}" in caught.value.help


def test_npx_without_network_is_reported_with_the_reason(programs: Path) -> None:
    write_program(programs / "node", "echo v24.1.0")
    log = ["npm error code EAI_AGAIN", "npm error syscall getaddrinfo", "npm error errno EAI_AGAIN"]
    write_program(programs / "npx", "\n".join([*(f"echo '{it}' >&2" for it in log), "exit 1"]))
    with pytest.raises(InspectorError, match="code EAI_AGAIN, errno EAI_AGAIN") as caught:
        find_quietly()
    assert "registry" in caught.value.help


def install(folder: Path, version: str) -> Path:
    package = folder / "node_modules" / PACKAGE
    package.mkdir(parents=True)
    (package / "package.json").write_text(json.dumps({"version": version}))
    return package


def test_an_installed_inspector_is_used_without_npx(programs: Path) -> None:
    write_program(programs / "node", "echo v24.1.0")
    package = install(programs, VERSION)
    node, script = find_quietly()
    assert node == str(programs / "node")
    assert Path(script).is_relative_to(package)


def test_another_version_is_not_used_but_that_of_npx(programs: Path, tmp_path: Path) -> None:
    write_program(programs / "node", "echo v24.1.0")
    install(programs, "1.0.0")
    cached = install(tmp_path / "cache", VERSION)
    commands = cached.parents[1] / ".bin"
    write_program(programs / "npx", f'echo "$*" > asked; echo {commands}:$PATH')
    steps: list[str] = []

    _, script = find_inspector(steps.append)

    assert Path(script).is_relative_to(cached)
    assert "--yes --prefer-offline" in Path("asked").read_text()
    assert f"--package={PACKAGE}@{VERSION}" in Path("asked").read_text()
    assert steps == [f"npx installs {PACKAGE}@{VERSION}"]


async def read_configuration(target: Target, *, is_live: bool = False) -> tuple[Any, int]:
    """Return the only server in the configuration, and the file mode."""
    async with configure(target, is_live=is_live) as path:
        mode = stat.S_IMODE(path.stat().st_mode)
        (server,) = json.loads(path.read_text())["mcpServers"].values()
    assert not path.exists()
    return server, mode


def package_target() -> Target:
    package = find_package(EXAMPLES / "petstore-mcp")
    return Target(command=package.command, package=package)


def test_the_configuration_with_a_mock_contains_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PETSTORE_API_KEY", SECRET)
    server, mode = asyncio.run(read_configuration(package_target()))
    assert mode == 0o600
    assert server["command"] == sys.executable
    assert server["args"] == ["-m", "petstore_mcp"]
    assert server["env"]["PETSTORE_BASE_URL"].startswith("http://127.0.0.1:")
    assert server["env"]["PETSTORE_API_KEY"] == "mock-value"
    assert SECRET not in json.dumps(server)


def test_the_live_configuration_has_the_environment_of_the_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PETSTORE_API_KEY", SECRET)
    monkeypatch.delenv("PETSTORE_BASE_URL", raising=False)
    server, mode = asyncio.run(read_configuration(package_target(), is_live=True))
    assert mode == 0o600
    assert server["env"]["PETSTORE_API_KEY"] == SECRET
    assert "PETSTORE_BASE_URL" not in server["env"]


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("https://user:word@api.example/mcp", "streamable-http"),
        ("http://127.0.0.1:8000/sse", "sse"),
    ],
)
def test_the_configuration_of_a_url_has_its_headers(url: str, kind: str) -> None:
    target = Target(url=url, headers={"Authorization": f"Bearer {SECRET}"})
    server, mode = asyncio.run(read_configuration(target))
    assert (server["type"], server["url"], mode) == (kind, url, 0o600)
    assert server["headers"] == {"Authorization": f"Bearer {SECRET}"}


def run_program(tmp_path: Path, script: str, *arguments: str) -> int:
    program = tmp_path / "inspector"
    write_program(program, script)
    command = [str(program)]
    return asyncio.run(run_inspector(command, tmp_path / "c.json", arguments, is_web=False))


def test_the_exit_code_and_the_arguments_are_passed_through(tmp_path: Path) -> None:
    code = run_program(tmp_path, f'echo "$@" > {tmp_path}/seen; exit 7', "--method", "tools/list")
    assert code == 7
    seen = (tmp_path / "seen").read_text().split()
    assert seen == ["--cli", "--config", str(tmp_path / "c.json"), "--method", "tools/list"]


def test_the_end_by_a_signal_has_the_exit_code_of_a_shell(tmp_path: Path) -> None:
    assert run_program(tmp_path, "kill -KILL $$") == 128 + signal.SIGKILL


def test_what_the_inspector_left_running_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_groups, "_GROUP_SECONDS", 0.2)
    left = f"sh -c 'trap \"\" TERM; echo $$ > {tmp_path}/pid; while :; do sleep 1; done'"
    assert run_program(tmp_path, f"{left} & while [ ! -s {tmp_path}/pid ]; do :; done") == 0
    wait_for_end(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize("options", [["--json"], ["--json", "--web"]])
def test_json_needs_the_command_line_of_the_inspector(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["inspect", *options]) == 2
    assert "--json needs --cli" in json.loads(capsys.readouterr().out)["findings"][0]["message"]


def test_a_folder_without_a_server_is_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["inspect", str(tmp_path), "--cli", "--", "--method", "tools/list"]) == 2
    assert str(tmp_path) in capsys.readouterr().err
