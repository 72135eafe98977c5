"""Tests of the GitHub workflow of generated projects: valid, pinned, and its commands work."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import venv
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from mcpgen.cli.app import run as mcpgen
from tests.support.paths import REPOSITORY, SPECS
from tests.support.running_server import installed
from tests.support.wheel import WHEELHOUSE, mcpgen_wheel, shell_variables

WORKFLOW = Path(".github/workflows/mcpgen.yml")
PUBLISH = Path(".github/workflows/publish.yml")
WAIT_SECONDS = 600
UNMARKED_TOOL = '''
from mcpgen.runtime import Context, Features

features = Features()


@features.tool()
async def remove_shelf(ctx: Context, *, name: str) -> str:
    """Remove a shelf that nobody needs any more from the shop, with what stands on it."""
    return name
'''


def read_workflow(project: Path, path: Path = WORKFLOW) -> dict[str, Any]:
    """Read the workflow of a project; YAML 1.1 parses the key `on` as true."""
    workflow = yaml.safe_load((project / path).read_text())
    return {("on" if key is True else key): value for key, value in workflow.items()}


def check_schema(workflow: dict[str, Any]) -> None:
    folder = files("check_jsonschema.builtin_schemas.vendor")
    validator = jsonschema_rs.validator_for(
        json.loads((folder / "github-workflows.json").read_text())
    )
    assert [error.message for error in validator.iter_errors(workflow)] == []
    assert not validator.is_valid({**workflow, "job": {}})


def list_commands(project: Path, path: Path = WORKFLOW, job: str = "check") -> list[str]:
    steps = read_workflow(project, path)["jobs"][job]["steps"]
    return [step["run"] for step in steps if "run" in step]


def find_command(commands: list[str], start: str) -> str:
    (found,) = [command for command in commands if command.startswith(start)]
    return found


def make_project(folder: Path, *options: str) -> Path:
    project = folder / "shop-mcp"
    answers = ["--defaults", "--data", "github_workflow=yes", "-q"]
    assert mcpgen(["new", *options, str(project), *answers]) == 0
    return project


class Runner:
    """A GitHub runner after `actions/setup-python`: a Python with pip and nothing else."""

    def __init__(self, project: Path, folder: Path) -> None:
        self._project = project
        self.summary = folder / "summary.md"
        venv.create(folder / "python", symlinks=True, with_pip=True)
        wheelhouse = installed(WHEELHOUSE / "filled", "wheelhouse").parent
        self._variables = {
            **shell_variables(folder / "python" / "bin"),
            "CI": "true",
            "GITHUB_REF_NAME": "v0.1.0",
            "GITHUB_SHA": "0123456789abcdef0123456789abcdef01234567",
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_FIND_LINKS": f"{wheelhouse} {mcpgen_wheel().parent}",
            "PIP_NO_COMPILE": "0",  # it is on: most of what is installed is never imported
            "PIP_NO_INDEX": "1",
            "PIP_QUIET": "1",
        }

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command like a step without `shell`."""
        return subprocess.run(
            ["bash", "-e", "-c", command],
            cwd=self._project,
            env=self._variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=WAIT_SECONDS,
            check=False,
        )


@pytest.mark.parametrize("vendor", ["yes", "no"])
def test_the_workflow_is_valid_and_pinned(vendor: str, tmp_path: Path) -> None:
    project = make_project(tmp_path, "--empty", "shop", "--data", f"vendor_runtime={vendor}")

    workflow = read_workflow(project)
    check_schema(workflow)
    assert workflow["permissions"] == {"contents": "read"}
    for step in workflow["jobs"]["check"]["steps"]:
        if "uses" in step:
            assert re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"])
    commands = "\n".join(list_commands(project))
    pins = dict(re.findall(r"\b(mypy|pytest|ruff)==(\S+)", commands))
    ours = "".join(
        (REPOSITORY / "tests" / name).read_text()
        for name in ("constraints.txt", "requirements.txt")
    )
    assert pins.keys() == {"mypy", "pytest", "ruff"}
    for name, version in pins.items():
        assert re.search(rf"^{name}=={re.escape(version)}$", ours, re.MULTILINE), name


def test_every_step_of_a_new_server_passes_and_each_check_can_fail(tmp_path: Path) -> None:
    document = str(SPECS / "petstore.yaml")
    project = make_project(tmp_path, document, "--name", "shop", "--no-models")
    runner = Runner(project, tmp_path)
    commands = list_commands(project)

    for command in commands:
        done = runner.run(command)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"

    assert {path.name for path in (project / "reports").iterdir()} == {
        "lint.sarif",
        "tests.xml",
        "validate.sarif",
        "validate.xml",
    }
    assert "| 2026-07-28 | 100 | PASS |" in runner.summary.read_text()
    for check in ("tests", "lint", "validate"):
        evidence = json.loads((project / f".mcpgen/evidence/{check}.json").read_text())
        assert evidence["outcome"] == "passed"
    assert runner.run("mcpgen check").returncode == 0

    handlers = project / "src/shop_mcp/handlers"
    (handlers / "shelves.py").write_text(UNMARKED_TOOL)
    linted = runner.run(find_command(commands, "mcpgen lint"))
    assert (linted.returncode, "warning[annotations]" in linted.stderr) == (1, True)
    (handlers / "shelves.py").unlink()

    (project / "tests/test_own.py").write_text("def test_sum() -> None:\n    assert 1 + 1 == 3\n")
    tested = runner.run(find_command(commands, "mcpgen test"))
    assert (tested.returncode, "1 failed" in tested.stdout) == (1, True)
    (project / "tests/test_own.py").unlink()

    main = project / "src/shop_mcp/__main__.py"
    kept = main.read_text()
    main.write_text(f'{kept.partition("if __name__")[0]}\nprint("welcome", flush=True)\nmain()\n')
    validated = runner.run(find_command(commands, "mcpgen validate"))
    assert (validated.returncode, "stdout-only-messages" in validated.stdout) == (1, True)
    main.write_text(kept)

    listing = project / "src/shop_mcp/_generated/listing.json"
    listing.write_text(listing.read_text().replace("Fetch one pet", "Fetch a pet"))
    checked = runner.run(find_command(commands, "mcpgen check"))
    assert (checked.returncode, "error[hand-edit]" in checked.stderr) == (4, True)


def test_releases_are_published_on_request_alone(tmp_path: Path) -> None:
    project = make_project(tmp_path, "--empty", "shop")
    assert not (project / PUBLISH).exists()
    other = make_project(tmp_path / "other", "--empty", "shop", "--data", "publish_workflow=yes")
    workflow = read_workflow(other, PUBLISH)
    check_schema(workflow)
    assert workflow["on"] == {"release": {"types": ["published"]}}
    permissions = {name: job.get("permissions") for name, job in workflow["jobs"].items()}
    assert workflow["permissions"] == {"contents": "read"}
    assert permissions == {
        "build": None,
        "pypi": {"id-token": "write"},
        "github": {"attestations": "write", "contents": "write", "id-token": "write"},
    }
    assert "secrets." not in (other / PUBLISH).read_text()


def test_the_workflows_of_a_vendored_server_build_a_release_and_check_it(tmp_path: Path) -> None:
    vendored = ["--empty", "shop", "--data", "vendor_runtime=yes"]
    project = make_project(tmp_path, *vendored, "--data", "publish_workflow=yes")
    unpublished = make_project(tmp_path / "unpublished", *vendored)
    assert (unpublished / WORKFLOW).read_bytes() == (project / WORKFLOW).read_bytes()
    build, check = list_commands(project, PUBLISH, "build"), list_commands(project)
    # So the machine is the same for both, which takes one installation instead of two.
    assert build[:2] == check[:2]
    runner = Runner(project, tmp_path)

    for command in build:
        done = runner.run(command)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    assert [path.name for path in (project / "packages").iterdir()] == [
        "shop_mcp-0.1.0-py3-none-any.whl"
    ]
    assert (project / "bundles" / "shop-mcp-0.1.0.mcpb").is_file()
    (project / "bundles" / "shop-mcp-0.1.0.mcpb").rename(project / "shop-mcp-0.2.0.mcpb")
    assert runner.run(find_command(build, "ls ")).returncode != 0

    for left in ("packages", "bundles"):
        shutil.rmtree(project / left)
    (project / "shop-mcp-0.2.0.mcpb").unlink()
    for command in check:
        done = runner.run(command)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
