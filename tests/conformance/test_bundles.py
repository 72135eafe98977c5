"""Tests of bundles with third-party validators, and of starting them with uv as clients do.

What is replaced: `uv` is that of `.cache/peers`, which takes packages from the wheels that `make`
downloads instead of an index; and for `server.json` the wheel of the server is built here, since
nobody published it. Claude Desktop and Claude Code are replaced by their documented substitution
of variables. The image of Docker's catalogue is not built here (tests/installation/test_image.py
builds one): its list of tools is compared.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcpgen.cli.app import run
from mcpgen.emit.runtime_wheel import make_runtime_wheel
from mcpgen.factory.lint.connect import fetch_listing
from mcpgen.factory.packages import find_package
from mcpgen.factory.wire.targets import Target
from tests.support.examples import BY_HAND, NAMES
from tests.support.paths import CACHE, EXAMPLES
from tests.support.running_server import installed
from tests.support.wheel import UV, WHEELHOUSE

pytestmark = pytest.mark.slow

NODE = CACHE / "node" / "node_modules"
JUDGED = [*NAMES, *BY_HAND]
LONG_SKILLS = "cloud-mcp"
"""Its skills, of 527 tools, take up to 4,007 tokens; skillsaw warns above 3,000."""


def run_tool(*command: str, folder: Path, env: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **(env or {})},
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def bundle(project: Path, *options: str) -> Path:
    assert run(["bundle", str(project), "--quiet", *options]) == 0
    return project / "dist"


def unpack(dist: Path, folder: Path) -> Path:
    [path] = dist.glob("*.mcpb")
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture(scope="module", params=JUDGED)
def judged(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Generate the bundles of an example."""
    project = tmp_path_factory.mktemp("judged") / f"{request.param}-mcp"
    shutil.copytree(EXAMPLES / project.name, project)
    return bundle(project, "--public-url", f"https://{request.param}.bundles.dev/mcp")


def test_mcpb_accepts_the_manifest(judged: Path, tmp_path: Path) -> None:
    node = installed(NODE / ".bin" / "node", ".cache/node/installed")
    program = installed(NODE / "@anthropic-ai/mcpb/dist/cli/cli.js", ".cache/node/installed")
    folder = unpack(judged, tmp_path)
    shown = run_tool(str(node), str(program), "validate", "manifest.json", folder=folder)
    assert "Manifest schema validation passes" in shown
    info = run_tool(str(node), str(program), "info", str(*judged.glob("*.mcpb")), folder=folder)
    assert info


@pytest.mark.parametrize(
    ("kind", "repository"),
    [
        ("plugin", "agent-plugin"),
        ("claude-plugin", "single-plugin"),
        ("server-json", "mcp-registry"),
    ],
)
def test_skillsaw_has_no_findings(judged: Path, kind: str, repository: str) -> None:
    skillsaw = installed(CACHE / "peers/skillsaw-0.22.0/bin/skillsaw", "peers")
    folder = judged / kind
    if kind != "server-json":
        [folder] = folder.iterdir()
    if "plugin" in kind:
        assert len([*folder.glob("skills/*/SKILL.md")]) > 0
    found = json.loads(run_tool(str(skillsaw), "lint", "--format", "json", ".", folder=folder))
    findings = [(it["rule_id"], it["file_path"], it["message"]) for it in found["violations"]]
    if folder.name == LONG_SKILLS:
        findings = [it for it in findings if it[0] != "context-budget"]
    assert findings == []


@dataclass
class Uv:
    """uv, configured to install packages from local wheels instead of an index."""

    program: str
    environment: dict[str, str]

    def list_tools(self, command: list[str], env: Mapping[str, str]) -> list[str]:
        words = (self.program if command[0] == "uv" else command[0], *command[1:])
        return list_tools(Target(command=words, environment={**self.environment, **env}))


@dataclass
class Started:
    """An example with its bundles."""

    project: Path
    dist: Path
    tools: list[str]


def list_tools(target: Target) -> list[str]:
    return [str(tool["name"]) for tool in asyncio.run(fetch_listing(target)).tools]


@pytest.fixture(scope="module")
def uv(tmp_path_factory: pytest.TempPathFactory) -> Uv:
    program = installed(UV, "peers")
    installed(WHEELHOUSE, "wheelhouse")
    folder = tmp_path_factory.mktemp("uv")
    config = folder / "uv.toml"
    config.write_text(f'find-links = ["{WHEELHOUSE}"]\nno-index = true\n')
    environment = {
        "UV_CONFIG_FILE": str(config),
        "UV_OFFLINE": "1",
        "UV_CACHE_DIR": str(folder / "cache"),
        "UV_PYTHON_DOWNLOADS": "never",
    }
    return Uv(str(program), environment)


def copy_with_runtime(name: str, folder: Path) -> Path:
    """Copy an example, and add the wheel of mcpgen to it."""
    project = folder / f"{name}-mcp"
    shutil.copytree(EXAMPLES / project.name, project)
    wheel = make_runtime_wheel()
    (project / "vendor").mkdir()
    (project / wheel.path).write_bytes(wheel.content)
    return project


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Started:
    """Generate the bundles of an example that contains the wheel of mcpgen."""
    project = copy_with_runtime("petstore", tmp_path_factory.mktemp("started"))
    package = find_package(project)
    tools = list_tools(
        Target(command=package.command, environment={"PYTHONPATH": str(project / "src")})
    )
    assert len(tools) > 3
    return Started(project, bundle(project), tools)


def substitute(value: Any, variables: Mapping[str, str]) -> Any:
    """Replace `${NAME}` in a value; an unknown name is an error."""
    if isinstance(value, list):
        return [substitute(each, variables) for each in value]
    if isinstance(value, dict):
        return {key: substitute(each, variables) for key, each in value.items()}
    for name, text in variables.items():
        value = value.replace(f"${{{name}}}", text)
    assert "${" not in value
    return value


def defaults_of(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the values that a client substitutes for settings with their defaults."""
    return {
        f"user_config.{key}": str(it["default"]).lower()
        if isinstance(it["default"], bool)
        else str(it["default"])
        for key, it in config.items()
    }


def test_the_server_of_an_mcpb_starts_and_lists_the_same_tools(
    started: Started, uv: Uv, tmp_path: Path
) -> None:
    root = unpack(started.dist, tmp_path / "with a space")
    manifest = json.loads((root / "manifest.json").read_bytes())
    variables = {"__dirname": str(root), **defaults_of(manifest["user_config"])}
    server = substitute(manifest["server"]["mcp_config"], variables)
    found = uv.list_tools([server["command"], *server["args"]], server["env"])
    assert found == started.tools == [tool["name"] for tool in manifest["tools"]]
    assert (root / manifest["server"]["entry_point"]).is_file()


@pytest.mark.parametrize("name", [*NAMES, *BY_HAND])
def test_each_example_starts_from_its_mcpb(name: str, uv: Uv, tmp_path: Path) -> None:
    """The settings contain the credentials and the address of each API."""
    project = copy_with_runtime(name, tmp_path)
    root = unpack(bundle(project), tmp_path / "unpacked")
    manifest = json.loads((root / "manifest.json").read_bytes())
    config = manifest["server"]["mcp_config"]
    args = substitute(config["args"], {"__dirname": str(root)})
    package = find_package(project)
    filled_in = package.mock_environment("http://127.0.0.1:9")
    env = {name: filled_in[name] for name in config["env"] if name in filled_in}

    found = uv.list_tools([config["command"], *args], env)

    source = {**filled_in, "PYTHONPATH": str(project / "src")}
    assert found == list_tools(Target(command=package.command, environment=source))
    described = [tool["name"] for tool in manifest.get("tools", ())]
    if manifest["tools_generated"]:  # some are written by hand, or found by search
        assert {*described} <= {*found}
    else:
        assert described == found


def test_the_server_of_an_agent_plugin_starts_and_lists_the_same_tools(
    started: Started, uv: Uv, tmp_path: Path
) -> None:
    root = started.dist / "plugin" / "petstore-mcp"
    data = tmp_path / "data"
    variables = {"PLUGIN_ROOT": str(root), "PLUGIN_DATA": str(data)}
    server = json.loads((root / "mcp.json").read_bytes())["mcpServers"]["petstore"]
    server |= {key: substitute(server[key], variables) for key in ("args", "env")}
    found = uv.list_tools([server["command"], *server["args"]], server["env"])
    assert found == started.tools
    assert (data / "venv").is_dir()
    assert not (root / ".venv").exists()


def test_the_server_of_a_claude_code_plugin_starts_and_lists_the_same_tools(
    started: Started, uv: Uv, tmp_path: Path
) -> None:
    root = started.dist / "claude-plugin" / "petstore-mcp"
    manifest = json.loads((root / ".claude-plugin" / "plugin.json").read_bytes())
    variables = {
        "CLAUDE_PLUGIN_ROOT": str(root),
        "CLAUDE_PLUGIN_DATA": str(tmp_path),
        **defaults_of(manifest["userConfig"]),
    }
    server = json.loads((root / ".mcp.json").read_bytes())["mcpServers"]["petstore"]
    server = substitute(server, variables)
    found = uv.list_tools([server["command"], *server["args"]], server["env"])
    assert found == started.tools


def test_the_package_of_the_registry_entry_starts_and_lists_the_same_tools(
    started: Started, uv: Uv, tmp_path: Path
) -> None:
    entry = json.loads((started.dist / "server-json" / "server.json").read_bytes())
    [package] = entry["packages"]
    assert package["runtimeHint"] == "uvx"
    build = [uv.program, "build", "--wheel", "--out-dir", str(tmp_path)]
    run_tool(*build, folder=started.project, env=uv.environment)
    wheels = [f"--find-links={tmp_path}", f"--find-links={started.project / 'vendor'}"]
    pin = f"{package['identifier']}@{package['version']}"
    assert uv.list_tools(["uv", "tool", "run", *wheels, pin], {}) == started.tools


def test_the_catalogue_of_docker_has_the_same_tools(started: Started) -> None:
    catalogue = started.dist / "docker" / "petstore-mcp" / "tools.json"
    assert [tool["name"] for tool in json.loads(catalogue.read_bytes())] == started.tools
