"""Tests that each example works with only the requirements of its `pyproject.toml` installed.

uv makes the environments, in a sixth of pip's time, since it unpacks each wheel once. That pip
installs generated servers is tested in `journeys`.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.examples import BY_HAND, NAMES, PARTS
from tests.support.paths import EXAMPLES
from tests.support.wheel import copy_project, make_environment_with_uv, run, shell_variables


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of one environment at a time, so that bytecode paths stay the same."""
    return tmp_path_factory.mktemp("installed")


@pytest.mark.parametrize("name", [*NAMES, *BY_HAND])
def test_an_example_passes_its_suite_in_a_fresh_environment(
    name: str, folder: Path, tmp_path: Path
) -> None:
    project = copy_project(EXAMPLES / f"{name}-mcp", tmp_path / f"{name}-mcp")
    shutil.rmtree(folder / "environment", ignore_errors=True)
    scripts = make_environment_with_uv(folder / "environment", f"{project}[test]")
    variables = shell_variables(scripts) | {"PYTHONPYCACHEPREFIX": str(folder / "bytecode")}

    part = ["-k", PARTS[name]] if name in PARTS else []
    printed = run(str(scripts / "pytest"), "-q", *part, cwd=project, env=variables)

    assert " passed" in printed
    assert "is not installed" not in printed, printed
    # The server itself starts as well, where the tests ran in this process.
    version = run(str(scripts / f"{name}-mcp"), "--version", cwd=tmp_path, env=variables)
    assert version.startswith(f"{name}-mcp ")
