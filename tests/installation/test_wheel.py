"""Tests of the wheel of mcpgen: its content, and that it works in a separate environment."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tests.support.paths import REPOSITORY
from tests.support.wheel import make_environment, mcpgen_wheel, run, shell_variables


@pytest.fixture(scope="module")
def names() -> set[str]:
    with zipfile.ZipFile(mcpgen_wheel()) as wheel:
        return set(wheel.namelist())


def test_wheel_contains_every_module_and_template(names: set[str]) -> None:
    sources = {
        path.relative_to(REPOSITORY).as_posix() for path in REPOSITORY.glob("mcpgen/**/*.py")
    }
    templates = {
        f"mcpgen/_templates/{path.relative_to(REPOSITORY / 'templates').as_posix()}"
        for path in (REPOSITORY / "templates").rglob("*")
        if path.is_file()
    }

    assert sources | templates <= names


def test_wheel_contains_the_licence_and_the_type_marker_and_nothing_else(names: set[str]) -> None:
    [folder] = {name.partition("/")[0] for name in names if ".dist-info/" in name}
    assert f"{folder}/licenses/LICENSE" in names
    assert "mcpgen/py.typed" in names
    assert {name.partition("/")[0] for name in names} == {"mcpgen", folder}


def test_the_runtime_without_the_extra_explains_how_to_install_the_generator(
    tmp_path: Path,
) -> None:
    scripts = make_environment(tmp_path / "environment", "mcpgen")
    program = f"import subprocess; print(subprocess.run(['{scripts}/mcpgen']).returncode)"

    printed = run(str(scripts / "python"), "-c", program, env=shell_variables(scripts))

    assert "this is the runtime alone" in printed
    assert "[cli]" in printed
