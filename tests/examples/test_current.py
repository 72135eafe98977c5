"""Tests that generated_examples/ is what mcpgen generates now, and passes its own checks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mcpgen.diagnostics import Problems
from mcpgen.pipeline.build import plan_project
from mcpgen.pipeline.options import GenerateOptions
from mcpgen.pipeline.project.evidence import read_evidence
from mcpgen.pipeline.project.project_folder import find_lock, load_surface
from mcpgen.pipeline.project.read_inputs import read_inputs, read_intent
from mcpgen.render.contracts import list_tools, surface_of
from mcpgen.render.json_text import compact
from mcpgen.runtime.protocol.prepared_list import split_tools
from tests.support.examples import (
    BY_HAND,
    NAMES,
    bring_up_to_date,
    has_current_evidence,
    in_workspace,
    make,
    not_generated,
)
from tests.support.paths import EXAMPLES, REPOSITORY

LEFT_BY_TOOLS = {"__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"}


def tree(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not LEFT_BY_TOOLS & set(path.parts)
    }


@pytest.mark.parametrize("name", NAMES)
def test_the_stored_listing_matches_the_plan(name: str) -> None:
    folder, problems = EXAMPLES / f"{name}-mcp", Problems()
    intent = read_intent(folder, problems)
    found = find_lock(folder, problems)
    assert found is not None
    inputs = read_inputs(folder, intent, GenerateOptions(), lock=found.lock)
    plan = plan_project(inputs, problems, lambda _: None).plan
    assert surface_of(plan) == load_surface(folder)

    (package,) = folder.glob("src/*/_generated")
    tools = split_tools((package / "listing.json").read_bytes())
    assert tools == [compact(tool) for tool in list_tools(plan)]


def run_in(directory: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a tool in a generated package as its owner would, without leaving a cache behind."""
    path = os.pathsep.join([str(directory / "src"), str(REPOSITORY)])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_committed_server_matches_the_current_generator_output(
    name: str, tmp_path: Path
) -> None:
    made = tmp_path / "elsewhere" / f"{name}-mcp"
    made.parent.mkdir()
    shutil.copy(EXAMPLES / "mcpgen-workspace.yaml", made.parent)  # whose schema a manifest names
    make(name, made, not_generated(name))

    today, committed = tree(made), tree(EXAMPLES / f"{name}-mcp")

    assert sorted(today) == sorted(committed)
    stale = [path for path in today if today[path] != committed[path]]
    assert not stale, "`make update-examples` brings them up to date"


@pytest.mark.parametrize("name", BY_HAND)
def test_regenerating_a_server_changes_nothing(name: str, tmp_path: Path) -> None:
    again = tmp_path / f"{name}-mcp"
    shutil.copytree(EXAMPLES / f"{name}-mcp", again, ignore=shutil.ignore_patterns(*LEFT_BY_TOOLS))
    bring_up_to_date(again)

    assert tree(again) == tree(EXAMPLES / f"{name}-mcp"), "`make update-examples` mends that"


@pytest.mark.parametrize("check", ["tests", "lint", "validate"])
@pytest.mark.parametrize("name", [*NAMES, *BY_HAND])
def test_the_committed_evidence_matches_the_committed_server(name: str, check: str) -> None:
    directory = EXAMPLES / f"{name}-mcp"
    assert has_current_evidence(directory, check), "`make update-examples` finds it anew"
    evidence = read_evidence(directory, check)
    assert evidence is not None
    assert evidence["outcome"] == "passed"


@pytest.mark.parametrize("name", NAMES)
def test_the_suite_of_the_committed_server_kills_nearly_every_mutant(name: str) -> None:
    evidence = read_evidence(EXAMPLES / f"{name}-mcp", "tests")

    assert evidence is not None
    assert evidence["outcome"] == "passed"
    assert evidence["mutation"]["score"] >= 0.97, evidence["mutation"]["survivors"]


def test_the_workspace_of_the_examples_is_current() -> None:
    in_workspace("check")  # raises, after it said what is not


@pytest.fixture(scope="session")
def mypy_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a mypy cache with the runtime, shared by all servers in this process."""
    return tmp_path_factory.mktemp("mypy")


@pytest.mark.parametrize("name", [*NAMES, *BY_HAND])
def test_the_committed_server_passes_strict_types(name: str, mypy_cache: Path) -> None:
    directory = EXAMPLES / f"{name}-mcp"
    # By relative paths, the cache takes a file of another server for this one's.
    paths = [str(directory / part) for part in ("src", "tests")]
    done = run_in(directory, "mypy", "--cache-dir", str(mypy_cache), *paths)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", [*NAMES, *BY_HAND])
@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("ruff", "format", "--check", "--no-cache", "."), id="format"),
        pytest.param(("ruff", "check", "--no-cache", "."), id="lint"),
    ],  # its own tests run in `test_installed`
)
def test_the_committed_server_passes_its_checks(name: str, command: tuple[str, ...]) -> None:
    done = run_in(EXAMPLES / f"{name}-mcp", *command)

    assert done.returncode == 0, done.stdout + done.stderr
