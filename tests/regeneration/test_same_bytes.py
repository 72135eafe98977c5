"""Tests that a document yields the same bytes in every environment, folder, order and Python.

Each run is a separate process with an empty cache.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from mcpgen.ir.eval_tasks import TASKS_FILE
from tests.regeneration import projects
from tests.support.paths import CACHE, SPECS
from tests.support.random_documents import shuffled

SPEC = SPECS / "petstore.yaml"
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
# Settings that tools called by mcpgen would use if they searched for configuration files.
HOSTILE = """\
[tool.ruff]
line-length = 40
indent-width = 2
format.quote-style = "single"
lint.isort.force-single-line = true
lint.isort.known-first-party = ["typing"]
[tool.black]
line-length = 30
skip-string-normalization = true
[tool.isort]
force_single_line = true
[tool.datamodel-codegen]
output-model-type = "pydantic_v2.BaseModel"
use-double-quotes = false
snake-case-field = true
collapse-root-models = true
"""


def make(
    folder: Path,
    *command: str,
    python: str = sys.executable,
    **environment: str,
) -> Path:
    """Run mcpgen in `folder`, with a minimal environment."""
    done = subprocess.run(
        [python, "-m", "mcpgen", *command, "--ci"],
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder / "home"),
            "PYTHONDONTWRITEBYTECODE": "1",
            **environment,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "server"


def new(folder: Path, document: str, **surroundings: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "petstore.yaml").write_text(document)
    return make(folder, "new", "petstore.yaml", "server", "--defaults", **surroundings)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reference")
    return new(folder, SPEC.read_text(), PYTHONHASHSEED="0", LC_ALL="C.UTF-8", TZ="UTC")


SURROUNDINGS = {
    "another hash seed": {"PYTHONHASHSEED": "1", "LC_ALL": "C.UTF-8", "TZ": "UTC"},
    "another locale": {"PYTHONHASHSEED": "2", "LC_ALL": "C", "PYTHONUTF8": "0",
                       "PYTHONCOERCECLOCALE": "0", "TZ": "Asia/Kathmandu"},
    "another time zone": {"PYTHONHASHSEED": "123456", "TZ": "Pacific/Kiritimati", "COLUMNS": "40"},
}  # fmt: skip


@pytest.mark.parametrize("surroundings", SURROUNDINGS.values(), ids=SURROUNDINGS)
def test_the_process_environment_does_not_affect_the_output(
    reference: Path, tmp_path: Path, surroundings: dict[str, str]
) -> None:
    other = new(tmp_path / "deep" / "with blanks", SPEC.read_text(), **surroundings)
    assert projects.tree_hash(other) == projects.tree_hash(reference)


def test_settings_of_other_tools_do_not_affect_the_output(reference: Path, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(HOSTILE)
    (tmp_path / "ruff.toml").write_text("line-length = 40\n")
    copier = tmp_path / "copier.yml"
    copier.write_text('defaults: {python_version: "3.11", namespace: io.mine}\n')
    home = tmp_path / "home" / ".config"
    own = {"copier/settings.yml": copier.read_text(), "ruff/ruff.toml": "line-length = 40\n"}
    for path, text in own.items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(text)
    other = new(tmp_path, SPEC.read_text(), COPIER_SETTINGS_PATH=str(copier))
    assert projects.tree_hash(other) == projects.tree_hash(reference)


def test_the_order_of_keys_does_not_affect_the_output(tmp_path: Path) -> None:
    document = yaml.safe_load(SPEC.read_text())
    expected, found = (
        projects.tree(new(tmp_path / str(number), json.dumps(each)))
        for number, each in enumerate((document, shuffled(document, random.Random(1))))
    )
    for path in ("openapi.json", "mcpgen.lock"):  # the document itself, and its hash
        assert expected.pop(path) != found.pop(path)
    assert found == expected


def test_generate_restores_a_checkout_with_other_line_ends(reference: Path, tmp_path: Path) -> None:
    project = tmp_path / "server"
    for path, content in projects.tree(reference).items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_bytes(content.replace(b"\n", b"\r\n"))
    files = json.loads((project / "mcpgen.lock").read_bytes())["files"]
    owned = [path for path, entry in files.items() if entry["class"] == "owned"]
    make(tmp_path, "check", "server")
    make(tmp_path, "generate", "server")
    for path in (*owned, TASKS_FILE):  # the owner's files, with their line ends
        content = (project / path).read_bytes()
        assert b"\r\n" in content
        (project / path).write_bytes(content.replace(b"\r\n", b"\n"))
    assert projects.tree_hash(project) == projects.tree_hash(reference)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_python_version_does_not_affect_the_output(
    reference: Path, tmp_path: Path, version: str
) -> None:
    python = CACHE / "pythons" / version / "venv" / "bin" / "python"
    if version == ".".join(map(str, sys.version_info[:2])):
        pytest.skip(f"Python {version} is the one that runs all other tests")
    if not python.exists():
        pytest.skip(f"Python {version} is not compared: `make pythons` found none, or did not run")
    other = new(tmp_path, SPEC.read_text(), python=str(python))
    assert projects.tree_hash(other) == projects.tree_hash(reference)
